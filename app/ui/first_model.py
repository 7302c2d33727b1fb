"""Which model a start loads by itself, and why it loads none."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QCoreApplication

from app.data.state import StateFile
from app.paths import starter_model
from app.settings import Settings

if TYPE_CHECKING:
    from app.ui.presenters.engine import EnginePresenter

__all__ = ["interrupted_load", "model_at_start"]


def _tr(text: str) -> str:
    return QCoreApplication.translate("FirstModel", text)


def interrupted_load(state: StateFile, models: EnginePresenter) -> str:
    """Return a sentence if the last run ended while it loaded a model, and settle that."""
    unfinished = state.settle_unfinished_load()
    if unfinished is None:
        return ""
    text = _tr("The last start ended while {0} was loading, so it is not loaded by itself.")
    return text.format(models.look(unfinished.path).title)


def model_at_start(
    settings: Settings, state: StateFile, models: EnginePresenter
) -> tuple[Path | None, str]:
    """Return the model used last, else the starter model; and a sentence if it may not be."""
    if not settings.get("load_last_model"):
        return None, ""
    last = state.last_model
    if last is not None and last.is_file():
        if models.may_load_by_itself(str(last)):
            return last, ""
        text = _tr("{0} is not loaded by itself: the last try with these settings failed.")
        return None, text.format(models.look(str(last)).title)
    starter = starter_model()
    if starter is not None and models.may_load_by_itself(str(starter)):
        return starter, ""
    return None, ""
