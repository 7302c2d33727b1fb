"""Text that means harm, or that nobody thought of: shown, bounded, and nothing is fetched."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from PySide6.QtCore import QUrl
from PySide6.QtGui import QTextDocument
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.ui.transcript.items import MessageView
from app.ui.transcript.text_row import TextRow
from app.ui.transcript.view import Transcript
from tests.helpers.hostile_markdown import attack_markdown
from tests.helpers.transcript_probe import seen, widgets

HOSTILE = {
    "one endless line": "x" * 100_000,
    "endless line of words": "word " * 20_000,
    "endless line of code": "```json\n" + "1," * 50_000 + "\n```",
    "deep quotes": ">" * 5000 + " deep",
    "deep lists": "".join("  " * i + "- x\n" for i in range(400)),
    "deep inline": "**_" * 3000 + "x",
    "emphasis that never ends": "*a " * 20_000,
    "brackets": "[" * 20_000,
    "backticks": "".join("`" * (i % 50) + " " for i in range(3000)),
    "wide table": "|a" * 2000 + "\n" + "|-" * 2000 + "\n",
    "long table": "| a | b |\n|---|---|\n" + "| 1 | **2** |\n" * 3000,
    "bidi": "\u202e\u2067 reversed \u2069\n\n```py\nif a: \u202e# }\n```",
    "nul": "a\x00b\x00" * 2000,
    "surrogates": "\ud800 alone \udfff",
    "combining": "e" + "\u0301" * 5000,
    "open fence": "```\n" + "line\n" * 5000,
    "many dollars": "$a" * 10_000,
    "formula bomb": "$" + "{" * 400 + "}" * 400 + "$\n\n$$\n" + "\\frac{" * 200 + "\n$$",
    "html": "<img src=x onerror=alert(1)><script>alert(1)</script><iframe src='file:///'>",
    "entities": "&#x0; &#1114112; &amp;" * 500,
    "many rules": "---\n\n" * 3000,
    "many headings": "# h\n" * 3000,
    "stacked marks": "".join(f"{c}" + "\u0300\u0323\u035c\u0489" * 60 for c in "zalgo ") * 20,
    "a megabyte in a line": "The quick brown fox. " * 50_000,
    "a megabyte of code in a line": "```\n" + "f(x)=" * 200_000 + "\n```",
    "large table": "| a " * 20 + "|\n" + "|---" * 20 + "|\n" + ("| **1** " * 20 + "|\n") * 500,
    "directions in every cell": "| a |\n|---|\n" + "| \u202eb\u2066 `c\u202e` |\n" * 300,
    "quotes, lists and fences in turn": "".join(
        "> " * (i % 60) + "- " * (i % 40) + ("```\n" if i % 7 else "x\n") for i in range(1000)
    ),
    "autolinks": "http://a.b/" * 3000,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_is_shown_and_leaves_the_window_usable(qtbot: QtBot, view: Transcript, name: str) -> None:
    text = HOSTILE[name]
    view.set_messages(
        [
            MessageView("u", "user", text),
            MessageView("a", "assistant", text, reasoning=text[:2000]),
            MessageView("end", "user", "after it"),
        ]
    )
    view.act("toggle_reasoning", "a")
    bar = view.verticalScrollBar()
    for share in (0.0, 0.3, 0.6, 1.0):
        bar.setValue(round(bar.maximum() * share))
        QApplication.processEvents()
    view.scroll_to_end()
    qtbot.waitUntil(lambda: seen(view, "after it"))
    assert view.content_height() < 3_000_000
    assert not view.grab().isNull()


@pytest.mark.parametrize("name", ["one endless line", "open fence", "long table", "nul"])
def test_streams_in_pieces(qtbot: QtBot, view: Transcript, name: str) -> None:
    text = HOSTILE[name][:40_000]
    view.set_messages([MessageView("a", "assistant", "", state="streaming")])
    for at in range(0, len(text), 2000):
        view.append_text("a", text[at : at + 2000])
        QApplication.processEvents()
    view.update_message(MessageView("a", "assistant", text))
    view.append_message(MessageView("end", "user", "after it"))
    qtbot.waitUntil(lambda: seen(view, "after it"))


def test_texts_that_nobody_wrote(qtbot: QtBot) -> None:
    def until(done: Callable[[], bool]) -> bool:
        try:
            qtbot.waitUntil(done)
        except AssertionError:  # pytest-qt's own has no name of its own
            return False
        return True

    assert attack_markdown(12, random.Random(1), until) == []


def test_nothing_is_ever_loaded(view: Transcript) -> None:
    view.set_messages(
        [MessageView("a", "assistant", "![x](https://a.b/c.png) <img src='file:///etc/passwd'>")]
    )
    (row,) = widgets(view, TextRow)
    document = row.document()
    kind = int(QTextDocument.ResourceType.ImageResource.value)
    for address in ("https://a.b/c.png", "file:///etc/passwd", "data:image/png;base64,AAAA"):
        assert document.loadResource(kind, QUrl(address)) is None
    assert "\ufffc" not in row.toPlainText()


def test_long_message_is_parsed_in_steps(qtbot: QtBot, slow_view: Transcript) -> None:
    text = "\n\n".join(f"Some **bold** text with `code` {i}" for i in range(2000))
    slow_view.set_messages([MessageView("a", "assistant", text)])
    entry = slow_view._flow.find("a")
    assert entry is not None
    assert not entry.is_open
    qtbot.waitUntil(lambda: seen(slow_view, "1999"))
    assert entry.is_open
