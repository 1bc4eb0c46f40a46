"""The demo's story: what is done to the models, and what must then be seen, in compressed time.

It runs serve's own code and policies; only the clock's scale and the scripted upstream's schedule differ.
Out: a timeline, and whether it went as told. Durations here are in the story's own seconds, `scale` times as fast.
"""

import asyncio
import itertools
import json
import tempfile
from collections import Counter
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import httpx

from breaker.levels import Level
from breaker.snapshot import Transition
from pointsman.assemble import Service, assembled
from pointsman.demo.robots import Robots
from pointsman.demo.scripted import ScriptedUpstream
from pointsman.monitoring import doors_of
from pointsman.settings import parse

ALPHA, BETA, ROUTE = "alpha", "beta", "story"
REQUESTS_PER_MIN = 40
SESSIONS = 12
READERS = 2
"""Users who read along while it is written. Two: streams of three that get stuck at once would open a model that is to be
reduced first; later everybody reads along."""
PROMPTS = ("Tell me about your harbour.", "How was the morning?", "讲讲你们的小镇。", "Describe the old observatory.")
STUTTERS = ("sentence_loop", "paragraph_loop", "phrase_loop")
STUTTER_S = 5.0
ASKING_MOST = 12
"""Requests under way at once: a machine that is busy with other things gets fewer, not ever slower ones."""
LONGEST_S = 3_600.0
"""No time-out of the settings may be longer."""
LEAST_ANSWERS = 5
ANSWERS_WITHIN_S = 1_800.0
"""About a minute of real time: nobody waits longer for a demo to go on."""
TAKES_TRAFFIC = frozenset({Level.HEALTHY, Level.WARN, Level.REDUCED})


class WentOtherwise(Exception):
    """The story did not go as told."""


class Interrupted(Exception):
    """Somebody ended the story before its end."""


@dataclass(slots=True, kw_only=True)
class Tally:
    """What users got since it was last emptied."""

    served: Counter[str] = field(default_factory=Counter)
    fallbacks: Counter[str] = field(default_factory=Counter)
    bad: int = 0

    @property
    def total(self) -> int:
        return sum(self.fallbacks.values()) + self.bad

    def share(self, model: str) -> float:
        return self.served[model] / max(1, sum(self.served.values()))


class Stage:
    """A running service over a scripted upstream, with users asking all the time."""

    def __init__(
        self, service: Service, upstream: ScriptedUpstream, url: str, robots: Robots, tell: Callable[[str], None]
    ) -> None:
        self.service, self.upstream, self.url, self.robots = service, upstream, url, robots
        self.clock, self.tally, self.rng = service.clock, Tally(), Random(11)
        self._began_s, self._tell = service.clock.now_s(), tell
        self._stuttering: asyncio.Task[None] | None = None
        self._asking: set[asyncio.Task[None]] = set()
        self._moves: list[Transition] = []
        self.readers = READERS
        service.guard.callbacks.append(self._moved)
        robots.tell = self._read

    def say(self, words: str) -> None:
        minutes, seconds = divmod(int(self.clock.now_s() - self._began_s), 60)
        self._tell(f"{minutes:3d}:{seconds:02d}  {words}")

    def act(self, words: str, **behaviours: tuple[str, float]) -> None:
        """Change what models do from now on."""
        if self._stuttering is not None:
            self._stuttering.cancel()
        self._moves.clear()
        for model, (behaviour, share) in behaviours.items():
            self.upstream.set(model, behaviour, share)
        self.say(f"· {words}")

    def stutter(self, words: str, model: str, share: float) -> None:
        """From now on `share` of the model's replies loop, each time in another way: no single text bursts."""
        self.act(words)
        self._stuttering = asyncio.create_task(self._stutter(model, share))

    async def _stutter(self, model: str, share: float) -> None:
        for behaviour in itertools.cycle(STUTTERS):
            self.upstream.set(model, behaviour, share)
            await self.clock.sleep(STUTTER_S)

    def level(self, model: str) -> Level:
        return self.service.guard.levels()[model]

    def reached(self, model: str, level: Level) -> bool:
        """Whether the model stands there, or has since models were last told what to do: a busy machine looks seldom."""
        moved = any(one.model == model and one.to_level is level and one.enforced for one in self._moves)
        return moved or self.level(model) is level

    async def until(self, what: str, holds: Callable[[], bool], *, within_s: float) -> None:
        """Wait until `holds`. Raises WentOtherwise."""
        end_s = self.clock.now_s() + within_s
        while not holds():
            if self.clock.now_s() > end_s:
                raise WentOtherwise(f"not seen within {within_s / 60:.0f} minutes: {what}")
            await self.clock.sleep(1.0)
        self.say(f"✓ {what}")

    async def watch(self, for_s: float) -> Tally:
        """What users get who ask from now on, for `for_s`, and until some of them have an answer."""
        self.tally = Tally()
        end_s = self.clock.now_s() + for_s
        while self.clock.now_s() < end_s or self.tally.total < LEAST_ANSWERS:
            if self.clock.now_s() > end_s + ANSWERS_WITHIN_S:
                raise WentOtherwise(f"only {self.tally.total} answers in {ANSWERS_WITHIN_S / 60:.0f} minutes")
            await self.clock.sleep(1.0)
        return self.tally

    async def ask_for_ever(self, client: httpx.AsyncClient) -> None:
        """Users: a steady stream of requests from several sessions, of which some read along as it is written."""
        while True:
            if len(self._asking) < ASKING_MOST:
                task = asyncio.create_task(self._ask(client))
                self._asking.add(task)
                task.add_done_callback(self._asking.discard)
            await self.clock.sleep(60 / REQUESTS_PER_MIN)

    async def _ask(self, client: httpx.AsyncClient) -> None:
        tally = self.tally  # who asked before is counted with those before
        session = self.rng.randrange(SESSIONS)
        stream = session < self.readers
        body = {"model": ROUTE, "stream": stream, "user": f"user-{session}"}
        body["messages"] = [{"role": "user", "content": self.rng.choice(PROMPTS)}]
        try:
            answer = await client.post(f"{self.url}/v1/chat/completions", json=body)
        except httpx.HTTPError:
            tally.bad += 1
            return
        if answer.status_code != 200:
            tally.bad += 1
            return
        told = _last_words(answer.text) if stream else {}
        tally.served[told.get("model") or answer.headers["x-pointsman-model"]] += 1
        tally.fallbacks[told.get("fallback") or answer.headers["x-pointsman-fallback"]] += 1

    def _moved(self, moved: Transition) -> None:
        self._moves.append(moved)
        why = ", ".join(str(reason) for reason in moved.reasons)
        self.say(f"  {moved.model}: {moved.from_level} → {moved.to_level}  ({why})")

    def _read(self, _kind: str, text: str) -> None:
        """What the people on call read in their chat."""
        self.say(f"  ✉ {text.partition(chr(10))[0].replace('**', '')}")

    def told_of(self, words: str) -> bool:
        return any(words in text for text in self.robots.texts("wecom"))


