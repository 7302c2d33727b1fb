"""The line below the draft, in all lengths."""

from __future__ import annotations

from app.ui.shell.draft_figures import DraftFigures, draft_figures
from app.ui.shell.views import DraftFacts


def test_all_lengths_say_the_same() -> None:
    assert draft_figures(DraftFacts(1234, 0.5)) == DraftFigures(
        "Draft 1,234 tokens · context after sending 50 %",
        ("1,234 tokens · then 50 %", "then 50 %"),
        "faint",
    )
    assert draft_figures(DraftFacts(1, 0.81)).shorter[0] == "1 token · then 81 %"


def test_what_is_not_known_is_left_out() -> None:
    assert draft_figures(DraftFacts()) == DraftFigures("", (), "faint")
    assert draft_figures(DraftFacts(3, None)) == DraftFigures(
        "Draft 3 tokens", ("3 tokens",), "faint"
    )
    assert draft_figures(DraftFacts(None, 0.5)) == DraftFigures(
        "context after sending 50 %", ("then 50 %",), "faint"
    )
