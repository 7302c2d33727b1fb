"""What ``search`` and ``get`` share: the hub as the settings and flags say, fits, and codes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from app.cli.engine import open_engine
from app.cli.terminal import note, shown
from app.data.hub.access import kept_token
from app.data.hub.client import Hub, endpoint_of
from app.data.hub.errors import HubError
from app.data.hub.heads import HeadReader, prune, read_head
from app.data.hub.values import HubAccess, Listing
from app.data.library.fit import VariantFit, unknown_fit
from app.engine.client import EngineError
from app.machine import state_file
from app.machines import Machines
from app.paths import Paths
from app.settings import Settings
from gguf_tools.facts import ModelFacts

__all__ = ["folder_for", "open_hub", "print_table", "read_fits"]


def open_hub(paths: Paths, settings: Settings) -> Hub:
    """Return the hub.

    Raises:
        HubError: offline mode is on, or its address is none.
    """
    return Hub(
        HubAccess(
            endpoint=endpoint_of(settings.get("hub_endpoint")),
            token=kept_token(paths.data),
            offline=settings.get("offline"),
        )
    )


def read_fits(
    hub: Hub, listing: Listing, paths: Paths, settings: Settings
) -> dict[str, tuple[ModelFacts | None, VariantFit]]:
    """Return facts and fit of each model of a listing, from the headers of its files.

    What can't be read is told by the fit's note; nothing is raised for it.
    """
    machines = _machines(settings)
    values = settings.load_values()
    cache = paths.cache / "hub-headers"
    reader = HeadReader(hub, listing, cache, lambda: False)
    found: dict[str, tuple[ModelFacts | None, VariantFit]] = {}
    for variant in listing.variants:
        if variant.projector or variant.missing:
            continue
        try:
            reader.fetch(variant)
            facts = read_head(cache, variant)
        except (HubError, OSError) as error:
            found[variant.key] = None, unknown_fit(str(error))
            continue
        if machines is None or not facts.loadable:
            why = facts.warnings[0] if facts.warnings else "The engine could not be asked."
            found[variant.key] = facts, unknown_fit(why)
            continue
        found[variant.key] = facts, machines.fit(facts, values)
    prune(cache)
    return found


def _machines(settings: Settings) -> Machines | None:
    """Return this computer as its engine reports it, None if the engine is silent."""
    state = state_file()
    try:
        with open_engine(state, note) as engine:
            hello = engine.hello
    except EngineError as error:
        note(error)
        return None
    assert hello is not None
    return Machines(state, hello, may_measure=True, tuned=bool(settings.get("tune")))


def folder_for(paths: Paths, settings: Settings, chosen: str | None) -> Path:
    """Return where a download goes: a flag wins over the setting over Plimsoll's own folder."""
    named = chosen or settings.get("download_folder")
    return Path(named).expanduser().absolute() if named else paths.models


def print_table(rows: Sequence[Sequence[str]]) -> None:
    """Print rows below each other, in columns as wide as they need to be."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        cells = (shown(cell).ljust(width) for cell, width in zip(row, widths, strict=True))
        print("  ".join(cells).rstrip())
