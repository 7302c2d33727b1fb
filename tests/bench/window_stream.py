"""The window under a fast stream: ``python -m tests.bench.window_stream [--tokens 20000]``.

The whole program, offscreen: the scripted engine in its own process streams 300 tokens a second
of Markdown with code and tables into a chat of 500 messages. A 5 ms timer on the window's thread
tells how long it was kept waiting (goals: 16 ms at the 99th percentile, 50 ms at worst); memory
is that of the window's process.
"""

from __future__ import annotations

import os

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

import argparse
import json
import tempfile
import time
from pathlib import Path

import psutil
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication

from app.data.conversations import ConversationStore
from app.engine.launch import FAKE_ENGINE_VARIABLE
from app.paths import Paths
from app.ui.application import Application

PARAGRAPH = (
    "Each layer keeps one key and one value vector per **KV head**; with `GQA` only 8 of the 32 "
    "heads store anything, so the cache is a *quarter* of what it would be.\n\n"
)
CODE = (
    "```python\ndef kv_bytes_per_token(layers, kv_heads, head_dim, bytes_per_value):\n"
    "    return 2 * layers * kv_heads * head_dim * bytes_per_value\n\n\n"
    "print(kv_bytes_per_token(32, 8, 128, 2))  # 131072\n```\n\n"
)
TABLE = "| context | bytes |\n|---|---:|\n| 8K | 1 GiB |\n| 32K | 4 GiB |\n\n"
LIST = "1. weights\n2. cache\n   - used\n   - reserved\n\n"
MIXED = PARAGRAPH * 3 + CODE + PARAGRAPH + TABLE + LIST


def _fill(store_path: Path, messages: int) -> str:
    store = ConversationStore(store_path)
    chat = store.create("A long chat")
    parent = None
    for index in range(messages // 2):
        asked = store.add_message(chat.id, parent, "user", f"Question {index}?")
        reply = store.add_message(chat.id, asked.id, "assistant", MIXED)
        parent = reply.id
    store.close()
    return chat.id


class _Gaps:
    def __init__(self) -> None:
        self.gaps_ms: list[float] = []
        self._last = 0.0
        self._timer = QTimer()
        self._timer.setInterval(5)
        self._timer.timeout.connect(self._tick)

    def start(self) -> None:
        self.gaps_ms.clear()
        self._last = time.perf_counter()
        self._timer.start()

    def stop(self) -> None:
        self._timer.stop()

    def _tick(self) -> None:
        now = time.perf_counter()
        self.gaps_ms.append((now - self._last) * 1000)
        self._last = now

    def line(self) -> str:
        ordered = sorted(self.gaps_ms)

        def at(share: float) -> float:
            return ordered[min(len(ordered) - 1, int(share * len(ordered)))]

        return (
            f"median {at(0.5):.1f} ms, 99 % {at(0.99):.1f} ms, 99.9 % {at(0.999):.1f} ms, "
            f"worst {ordered[-1]:.1f} ms over {len(ordered):,} ticks"
        )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--tokens", type=int, default=20_000)
    parser.add_argument("--messages", type=int, default=500)
    parser.add_argument("--rate", type=float, default=300)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        script = root / "script.json"
        script.write_text(
            json.dumps(
                {
                    "replies": [MIXED],
                    "repeat": True,
                    "decode_per_s": arguments.rate,
                    "n_ctx": 1 << 20,
                    "n_ctx_train": 1 << 20,
                }
            )
        )
        os.environ[FAKE_ENGINE_VARIABLE] = str(script)
        model = root / "fake.gguf"
        model.write_bytes(b"")
        paths = Paths(data=root / "data", cache=root / "cache")
        paths.make()
        chat_id = _fill(paths.store, arguments.messages)
        app = QApplication(["bench"])
        program = Application(paths, str(model))
        program.window.resize(1440, 900)
        program.window.show()
        process = psutil.Process()
        gaps = _Gaps()

        def wait(done: object) -> None:
            while not done():  # type: ignore[operator]
                app.processEvents()
                time.sleep(0.001)

        wait(lambda: program.engine.state.status == "ready" and not program.warm_up.is_running)
        gaps.start()
        started = time.perf_counter()
        program.chats.open(chat_id)
        wait(lambda: len(program.controller.path) == arguments.messages)
        for _ in range(20):
            app.processEvents()
        print(
            f"opening {arguments.messages} messages: {time.perf_counter() - started:.3f} s; "
            f"{gaps.line()}"
        )
        program.chat.send("Go on")
        wait(lambda: program.controller.runner.is_running)
        before = process.memory_info().rss
        marks = [arguments.tokens * step // 4 for step in range(1, 5)]
        gaps.start()
        timer = QTimer()
        timer.setInterval(100)

        def watch() -> None:
            live = program.controller.runner.live
            tokens = 0 if live is None else live.reply_tokens
            while marks and tokens >= marks[0]:
                rss = process.memory_info().rss
                print(
                    f"{marks.pop(0):>6} tokens: {gaps.line()}; "
                    f"memory {rss / 2**20:.0f} MiB ({(rss - before) / 2**20:+.0f})",
                    flush=True,
                )
                gaps.gaps_ms.clear()
            if not marks:
                timer.stop()
                program.controller.stop()
                program.window.close()

        timer.timeout.connect(watch)
        timer.start()
        app.exec()
        gaps.stop()
        program.release()


if __name__ == "__main__":
    main()
