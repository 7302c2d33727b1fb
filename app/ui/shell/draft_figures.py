"""What stands below the draft: its tokens, and how full the window is after sending."""

from __future__ import annotations

from typing import NamedTuple

from PySide6.QtCore import QCoreApplication

from app.ui.numbers import numbered, percent
from app.ui.shell.gauge import AMBER_FROM, RED_FROM
from app.ui.shell.views import DraftFacts

__all__ = ["DraftFigures", "draft_figures"]


class DraftFigures(NamedTuple):
    """A line, fewer and fewer words for where it has no room, and the colour of all."""

    text: str
    shorter: tuple[str, ...]
    token: str


def draft_figures(facts: DraftFacts) -> DraftFigures:
    """Return the words for a draft; empty where nothing is known."""
    tokens, share = facts.draft_tokens, facts.share_after_sending
    parts: list[str] = []
    if tokens is not None:
        parts.append(numbered(tokens, _tr("Draft 1 token"), _tr("Draft %n tokens")))
    if share is not None:
        parts.append(_tr("context after sending %1 %").replace("%1", percent(share)))
    shorter: list[str] = []
    if tokens is not None:
        shorter.append(numbered(tokens, _tr("1 token"), _tr("%n tokens")))
    if share is not None:
        # What is left last: how full the window will be can't be seen anywhere else.
        shorter.append(_tr("then %1 %").replace("%1", percent(share)))
    if len(shorter) > 1:
        shorter = [" · ".join(shorter), shorter[-1]]
    token = "faint"
    if share is not None and share >= AMBER_FROM:
        token = "danger" if share >= RED_FROM else "warning"
    return DraftFigures(" · ".join(parts), tuple(shorter), token)


def _tr(text: str) -> str:
    return QCoreApplication.translate("Composer", text)
