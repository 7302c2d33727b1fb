"""Hostile Markdown, made from a seed, shown whole and streamed in pieces in a real transcript."""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable
from typing import Final

from tests.helpers.hostile_values import spoiled

__all__ = ["attack_markdown"]

_MOST_S: Final = 30.0  # of processor time for one text; quietly it is a fraction of a second
_MOST_HEIGHT: Final = 3_000_000
_PIECES: Final = (
    "# heading\n", "plain words ", "**bold** ", "_it", "`co", "``", "```py\n", "```\n", "~~~\n",
    "> ", "- ", "1. ", "   ", "\t", "\n", "\n\n", "| a | b |\n", "|---|:-:|\n", "|", "\\", "\\(",
    "\\[", "$", "$$\n", "\\frac{", "}", "{", "<think>", "</think>", "<b>", "<!--", "-->",
    "<img src=x onerror=alert(1)>", "![p](https://a.b/c.png)", "[l](javascript:alert(1))",
    "[l](<file:///etc/passwd>)", "http://a.b/c ", "&#x0;", "&amp;", "\u202e", "\u2066", "\u200b",
    "\x00", "\ud800", "e\u0301\u0301\u0301", "🚢", "👩\u200d👩\u200d👧", "ﷺ", "日本", "עברית",
    "---\n", "===\n", "[^1]", "[^1]: note\n", "- [ ] task\n", "***", "~~strike~~", "*" * 50,
    "[" * 80, "(" * 80, "x" * 3000, "w " * 800, "```json\n{\"a\":" , "| " * 60 + "\n",
)  # fmt: skip


def attack_markdown(
    rounds: int, chance: random.Random, until: Callable[[Callable[[], bool]], bool]
) -> list[str]:
    """Show hostile texts; return what went wrong, a sentence each.

    ``until`` lets the window run until something is so, and returns False if it never is. Whatever
    a text is, what stands after it has to be seen in the end.
    """
    from PySide6.QtWidgets import QApplication

    from app.ui.theme import ThemeManager
    from app.ui.transcript.items import MessageView
    from app.ui.transcript.view import Transcript
    from tests.helpers.transcript_probe import seen

    problems: list[str] = []
    raised: list[str] = []
    before = sys.excepthook
    sys.excepthook = lambda kind, error, _trace: raised.append(f"{kind.__name__}: {error}")
    themes = ThemeManager("dark")
    view = Transcript(themes)
    view.resize(812, 700)
    view.show()
    try:
        for number in range(rounds):
            seed = chance.random()
            own = random.Random(seed)
            text = _text(own)
            begun_s = time.process_time()
            if own.random() < 0.5:
                view.set_messages([
                    MessageView("u", "user", text),
                    MessageView("a", "assistant", text, reasoning=text[:1000]),
                    MessageView("end", "user", "after it"),
                ])  # fmt: skip
                view.act("toggle_reasoning", "a")
            else:
                view.set_messages([MessageView("a", "assistant", "", state="streaming")])
                at = 0
                while at < len(text):
                    size = own.choice([1, 7, 60, 400]) if len(text) < 4000 else 800
                    view.append_text("a", text[at : at + size])
                    at += size
                    QApplication.processEvents()
                view.update_message(MessageView("a", "assistant", text))
                view.append_message(MessageView("end", "user", "after it"))
            bar = view.verticalScrollBar()
            for share in (0.0, 0.5, 1.0):
                bar.setValue(round(bar.maximum() * share))
                QApplication.processEvents()
            view.scroll_to_end()
            if not until(lambda: seen(view, "after it")):
                problems.append(f"text {number}, seed {seed}: what follows is not seen")
            took_s = time.process_time() - begun_s
            if took_s > _MOST_S:
                problems.append(f"text {number}, seed {seed}: took {took_s:.1f} s")
            if view.content_height() > _MOST_HEIGHT:
                problems.append(f"text {number}, seed {seed}: {view.content_height()} pixels high")
            problems += [f"text {number}, seed {seed}: {said[:300]}" for said in raised]
            raised.clear()
    finally:
        sys.excepthook = before
        view.clear()
        view.close_workers()
        view.close()
        view.deleteLater()
        QApplication.processEvents()
    return problems


def _text(chance: random.Random) -> str:
    parts = chance.choices(_PIECES, k=chance.choice([5, 30, 150, 400]))
    if chance.random() < 0.3:  # the same again and again nests and never ends
        parts = chance.choices(parts[:3], k=chance.choice([200, 1500]))
    text = "".join(parts)[:60_000]
    if chance.random() < 0.2:
        return spoiled(text.encode("utf-8", "surrogatepass"), chance).decode("utf-8", "replace")
    return text
