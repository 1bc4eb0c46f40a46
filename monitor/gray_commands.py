"""What a person may do to a gray release: pure moves, each with a name and a reason.

In:  the document (None: there never was one), who and why.  Out: the next document.  Raises RefusedGray.
"""

from breaker.gray import GrayReason, GrayRelease, GrayStage
from monitor.gray import GrayPolicy, RefusedGray, moved, stepped


def started(
    here: GrayRelease | None,
    *,
    model: str,
    candidate: str,
    version: str,
    id: str,
    by_itself: bool,
    policy: GrayPolicy,
    now_s: float,
    actor: str,
    note: str,
) -> GrayRelease:
    """A release at its first step; a new version of a running one starts over with empty counters.

    `id` is fresh for each analysis. Raises RefusedGray: another candidate is under way, the same version is, or it was
    rolled back less than a day ago.
    """
    if candidate == model:
        raise RefusedGray(f"{model!r} cannot replace itself: name another model of the configuration")
    if here is not None:
        _may_start(here, candidate, version, now_s)
    renewed = here is not None and here.stage.active
    fresh = GrayRelease(
        model=model,
        candidate=candidate,
        version=version,
        id=id,
        epoch=here.epoch if here else 0,
        fence=here.fence if here else 0,
        rejected=here.rejected if here else (),
        events=here.events if here is not None and renewed else (),
        started_at=now_s,
    )
    return moved(
        fresh,
        GrayStage.RUNNING,
        GrayReason.NEW_VERSION if renewed else GrayReason.STARTED,
        now_s,
        actor=actor,
        note=note,
        share=policy.steps[0],
        step=0,
        step_at=now_s,
        data_at=now_s,
        # The minute that runs holds attempts from before the split.
        counted_to=int(now_s // 60) + 1,
        by_itself=by_itself,
    )


def _may_start(here: GrayRelease, candidate: str, version: str, now_s: float) -> None:
    if here.stage.active and here.candidate != candidate:
        raise RefusedGray(f"{here.candidate!r} is under way for {here.model!r}: stop it first")
    if here.stage.active and here.version == version:
        raise RefusedGray(f"version {version!r} of {candidate!r} is under way already")
    if here.stage is GrayStage.PROMOTED:
        raise RefusedGray(
            f"{here.candidate!r} has all sessions of {here.model!r}: make it so in the configuration, then stop it"
        )
    for it in here.rejected:
        if (it.candidate, it.version) == (candidate, version) and it.until > now_s:
            hours = (it.until - now_s) / 3_600
            raise RefusedGray(f"version {version!r} of {candidate!r} was rolled back and waits {hours:.1f} h more")


def advanced(here: GrayRelease, policy: GrayPolicy, now_s: float, actor: str, note: str) -> GrayRelease:
    """One step on, whatever was seen; from the last step: promoted."""
    _active(here)
    if here.step + 1 >= len(policy.steps):
        return promoted(here, now_s, actor, note)
    return stepped(here, policy, now_s, actor, note)


def paused(here: GrayRelease, now_s: float, actor: str, note: str) -> GrayRelease:
    """Keep the split, conclude nothing, until resumed."""
    _active(here)
    if here.stage is GrayStage.PAUSED and here.reason is GrayReason.OPERATOR:
        raise RefusedGray("it is paused by hand already")
    return moved(here, GrayStage.PAUSED, GrayReason.OPERATOR, now_s, actor=actor, note=note)


def resumed(here: GrayRelease, now_s: float, actor: str, note: str) -> GrayRelease:
    """Go on after a pause; the time it lasted does not count."""
    if here.stage is not GrayStage.PAUSED:
        raise RefusedGray(f"it is {here.stage}, not paused")
    quiet_s = here.step_quiet_s + now_s - here.since
    return moved(
        here, GrayStage.RUNNING, GrayReason.RESUMED, now_s, actor=actor, note=note, step_quiet_s=quiet_s, data_at=now_s
    )


def stopped(here: GrayRelease, now_s: float, actor: str, note: str) -> GrayRelease:
    """Everybody back to the stable version by a person's word; that is no verdict on the version."""
    if not here.stage.active and here.stage is not GrayStage.PROMOTED:
        raise RefusedGray(f"it has ended: {here.stage}")
    return moved(here, GrayStage.STOPPED, GrayReason.OPERATOR, now_s, actor=actor, note=note)


def promoted(here: GrayRelease, now_s: float, actor: str, note: str) -> GrayRelease:
    """All sessions to the new version by a person's word."""
    _active(here)
    return moved(here, GrayStage.PROMOTED, GrayReason.OPERATOR, now_s, actor=actor, note=note)


def _active(here: GrayRelease) -> None:
    if not here.stage.active:
        raise RefusedGray(f"it has ended: {here.stage}")
