"""How smooth the window stays: ``python -m tests.bench.transcript_stream``.

Streams tokens into a long conversation by a timer, at the pace of a fast model, and measures the
gaps of a second timer that should fire every 5 ms; then opens and scrolls long conversations.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator

import psutil

_TICK_MS = 5


def tokens(count: int) -> Iterator[str]:
    """Yield mixed Markdown in pieces about as large as a model's tokens."""
    from tests.helpers.transcript_samples import CODE_ANSWER, RICH_ANSWER

    long_code = "```python\n" + "".join(
        f"def step_{i}(state, rate={i}):\n    return state * rate + {i}  # step {i}\n\n"
        for i in range(60)
    )
    table = "| Name | Value | Note |\n|---|--:|:-:|\n" + "".join(
        f"| row {i} | {i * 37} | **note** {i} |\n" for i in range(80)
    )
    plain = "A paragraph of ordinary words that goes on for a while, as answers do. " * 12
    text = "\n\n".join(
        (RICH_ANSWER, plain, CODE_ANSWER, long_code + "```", plain, table, "- item\n" * 40)
    )
    made = 0
    while True:
        at = 0
        while at < len(text):
            size = 2 + (made * 7) % 5
            yield text[at : at + size]
            at += size
            made += 1
            if made >= count:
                return
        yield "\n\n"


class Gaps:
    """Measures how late a timer fires on this thread."""

    def __init__(self) -> None:
        from PySide6.QtCore import Qt, QTimer

        self.gaps: list[float] = []
        self._last = 0.0
        self._timer = QTimer()
        self._timer.setTimerType(Qt.TimerType.PreciseTimer)
        self._timer.setInterval(_TICK_MS)
        self._timer.timeout.connect(self._tick)

    def start(self) -> None:
        self._last = time.perf_counter()
        self._timer.start()

    def stop(self) -> None:
        self._timer.stop()

    def _tick(self) -> None:
        now = time.perf_counter()
        self.gaps.append((now - self._last) * 1000)
        self._last = now

    def report(self, name: str) -> str:
        ordered = sorted(self.gaps)
        at = min(int(len(ordered) * 0.99), len(ordered) - 1)
        worst = " ".join(f"{gap:.1f}" for gap in ordered[-5:])
        return (
            f"{name}: gaps of a {_TICK_MS} ms timer: median {statistics.median(ordered):.1f} ms, "
            f"p99 {ordered[at]:.1f} ms, worst {ordered[-1]:.1f} ms "
            f"(five longest: {worst}; {len(ordered)} gaps)"
        )


def rss_mb() -> float:
    """Return the memory of this process."""
    return float(psutil.Process().memory_info().rss) / 2**20


def run(done: Callable[[], bool]) -> None:
    """Process events until something holds."""
    from PySide6.QtCore import QEventLoop, QTimer

    loop = QEventLoop()
    check = QTimer()
    check.timeout.connect(lambda: loop.quit() if done() else None)
    check.start(20)
    loop.exec()
    check.stop()