def _last_words(stream: str) -> dict[str, Any]:
    """The `pointsman` object of a stream's last event that has one."""
    for line in reversed(stream.splitlines()):
        if line.startswith("data: {") and '"pointsman"' in line:
            found: dict[str, Any] = json.loads(line[6:])["pointsman"]
            return found
    return {}


async def play(*, scale: float, tell: Callable[[str], None], stay: bool = False) -> None:
    """Tell the whole story once; `stay`: then serve on until a signal comes.

    Raises WentOtherwise, Interrupted (a signal came before the end), StartError.
    """
    with tempfile.TemporaryDirectory(prefix="pointsman-demo-") as folder:
        async with ScriptedUpstream() as upstream, AsyncExitStack() as stack:
            robots = await stack.enter_async_context(Robots())
            settings = parse(_yaml(upstream.base_url, robots.url("wecom"), Path(folder), scale), {})
            service = await stack.enter_async_context(assembled(settings))
            doors = await doors_of(service)
            stop = asyncio.Event()
            serving = asyncio.create_task(doors.serve(stop))
            stage = Stage(service, upstream, doors.urls[0], robots, tell)
            for url in doors.urls[1:]:
                stage.say(
                    f"the operators' pages show it live: {url}  admin token: {doors.new_token or 'the one you set'}"
                )
            async with httpx.AsyncClient(timeout=130.0) as client:
                asking = asyncio.create_task(stage.ask_for_ever(client))
                telling = asyncio.create_task(_tell_it(stage))
                try:
                    # Ctrl-C is the service's own: it drains and ends, and the story ends with it.
                    await asyncio.wait({telling, serving}, return_when=asyncio.FIRST_COMPLETED)
                    if not telling.done():
                        raise Interrupted
                    telling.result()
                    if stay:
                        stage.say("the story went as told; the pages stay open until Ctrl-C")
                        await serving
                finally:
                    asking.cancel()
                    telling.cancel()
                    stop.set()
                    await asyncio.gather(serving, telling, return_exceptions=True)


