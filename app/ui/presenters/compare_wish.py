"""What the user wants compared, kept from one start to the next."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from app.compare.request import CompareRequest
from app.compare.texts import QualityText, builtin_text, read_quality_text
from app.data.state import StateFile
from app.ui.compare.options import COMPARE_SETTINGS, default_options
from inspector.compare.records import ComparisonRecord, ComparisonSettings

__all__ = ["Wish", "keep_wish", "quality_text", "read_wish", "request_of", "wish_of"]

_BLOB: Final = "compare"
_FIRST_PROMPT: Final = "Explain in three sentences why decode speed follows memory bandwidth."


@dataclass(frozen=True, slots=True)
class Wish:
    """Paths of the chosen variants, the one the others are held against, and what all share."""

    chosen: tuple[str, ...] = ()
    reference: str | None = None
    prompt: str = _FIRST_PROMPT
    options: Mapping[str, Any] = field(default_factory=default_options)


def keep_wish(state: StateFile, wish: Wish) -> None:
    """Write it into the state file."""
    state.set_blob(_BLOB, json.dumps(asdict(wish)).encode("utf-8"))


def read_wish(state: StateFile) -> Wish:
    """Return what was kept; anything that is not as it should be is left at its default."""
    try:
        kept = json.loads(state.blob(_BLOB) or b"{}")
    except ValueError:
        return Wish()
    if not isinstance(kept, dict):
        return Wish()
    options = default_options()
    found = kept.get("options")
    for setting in COMPARE_SETTINGS:
        if isinstance(found, dict) and setting.key in found:
            try:
                options[setting.key] = setting.check(found[setting.key])
            except ValueError:
                continue
    chosen = kept.get("chosen")
    paths: tuple[str, ...] = ()
    if isinstance(chosen, list):
        paths = tuple(path for path in chosen if isinstance(path, str) and Path(path).is_file())
    reference, prompt = kept.get("reference"), kept.get("prompt")
    return Wish(
        chosen=paths,
        reference=reference if reference in paths else None,
        prompt=prompt if isinstance(prompt, str) else _FIRST_PROMPT,
        options=options,
    )


def wish_of(record: ComparisonRecord, wish: Wish) -> Wish:
    """Return the wish whose run a comparison was; what it does not tell stays as in ``wish``."""
    settings = record.settings
    told = {
        "temperature": settings.temperature,
        "seed": settings.seed,
        "max_tokens": settings.max_tokens,
        "n_ctx": settings.n_ctx,
        "kv_type": settings.type_k,
        "gpu_layers": settings.gpu_layers,
        "threads": settings.threads,
        "system": settings.system,
        "together": settings.together,
        "measure_rates": settings.measure_rates,
        "quality": settings.quality,
        "text_tokens": settings.text_tokens,
    }
    options = dict(wish.options)
    for setting in COMPARE_SETTINGS:
        if setting.key in told:
            try:
                options[setting.key] = setting.check(told[setting.key])
            except ValueError:  # beyond what can be chosen here: a record made by other means
                continue
    paths = tuple(variant.path for variant in record.variants)
    return replace(
        wish,
        chosen=paths,
        reference=paths[record.reference],
        prompt=settings.prompt,
        options=options,
    )


def quality_text(wish: Wish) -> QualityText:
    """Return the text that quality is measured on.

    Raises:
        TextError: the chosen file is none.
    """
    path = wish.options["text_path"]
    return read_quality_text(Path(path).expanduser()) if path else builtin_text()


def request_of(wish: Wish, text: QualityText) -> CompareRequest:
    """Return what is to be run."""
    values = wish.options
    kv_type = str(values["kv_type"])
    return CompareRequest(
        paths=tuple(Path(path) for path in wish.chosen),
        settings=ComparisonSettings(
            prompt=wish.prompt,
            system=str(values["system"]),
            temperature=float(values["temperature"]),
            seed=values["seed"],
            max_tokens=int(values["max_tokens"]),
            n_ctx=values["n_ctx"],
            type_k=kv_type,
            type_v=kv_type,
            gpu_layers=int(values["gpu_layers"]),
            threads=values["threads"],
            together=bool(values["together"]),
            measure_rates=bool(values["measure_rates"]),
            quality=bool(values["quality"]),
            text_name=text.name,
            text_tokens=int(values["text_tokens"]),
        ),
        text=text.text,
        reference=None if wish.reference is None else wish.chosen.index(wish.reference),
    )