def stream(view: object, count: int, rate: int, kind: str) -> None:
    """Stream one reply and print how it went."""
    from PySide6.QtCore import Qt, QTimer

    from app.ui.transcript.items import MessageView
    from app.ui.transcript.view import Transcript

    assert isinstance(view, Transcript)
    sources = {
        "mixed": tokens(count),
        "code": iter(["```python\n"] + ["x = call(a, b)\n"] * (count // 4)),
        "list": iter([f"- item {i} with **bold**\n" for i in range(count // 8)]),
        "table": iter(
            ["|a|b|c|\n|-|-|-|\n"] + [f"| {i} | **b** | c |\n" for i in range(count // 12)]
        ),
        "paragraph": iter([f"word{i % 97} " for i in range(count)]),
    }
    source = sources[kind]
    begun = time.perf_counter()
    sent = 0
    finished = False
    view.append_message(MessageView("live", "assistant", "", state="streaming"))
    text: list[str] = []

    def feed() -> None:
        nonlocal sent, finished
        due = int((time.perf_counter() - begun) * rate)
        while sent < due and not finished:
            piece = next(source, None)
            if piece is None:
                finished = True
                break
            text.append(piece)
            view.append_text("live", piece)
            sent += 1

    timer = QTimer()
    timer.setTimerType(Qt.TimerType.PreciseTimer)
    timer.timeout.connect(feed)
    gaps = Gaps()
    before = rss_mb()
    cpu = time.process_time()
    timer.start(3)
    gaps.start()
    run(lambda: finished)
    timer.stop()
    view.update_message(MessageView("live", "assistant", "".join(text)))
    settled = time.perf_counter() + 0.5
    run(lambda: time.perf_counter() > settled)
    gaps.stop()
    wall = time.perf_counter() - begun
    print(gaps.report(f"{kind}: {sent} tokens at {rate}/s"))
    print(
        f"  memory {before:.0f} -> {rss_mb():.0f} MB; window's thread busy "
        f"{100 * (time.process_time() - cpu) / wall:.0f} % of {wall:.0f} s",
        flush=True,
    )
    view.remove_message("live")


def open_and_scroll(view: object, count: int) -> None:
    """Open a long conversation and scroll all through it."""
    from PySide6.QtCore import QTimer
    from PySide6.QtWidgets import QApplication

    from app.ui.transcript.view import Transcript
    from tests.helpers.transcript_samples import conversation

    assert isinstance(view, Transcript)
    messages = conversation(count)
    begun = time.perf_counter()
    view.set_messages(messages)
    opened = time.perf_counter()
    QApplication.processEvents()
    drawn = time.perf_counter()
    print(f"open {count}: {1000 * (opened - begun):.1f} ms, drawn {1000 * (drawn - begun):.1f} ms")
    bar = view.verticalScrollBar()
    steps = 0

    def scroll() -> None:
        nonlocal steps
        bar.setValue(bar.value() - 160)
        steps += 1

    timer = QTimer()
    timer.timeout.connect(scroll)
    gaps = Gaps()
    gaps.start()
    timer.start(16)
    run(lambda: steps >= 400)
    timer.stop()
    gaps.stop()
    print(gaps.report(f"  scroll {count} by 160 px every 16 ms"))
    jumps: list[float] = []
    for index in range(40):
        at = time.perf_counter()
        bar.setValue(bar.maximum() * ((index * 17) % 40) // 40)
        QApplication.processEvents()
        jumps.append((time.perf_counter() - at) * 1000)
    print(
        f"  jumps: median {statistics.median(jumps):.1f} ms, worst {max(jumps):.1f} ms; "
        f"memory {rss_mb():.0f} MB",
        flush=True,
    )


def main(arguments: list[str] | None = None) -> int:
    """Run the measurements that were asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tokens", type=int, default=20_000)
    parser.add_argument("--rate", type=int, default=300)
    parser.add_argument("--messages", type=int, default=500)
    parser.add_argument("--kind", action="append", default=[])
    parser.add_argument("--only", choices=("stream", "open"), default=None)
    chosen = parser.parse_args(arguments)
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

    from PySide6.QtWidgets import QApplication

    from app.ui.theme import ThemeManager
    from app.ui.transcript.view import Transcript
    from tests.helpers.transcript_samples import conversation

    app = QApplication(sys.argv[:1])
    view = Transcript(ThemeManager("dark"))
    view.resize(812, 720)
    view.show()
    app.processEvents()
    if chosen.only != "open":
        view.set_messages(conversation(chosen.messages))
        settled = time.perf_counter() + 1
        run(lambda: time.perf_counter() > settled)
        for kind in chosen.kind or ["mixed"]:
            stream(view, chosen.tokens, chosen.rate, kind)
    if chosen.only != "stream":
        for count in (2000, 5000):
            open_and_scroll(view, count)
    view.close()
    view.deleteLater()
    return 0


if __name__ == "__main__":
    sys.exit(main())
