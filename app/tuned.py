"""What was measured of a model, between the engine's options and what is kept of it."""

from __future__ import annotations

import msgspec

from app.data.state import StateFile
from app.data.tunings import KeptTuning, Tunings, model_shape, tuning_key
from app.engine.protocol import Hello, LoadOptions, Tuned, TuneRow, Tuning
from gguf_tools.facts import read_facts
from gguf_tools.header import HeaderError

__all__ = ["faster_rows", "kept_of", "key_of", "known_options", "shape_of_file", "with_tuning"]

_DEFAULTS = LoadOptions()
_TOLD = 1.01  # gains below one per cent are not worth a word
_DEEPER = 1.05  # a gain at depth is told where it is so much more than without


def shape_of_file(path: str) -> str:
    """Return the shape of a model by its file, empty if the file says too little."""
    try:
        facts = read_facts(path)
    except (HeaderError, OSError):
        return ""
    return model_shape(facts) if facts.loadable else ""


def key_of(shape: str, options: LoadOptions) -> str:
    """Return the name under which a model's tuning is kept, empty for a file without a shape."""
    return tuning_key(shape, msgspec.to_builtins(options)) if shape else ""


def known_options(
    state: StateFile, hello: Hello, path: str, options: LoadOptions, *, compatibility: bool
) -> LoadOptions:
    """Return options with what is known of a model on this machine.

    Args:
        state: where it is kept.
        hello: of the engine.
        path: the model.
        options: as the user asked for them.
        compatibility: the engine runs in that mode here.
    """
    asked = msgspec.structs.replace(options, compatibility=options.compatibility or compatibility)
    tunings = Tunings(state, cpu=hello.cpu, engine=hello.engine)
    return with_tuning(options, tunings.get(key_of(shape_of_file(path), asked)))


def kept_of(tuning: Tuning) -> KeptTuning:
    """Return a tuning as it is remembered."""
    return KeptTuning(
        outcome="kept",
        threads=tuning.threads,
        threads_batch=tuning.threads_batch,
        flash_attention=tuning.flash_attention,
        n_ubatch=tuning.n_ubatch,
    )


def with_tuning(options: LoadOptions, kept: KeptTuning | None) -> LoadOptions:
    """Return options with what was measured in the place of what they leave open."""
    if kept is None or kept.outcome != "kept":
        return options
    changes: dict[str, object] = {}
    if options.threads is None:
        changes["threads"] = kept.threads
        if options.threads_batch is None:
            changes["threads_batch"] = kept.threads_batch
    if options.flash_attention == "auto":
        changes["flash_attention"] = kept.flash_attention
    if options.n_ubatch == _DEFAULTS.n_ubatch and kept.n_ubatch:
        changes["n_ubatch"] = kept.n_ubatch
        changes["n_batch"] = max(options.n_batch, kept.n_ubatch)
    return msgspec.structs.replace(options, **changes)


def faster_rows(tuned: Tuned) -> tuple[TuneRow, ...]:
    """Return what became faster by enough to be told, writing before reading.

    A gain at depth is left out where it says what the one without depth does.
    """
    gains = {(row.test, row.depth): row.after / row.before for row in tuned.rows}
    rows = (
        row
        for row in tuned.rows
        if gains[row.test, row.depth]
        >= (_TOLD if row.depth == 0 else max(_TOLD, _DEEPER * gains.get((row.test, 0), 0.0)))
    )
    return tuple(sorted(rows, key=lambda row: (row.test, row.depth)))
