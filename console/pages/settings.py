"""The settings in force: their hash in every process, what a file on disk would change, and taking it."""

from collections.abc import Sequence
from difflib import unified_diff

from starlette.responses import Response
from starlette.routing import Route

from breaker.ports import StoreUnavailable
from console.access import Role
from console.config_ports import Configuration, ProcessConfig
from console.csv_out import records
from console.fleet_ports import AuditTrail
from console.forms import reason_of
from console.site import Site, Visit, acts, looks

CONTEXT_LINES = 3


def config_pages(site: Site, configuration: Configuration, audit: AuditTrail) -> list[Route]:
    async def everywhere() -> tuple[Sequence[ProcessConfig], bool]:
        try:
            return await configuration.everywhere(), False
        except StoreUnavailable:
            return (), True

    async def page(visit: Visit) -> Response:
        running = configuration.running()
        processes, store_down = await everywhere()
        on_disk = await configuration.on_disk()
        return visit.page(
            "config.html",
            running=running,
            processes=processes,
            store_down=store_down,
            mixed=len({process.hash for process in processes} | {running.hash}) > 1,
            changes=difference(running.text, on_disk.text) if not on_disk.mistakes else [],
            file_mistakes=on_disk.mistakes,
            sheets={"processes": records(processes, *ProcessConfig.__dataclass_fields__)},
        )

    async def reload(visit: Visit) -> Response:
        reason, running = reason_of(visit.form), configuration.running()
        await audit.record(
            actor=visit.actor,
            action="reload",
            target=running.file,
            reason=reason,
            details={"hash_before": running.hash},
            role=visit.role.value,
        )
        came = await configuration.reload()
        if came.mistakes:
            return visit.problem(422, "problem.settings", text="; ".join(came.mistakes))
        return visit.away("/config", said="reloaded")

    return [looks(site, "/config", page), acts(site, "/config/reload", reload, Role.ADMIN)]


def difference(running: str, file: str) -> list[tuple[str, str]]:
    """Lines of a unified diff with their kind: added, removed, same or head; empty when nothing would change."""
    kinds = {"+": "added", "-": "removed", "@": "head"}
    lines = list(unified_diff(running.splitlines(), file.splitlines(), n=CONTEXT_LINES, lineterm=""))[2:]
    return [(kinds.get(line[:1], "same"), line[1:] if line[:1] in "+- " else line) for line in lines]
