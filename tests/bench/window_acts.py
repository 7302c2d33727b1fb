"""What is done with the window in the cases of `tests.bench.window_cases`."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication

from app.ui.transcript.rows import RowKind
from tests.bench.window_program import (
    MIXED,
    Bench,
    small_chats,
)

__all__ = [
    "by_keys",
    "by_scroll_bar",
    "by_wheel",
    "deleted",
    "found",
    "giant",
    "opened",
    "panel_toggled",
    "pasted",
    "resized",
    "searched",
    "streamed",
    "streamed_line",
    "switched",
    "themed",
]


def opened(key: str) -> Callable[[Bench], None]:
    """Open a chat three times, a short one in between."""

    def run(bench: Bench) -> None:
        bench.open("short")
        bench.begin()
        for _ in range(3):
            bench.open(key)
            bench.rest(0.3)
            bench.open("short")

    return run


def by_wheel(key: str, amount: int) -> Callable[[Bench], None]:
    """Go from the top to the bottom, at most ten seconds long, and a little up again."""

    def run(bench: Bench) -> None:
        bench.open(key)
        bar = bench.program.transcript.verticalScrollBar()
        bench.press(Qt.Key.Key_Home)
        bench.rest(0.5)

        def work() -> Iterator[None]:
            end = time.monotonic() + 8
            while bar.value() < bar.maximum() and time.monotonic() < end:
                bench.wheel(-amount)
                yield
            for _ in range(60):
                bench.wheel(120)
                yield

        bench.begin()
        bench.steps(work())

    return run


def by_scroll_bar(key: str) -> Callable[[Bench], None]:
    """Drag the scroll bar through a chat."""

    def run(bench: Bench) -> None:
        bench.open(key)
        bench.begin()
        there = [1 - i / 120 for i in range(121)]
        bench.steps(bench.drag_bar([*there, *reversed(there)]))

    return run


def by_keys(key: str) -> Callable[[Bench], None]:
    """Go through a chat with the keyboard."""

    def run(bench: Bench) -> None:
        bench.open(key)
        bench.program.transcript.setFocus()

        def work() -> Iterator[None]:
            for pressed in (Qt.Key.Key_Home, Qt.Key.Key_End, Qt.Key.Key_Home, Qt.Key.Key_End):
                bench.press(pressed)
                yield
                for _ in range(20):
                    yield None
                back = pressed == Qt.Key.Key_End
                for _ in range(10):
                    bench.press(Qt.Key.Key_PageUp if back else Qt.Key.Key_PageDown)
                    yield

        bench.begin()
        bench.steps(work())

    return run


def streamed(key: str) -> Callable[[Bench], None]:
    """Have a reply streamed into a chat."""

    def run(bench: Bench) -> None:
        bench.open(key)
        bench.begin()
        bench.send("Go on.")

    return run


def giant(key: str) -> Callable[[Bench], None]:
    """Open a giant message, go through it, unfold what is folded, go through it again."""

    def run(bench: Bench) -> None:
        bench.open("short")
        bench.begin()
        bench.open(key)
        bar = bench.program.transcript.verticalScrollBar()

        def through() -> Iterator[None]:
            bench.press(Qt.Key.Key_Home)
            yield
            for _ in range(60):
                bench.wheel(-480)
                yield
            for _ in range(60):
                bar.setValue(bar.value() + bar.maximum() // 50)
                yield
            bench.press(Qt.Key.Key_End)
            yield

        bench.steps(through())
        bench.press(Qt.Key.Key_Home)
        bench.settle()
        for row in list(bench.program.transcript._stage.pool.used):
            if row.kind in {RowKind.CODE, RowKind.BUBBLE}:
                button = row.widget.fold_button
                if not button.isHidden():
                    button.click()
                    bench.settle()
                    bench.steps(through())
                    break
        bench.settle()

    return run


def streamed_line(bench: Bench) -> None:
    """Have a giant reply streamed into a short chat."""
    bench.open("short")
    bench.begin()
    bench.send("Write it.")


def pasted(bench: Bench) -> None:
    """Paste 1 MB, put it into the draft, write at its end and its beginning, and send it."""
    bench.open("short")
    composer = bench.program.window.chat.composer
    QApplication.clipboard().setText(MIXED * (1_000_000 // len(MIXED) + 1))
    composer.setFocus()
    bench.begin()
    composer.edit.paste()
    bench.rest(0.2)
    assert composer._offer is not None
    composer._offer.chosen.emit("insert")
    bench.until(lambda: composer.edit.document().characterCount() > 1_000_000)
    bench.rest(1.5)

    def write() -> Iterator[None]:
        for place in (composer.edit.textCursor().MoveOperation.End,) * 20:
            composer.edit.moveCursor(place)
            composer.edit.insertPlainText("word ")
            yield
        for place in (composer.edit.textCursor().MoveOperation.Start,) * 20:
            composer.edit.moveCursor(place)
            composer.edit.insertPlainText("word ")
            yield

    bench.steps(write())
    bench.rest(1.5)
    bench.send(composer.text())
    bench.rest(0.5)


def switched(bench: Bench) -> None:
    """Go from chat to chat among ten long ones."""
    bench.open("ten-0")
    bench.begin()
    for _ in range(2):
        for number in range(10):
            bench.open(f"ten-{number}")
            bench.rest(0.1)


def panel_toggled(bench: Bench) -> None:
    """Open and close the panel while a reply streams."""
    bench.open("long-500")
    program = bench.program
    bench.begin()
    program.chat.send("Go on.")
    bench.until(lambda: program.controller.runner.is_running)
    for _ in range(8):
        program.window.toggle_inspector()
        bench.rest(0.7)
    bench.until(lambda: not program.controller.runner.is_running)
    bench.settle()


def searched(bench: Bench) -> None:
    """Search 2,000 chats letter by letter, step through what is found."""
    program = bench.program
    added: list[object] = []
    program.store.do(lambda store: store.add_whole(small_chats(2000)), added.append)
    bench.until(lambda: bool(added))
    bench.begin()
    program.chats.refresh()
    bench.rest(1.0)
    field = program.window.sidebar._search
    field.setFocus()
    for count in range(1, len("halyard") + 1):
        field.setText("halyard"[:count])
        bench.rest(0.15)
    bench.until(lambda: bool(program.window.sidebar.results.hits()))
    for _ in range(30):
        bench.press(Qt.Key.Key_Down, field)
        bench.rest(0.02)
    bench.press(Qt.Key.Key_Return, field)
    bench.settle()
    program.window.sidebar.clear_search()
    bench.rest(0.3)


def found(bench: Bench) -> None:
    """Find a text in a chat of 5,000 messages as it is typed, and step through its places."""
    bench.open("long-5000")
    program = bench.program
    bar = program.window.chat.find_bar
    bench.begin()
    program.window.actions_by_key["find"].trigger()
    words = "where is the halyard"
    for count in range(1, len(words) + 1):
        bar.field.setText(words[:count])
        bench.rest(0.1)
    bench.settle()
    for _ in range(12):
        bar.stepped.emit(-1)
        bench.settle()
    assert program.transcript._navigator.current
    bar.close_bar()


def _has(bench: Bench, least: int, most: int) -> bool:
    return least <= len(bench.program.controller.path) <= most


def themed(bench: Bench) -> None:
    """Change the theme over a long chat."""
    bench.open("long-500")
    bench.begin()
    for mode in ("light", "dark") * 2:
        bench.program.themes.set_mode(mode)
        bench.settle()
        bench.rest(0.4)


def resized(bench: Bench) -> None:
    """Change the window's size over a long chat."""
    bench.open("long-500")
    widths = [1440 - 10 * i for i in range(42)]

    def work() -> Iterator[None]:
        for width in (*widths, *reversed(widths)):
            bench.program.window.resize(width, 900 - width % 7)
            yield

    bench.begin()
    bench.steps(work())
    bench.settle()


def deleted(bench: Bench) -> None:
    """Delete messages in the middle and at the end of a chat of 5,000, and undo it."""
    bench.open("long-5000")
    program = bench.program
    bench.begin()
    for place in (2500, -1):
        path = program.controller.path
        message, count = path[place].id, len(path)
        program.transcript.scroll_to(message)
        bench.settle()
        program.transcript.act("delete", message)
        bench.until(partial(_has, bench, count - 2, count - 1))
        bench.settle()
        program.window.toast.undo_button.click()
        bench.until(partial(_has, bench, count, count))
        bench.settle()
