"""How much Redis the counters take: the formula of docs/breaker.md against MEMORY USAGE, 50 models on 8 replicas."""

from collections.abc import Sequence

from breaker.evidence import Evidence, EvidenceKind
from breaker.snapshot import Snapshot
from breaker.window import COUNT_NAMES, Counts, FastRow, MinuteRow
from store.redis_folding import RedisFolding
from store.redis_link import RedisLink
from store.redis_states import RedisEvidence, RedisLease, RedisProbes, RedisStates
from store.redis_windows import RedisCounts, minute_key, writers_key
from tests.support.clock import ManualClock

MODELS, REPLICAS, MINUTES = 50, 8, 2
SCOPES = ("", "scene:chat", "scene:qa", "endpoint:0")
M0 = 1_700_000_040 // 60

HASH_BYTES, FIELD_BYTES = 160, 56
"""What a hash costs empty, and a field beside its name and value (docs/breaker.md, What Redis keeps)."""
BOOT_ID_CHARS = 12


def predicted(fields: Sequence[tuple[bytes, bytes]]) -> int:
    """Bytes of one hash."""
    return HASH_BYTES + sum(FIELD_BYTES + len(name) + len(value) for name, value in fields)


def busy(model: str, minute: int, scope: str) -> MinuteRow:
    counts = Counts(judged=123, sentence_loop=4, streams=99, tokens_in=48_213, tokens_out=91_234, elapsed_ms=345_678)
    return MinuteRow(model=model, scope=scope, minute=minute, counts=counts, fingerprints={"0123456789abcdef": 4})


async def filled(counts: RedisCounts) -> None:
    for replica in range(REPLICAS):
        for number in range(MODELS):
            model = f"model-{number}"
            rows = [busy(model, M0 - minute, scope) for minute in range(MINUTES) for scope in SCOPES]
            fast = [FastRow(model=model, bucket=M0 * 12 + at, attempts=9, streams=9) for at in range(-12, 1)]
            await counts.flush(f"{replica:0{BOOT_ID_CHARS}x}", rows, fast)


async def test_the_formula_is_what_redis_takes(link: RedisLink, clock: ManualClock) -> None:
    counts = RedisCounts(link, clock)
    await filled(counts)
    keys = [key async for key in await _keys(link)]
    assert len(keys) == MODELS * (MINUTES + 2 + 1), "minutes, two minutes of buckets, one hash of writers; no more"
    for number in range(MODELS):
        for minute in range(MINUTES):
            key = minute_key(f"model-{number}", M0 - minute)
            fields = await link.ask(lambda client, key=key: client.hgetall(key))
            assert len(fields) == REPLICAS * len(SCOPES)
            taken = await link.ask(lambda client, key=key: client.memory_usage(key, samples=0))
            assert 0.85 < taken / predicted(list(fields.items())) < 1.15
    writers = await link.ask(lambda client: client.hlen(writers_key("model-0")))
    assert writers == REPLICAS


async def test_a_field_cannot_grow_without_bound(link: RedisLink, clock: ManualClock) -> None:
    """All counters in use, all fingerprints: the largest field there can be is 3 KB."""
    counts = RedisCounts(link, clock)
    full = Counts(**dict.fromkeys(COUNT_NAMES, 999_999_999))
    prints = {f"{number:016x}": 99_999 for number in range(64)}
    row = MinuteRow(model="a", scope="scene:" + "x" * 64, minute=M0, counts=full, fingerprints=prints)
    await counts.flush("b" * BOOT_ID_CHARS, [row], [])
    (value,) = await link.ask(lambda client: client.hvals(minute_key("a", M0)))
    assert len(value) < 3_000


async def test_every_key_has_an_end(link: RedisLink, clock: ManualClock) -> None:
    await filled(RedisCounts(link, clock))
    assert await RedisStates(link).compare_and_set(Snapshot(model="a", epoch=1), 0)
    assert await RedisProbes(link, clock).lease("a", 1, 2, 30, 60.0) == 2
    assert await RedisLease(link, clock).hold("x", "me", 5.0)
    found = Evidence(id="e", kind=EvidenceKind.HOURLY, model="a", found_at=clock.now_s(), valid_until=clock.now_s() + 9)
    assert await RedisEvidence(link, clock).add(found)
    folding = RedisFolding(link, clock, lambda: ["model-0"])
    await folding.fold()
    clock.tick(4_000.0)
    await folding.fold()
    keys = [key async for key in await _keys(link)]
    kinds = {key.decode().split("{")[0] + key.decode().partition("}")[2].rpartition(":")[0] for key in keys}
    assert {"rep:", "fast:", "writers:", "dead:", ":doc", ":probe", ":hold", ":evidence"} <= kinds
    for key in keys:
        assert await link.ask(lambda client, key=key: client.pttl(key)) > 0, key


async def _keys(link: RedisLink):  # type: ignore[no-untyped-def]
    async def scan(client):  # type: ignore[no-untyped-def]
        return client.scan_iter(count=1_000)

    return await link.ask(scan)
