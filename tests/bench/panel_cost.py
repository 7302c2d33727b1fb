"""What the open panel costs a reply: ``python -m tests.bench.panel_cost [--rounds 3]``.

The whole program with the starter model writes the same reply again and again, with the panel open
and closed in turn (A B A B …), so that what else the machine does falls on both. Told are the
decode rates of the engine's own clock, their ratio (goal: at least 0.97), the processor time of the
window, which a busy machine does not change much, and how long a 5 ms timer
on the window's thread was kept waiting (goals: 16 ms at the 99th percentile, 50 ms at worst).
Offscreen by default; set ``QT_QPA_PLATFORM`` to measure on a screen.
"""

from __future__ import annotations

import os

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication

from app.data.probe import busy_sentence
from app.paths import Paths, starter_model
from app.ui.application import Application

PROMPT = "Tell a long story about the captain of a sailing ship, with every day of the journey."
GOAL = 0.97


class Gaps:
    """How late a 5 ms timer of the window's thread came."""

    def __init__(self) -> None:
        self.gaps_ms: list[float] = []
        self._last = time.perf_counter()
        self._timer = QTimer()
        self._timer.setInterval(5)
        self._timer.timeout.connect(self._tick)

    def start(self) -> None:
        """Begin to watch."""
        self._last = time.perf_counter()
        self._timer.start()

    def stop(self) -> list[float]:
        """Return what was seen since `start`, in milliseconds."""
        self._timer.stop()
        seen, self.gaps_ms = self.gaps_ms, []
        return seen

    def _tick(self) -> None:
        now = time.perf_counter()
        self.gaps_ms.append((now - self._last) * 1000)
        self._last = now


class Bench:
    """The program, and replies that are measured in it."""

    def __init__(self, app: QApplication, program: Application, tokens: int) -> None:
        self.app = app
        self.program = program
        self.tokens = tokens
        self.gaps = Gaps()

    def until(self, done: Callable[[], bool], limit_s: float = 300) -> None:
        """Let the window run until something is so; sleeps as an event loop does."""
        end = time.monotonic() + limit_s
        loop_ms = 2
        while not done():
            if time.monotonic() > end:
                raise TimeoutError
            self.app.processEvents()
            time.sleep(loop_ms / 1000)

    def first(self) -> None:
        """Load, and write the reply once: everything is warm after it."""
        program = self.program
        self.until(
            lambda: program.engine.state.status == "ready" and not program.warm_up.is_running
        )
        self.until(lambda: program.inspector._panel is not None)
        self.until(
            lambda: (
                (plan := program.inspector.session.plan) is not None
                and plan.devices[0].bandwidth_basis == "measured"
            )
        )
        values = {"temperature": 0.0, "max_tokens": self.tokens}
        program.controller.set_chat_values(None, "Precise", values)
        program.context.send(PROMPT)
        self.until(lambda: program.controller.runner.is_running)
        self.settle()

    def settle(self) -> None:
        """Wait for the reply's end, and until it is stored and shown."""
        runner = self.program.controller.runner
        self.until(lambda: not runner.is_running)
        end = time.monotonic() + 0.5
        self.until(lambda: time.monotonic() > end)

    def reply(self, *, is_open: bool) -> tuple[float, float, list[float]]:
        """Write the reply again; return decode rate, processor share of the window, gaps."""
        program = self.program
        shown = program.inspector._panel.isVisible()
        if shown != is_open:
            program.window.toggle_inspector()
        end = time.monotonic() + 0.3
        self.until(lambda: time.monotonic() > end)
        program.chat.regenerate_last()
        self.until(lambda: program.controller.runner.is_running)
        self.gaps.start()
        started, spent = time.monotonic(), time.process_time()
        self.until(lambda: not program.controller.runner.is_running)
        share = (time.process_time() - spent) / (time.monotonic() - started)
        seen = self.gaps.stop()
        self.settle()
        stats = program.controller.path[-1].stats
        assert stats is not None
        assert stats.decode_per_s is not None
        return stats.decode_per_s, share, seen


def _gap_line(gaps_ms: list[float]) -> str:
    ordered = sorted(gaps_ms)
    high = ordered[min(len(ordered) - 1, int(0.99 * len(ordered)))]
    return f"median {median(ordered):.1f} ms, 99 % {high:.1f} ms, worst {ordered[-1]:.1f} ms"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3, help="pairs of open and closed")
    parser.add_argument("--tokens", type=int, default=200)
    given = parser.parse_args()
    app = QApplication(["plimsoll"])
    with tempfile.TemporaryDirectory() as name:
        paths = Paths(Path(name) / "data", Path(name) / "cache")
        paths.make()
        program = Application(paths, str(starter_model()))
        program.tuning.enabled = False
        program.window.resize(1440, 900)
        program.window.show()
        bench = Bench(app, program, given.tokens)
        bench.first()
        busy = busy_sentence([program.engine.state.pid or 0])
        rates: dict[bool, list[float]] = {True: [], False: []}
        gaps: dict[bool, list[float]] = {True: [], False: []}
        shares: dict[bool, list[float]] = {True: [], False: []}
        ratios = []
        for _ in range(given.rounds):
            for is_open in (True, False):
                rate, share, seen = bench.reply(is_open=is_open)
                shares[is_open].append(share)
                rates[is_open].append(rate)
                gaps[is_open] += seen
                word = "open" if is_open else "closed"
                print(f"{word:>6}: {rate:7.2f} tok/s; window {_gap_line(seen)}", flush=True)
            ratios.append(rates[True][-1] / rates[False][-1])
        ratio = median(ratios)
        print(
            f"open against closed: {ratio:.3f} (median of {len(ratios)} pairs, "
            f"{min(ratios):.3f} to {max(ratios):.3f}; goal at least {GOAL})"
        )
        print(
            f"processor time of the window: {median(shares[True]):.0%} of a core open, "
            f"{median(shares[False]):.0%} closed"
        )
        print(f"window, panel open: {_gap_line(gaps[True])}")
        print(f"window, panel closed: {_gap_line(gaps[False])}")
        if busy:
            print(f"The machine was busy, so the figures are uncertain. {busy}")
        program.window.close()
        bench.until(lambda: program.has_ended)
        program.release()


if __name__ == "__main__":
    main()
