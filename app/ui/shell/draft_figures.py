"""What stands below the draft: its tokens, and how full the window is after sending."""

from __future__ import annotations

from typing import NamedTuple

from PySide6.QtCore import QCoreApplication

from app.ui.numbers import numbered, percent
from app.ui.shell.gauge import AMBER_FROM, RED_FROM
from app.ui.shell.views import DraftFacts

__all__ = ["DraftFigures", "draft_figures"]


class DraftFigures(NamedTuple):
    """A line, fewer words that say the same, and the colour of both."""

    text: str
    short: str
    token: str


def draft_figures(facts: DraftFacts) -> DraftFigures:
    """Return the words for a draft; empty where nothing is known."""
    tokens, share = facts.draft_tokens, facts.share_after_sending
    parts: list[str] = []
    if tokens is not None:
        parts.append(numbered(tokens, _tr("Draft 1 token"), _tr("Draft %n tokens")))
    if share is not None:
        parts.append(_tr("context after sending %1 %").replace("%1", percent(share)))
    text = short = " · ".join(parts)
    if tokens is not None and share is not None:
        count = numbered(tokens, _tr("1 token"), _tr("%n tokens"))
        short = f"{count} · {_tr('then %1 %').replace('%1', percent(share))}"
    token = "faint"
    if share is not None and share >= AMBER_FROM:
        token = "danger" if share >= RED_FROM else "warning"
    return DraftFigures(text, short, token)


def _tr(text: str) -> str:
    return QCoreApplication.translate("Composer", text)