async def _tell_it(stage: Stage) -> None:
    stage.say(f"two models share one route; {REQUESTS_PER_MIN} requests a minute, {READERS} of {SESSIONS} users stream")
    before = await stage.watch(300)
    _expect(
        before.bad == 0 and before.fallbacks.keys() <= {"none"},
        f"all replies clean; got {before.fallbacks}, {before.bad} bad",
    )
    stage.say(f"✓ healthy traffic: {before.total} replies, alpha has {before.share(ALPHA):.0%}")

    stage.stutter("alpha starts to stutter: one reply in nine loops", ALPHA, 0.11)
    await stage.until("alpha: warned", lambda: stage.reached(ALPHA, Level.WARN), within_s=1_800)
    clean = await stage.watch(120)
    _expect(clean.bad == 0 and not clean.fallbacks["phrase"], "users still get replies from models")
    stage.say(f"✓ users still get clean replies: {dict(clean.fallbacks)}")

    stage.stutter("alpha gets worse: one in three", ALPHA, 0.34)
    await stage.until("alpha: reduced", lambda: stage.reached(ALPHA, Level.REDUCED), within_s=3_600)
    less = await stage.watch(240)
    _expect(less.share(ALPHA) < 0.25, f"alpha keeps a tenth of the traffic, had {less.share(ALPHA):.0%}")
    stage.say(f"✓ alpha serves {less.share(ALPHA):.0%} of the replies")

    stage.readers = SESSIONS
    stage.act("alpha only loops, and everybody streams", alpha=("stuck", 1.0))
    await stage.until("alpha: open", lambda: stage.reached(ALPHA, Level.OPEN), within_s=3_600)
    stage.readers = READERS
    none = await stage.watch(120)
    _expect(none.share(ALPHA) == 0 and none.bad == 0, "all traffic goes to beta")
    stage.say(f"✓ all traffic elsewhere: beta serves {none.share(BETA):.0%}")
    await stage.until("people are told that alpha is open", lambda: stage.told_of(f"{ALPHA}: L3 open"), within_s=1_800)

    stage.act("alpha is healed", alpha=("healthy", 1.0))
    await stage.until("alpha: recovering, probed", lambda: stage.reached(ALPHA, Level.RECOVERING), within_s=1_500)
    # Ten minutes for the probes are 19 seconds here: on a very busy machine a round may end without a verdict, and the
    # cool-down of the second one is twice as long.
    passed = "alpha: passed its probes, reduced"
    await stage.until(passed, lambda: stage.reached(ALPHA, Level.REDUCED), within_s=3_600)
    await stage.until("alpha: healthy", lambda: stage.reached(ALPHA, Level.HEALTHY), within_s=7_200)

    over = "people are told that it is over"
    await stage.until(over, lambda: stage.told_of(f"{ALPHA}: healthy again"), within_s=1_800)

    both: dict[str, tuple[str, float]] = {ALPHA: ("500", 1.0), BETA: ("500", 1.0)}
    stage.act("both models fail", **both)
    await stage.until("no model may answer", lambda: not _taking(stage), within_s=300)
    phrases = await stage.watch(10)
    _expect(set(phrases.fallbacks) == {"phrase"} and phrases.bad == 0, f"users get phrases, got {phrases.fallbacks}")
    stage.say(f"✓ users get a prepared phrase: {phrases.total} times")

    stage.act("both are healed", **{ALPHA: ("healthy", 1.0), BETA: ("healthy", 1.0)})
    await stage.until("both take traffic again", lambda: len(_taking(stage)) == 2, within_s=1_200)
    back = await stage.watch(60)
    _expect(back.bad == 0 and not back.fallbacks["phrase"], "models answer again")
    stage.say(f"✓ back: {back.total} replies, {dict(back.fallbacks)}")


def _taking(stage: Stage) -> list[str]:
    return [model for model in (ALPHA, BETA) if stage.level(model) in TAKES_TRAFFIC]


def _expect(holds: bool, what: str) -> None:
    if not holds:
        raise WentOtherwise(f"does not hold: {what}")


def _yaml(base_url: str, robot_url: str, folder: Path, scale: float) -> str:
    endpoint = {name: {"endpoints": [{"base_url": base_url, "model": name}]} for name in (ALPHA, BETA)}
    # The upstream is real and answers in real time, however busy this machine is: its time-outs are not compressed.
    real_s = {"connect_s": 10, "first_text_s": 60, "idle_s": 60, "total_s": 110}
    waits = {name: min(LONGEST_S, seconds * scale) for name, seconds in real_s.items()}
    route = {
        "candidates": [{"model": ALPHA}, {"model": BETA}],
        "timeouts": waits,
        "deadline_s": min(LONGEST_S, 120 * scale),
    }
    whole = {"listen": "127.0.0.1:0", "admin_listen": "127.0.0.1:0", "data_dir": str(folder), "time_scale": scale}
    alerts = {"language": "en", "channels": {"on-call": {"kind": "wecom", "url": robot_url}}}
    whole |= {"drain_s": 1, "nightly": {"enabled": False}}  # a suite of hundreds of replies is none of the story
    return json.dumps({**whole, "alerts": alerts, "models": endpoint, "routes": {ROUTE: route}})
