"""The whole program for the window's benchmarks: chats in a store, a scripted engine, a window."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from PySide6.QtCore import QEventLoop, QPoint, QPointF, Qt, QTimer
from PySide6.QtGui import QKeyEvent, QMouseEvent, QWheelEvent
from PySide6.QtWidgets import QApplication, QWidget

from app.data.conversations import ConversationStore, WholeConversation
from app.data.records import Conversation, Message, Role
from app.engine.launch import FAKE_ENGINE_VARIABLE
from app.paths import Paths
from app.ui.application import Application
from inspector.records import TurnStats
from tests.bench.window_watch import Seen, Watch

__all__ = ["MIXED", "Bench", "code_text", "line_text", "pieces", "small_chats", "table_text"]

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
STATS = TurnStats(
    n_ctx=1 << 20,
    prompt_tokens=900,
    reused_tokens=700,
    evaluated_tokens=200,
    reply_tokens=300,
    prefill_s=0.4,
    first_token_s=0.41,
    decode_s=4.0,
    samples=((100, 1.3), (200, 2.6), (300, 4.0)),
)
_STEP_MS = 16


def code_text(lines: int) -> str:
    """Return a block of code of so many lines."""
    body = "".join(
        f"    total += scale_{i % 97}(values[{i}], rate={i * 0.25}) + offset  # step {i}\n"
        for i in range(lines)
    )
    return f"Here it is:\n\n```python\n{body}```\n\nThat is all.\n"


def line_text(characters: int, *, spaces: bool) -> str:
    """Return one line of so many characters."""
    word = "quantised " if spaces else "0123456789abcdef"
    return (word * (characters // len(word) + 1))[:characters]


def table_text(rows: int) -> str:
    """Return a table of so many rows."""
    head = "| layer | tensor | type | bytes | note |\n|---:|---|:-:|---:|---|\n"
    return head + "".join(
        f"| {i} | `blk.{i}.attn_q.weight` | Q4_K | {i * 9437184:,} | **row** {i} of the table |\n"
        for i in range(rows)
    )


def pieces(text: str, size: int) -> list[str]:
    """Cut a text into tokens of a size."""
    return [text[at : at + size] for at in range(0, len(text), size)]


def _chat(key: str, title: str, texts: Sequence[tuple[Role, str]]) -> WholeConversation:
    begun = 1_790_000_000_000
    made: list[Message] = []
    for index, (role, text) in enumerate(texts):
        reply = role == "assistant"
        made.append(
            Message(
                id=f"{key}-{index}",
                conversation_id=key,
                parent_id=made[-1].id if made else None,
                role=role,
                text=text,
                reasoning="",
                state="complete",
                stop_reason="end" if reply else None,
                model_name="fake" if reply else None,
                created_ms=begun + index,
                updated_ms=begun + index,
                stats=STATS if reply else None,
            )
        )
    leaf = made[-1].id if made else None
    chat = Conversation(key, title, False, begun, begun + len(made), leaf_id=leaf)
    return WholeConversation(chat, made)


def long_chat(key: str, messages: int) -> WholeConversation:
    """Return a chat of questions and mixed answers."""
    texts: list[tuple[Role, str]] = []
    for index in range(messages // 2):
        found = " Where is the halyard?" if index % 100 == 7 else ""
        texts.append(("user", f"Question {index} about the cache?{found}"))
        texts.append(("assistant", f"Answer {index}.\n\n" + MIXED))
    return _chat(key, f"A chat of {messages:,} messages", texts)


def _asked(key: str, title: str, text: str) -> WholeConversation:
    return _chat(key, title, [("user", "Show it."), ("assistant", text)])


def fill(path: Path) -> None:
    """Write the chats that the cases open into a new store."""
    spaced, dense = (line_text(100_000, spaces=spaces) for spaces in (True, False))
    store = ConversationStore(path)
    store.add_whole(
        [
            long_chat("long-500", 500),
            long_chat("long-5000", 5000),
            *(long_chat(f"ten-{i}", 200) for i in range(10)),
            _asked("code", "Code of 2,000 lines", code_text(2000)),
            _asked("line", "A line of 100,000 characters", spaced),
            _asked("dense", "A line without spaces", dense),
            _asked("line-code", "A line in code", f"```json\n{dense}\n```\n"),
            _asked("table", "A table of 500 rows", table_text(500)),
            _chat("sent", "A message of 1 MB", [("user", MIXED * (1_000_000 // len(MIXED) + 1))]),
            _chat("short", "A short chat", [("user", "Hello"), ("assistant", "Hello.")]),
        ]
    )
    store.close()


def small_chats(count: int) -> list[WholeConversation]:
    """Return short chats."""
    return [
        _chat(
            f"small-{i}",
            f"Small chat {i}",
            [("user", f"What is a halyard, {i}?"), ("assistant", PARAGRAPH)],
        )
        for i in range(count)
    ]


class Bench:
    """The program, driven as a user drives it, and watched."""

    def __init__(
        self, root: Path, replies: Sequence[Sequence[str]], rate: float, why_ms: float | None
    ) -> None:
        script = root / "script.json"
        script.write_text(
            json.dumps(
                {
                    "replies": [*replies, "The end."],
                    "decode_per_s": rate,
                    "n_ctx": 1 << 20,
                    "n_ctx_train": 1 << 20,
                }
            )
        )
        os.environ[FAKE_ENGINE_VARIABLE] = str(script)
        model = root / "fake.gguf"
        model.write_bytes(b"")
        self.paths = Paths(data=root / "data", cache=root / "cache")
        self.paths.make()
        fill(self.paths.store)
        self.app = QApplication.instance() or QApplication(["bench"])
        self.program = Application(self.paths, str(model))
        self.program.window.resize(1440, 900)
        self.program.window.show()
        self.watch = Watch(self.program.window, why_ms)

    # --- time ---

    def until(self, done: Callable[[], bool], limit_s: float = 120) -> None:
        """Let the window live until something is so."""
        end = time.monotonic() + limit_s
        loop = QEventLoop()
        timer = QTimer()

        def look() -> None:
            if done() or time.monotonic() > end:
                loop.quit()

        timer.timeout.connect(look)
        timer.start(10)
        loop.exec()
        timer.stop()
        if time.monotonic() > end:
            raise TimeoutError

    def rest(self, seconds: float) -> None:
        """Let the window live for some time."""
        end = time.monotonic() + seconds
        self.until(lambda: time.monotonic() >= end)

    def settle(self) -> None:
        """Wait until the transcript has nothing left to do."""
        view = self.program.transcript
        quiet = 0

        def done() -> bool:
            nonlocal quiet
            busy = view._stage._idle.isActive() or bool(view._highlighter._jobs)
            quiet = 0 if busy else quiet + 1
            return quiet >= 20

        self.until(done)

    def steps(self, work: Iterator[None]) -> None:
        """Take one step of the work every 16 ms."""
        ended = False
        timer = QTimer()
        timer.setTimerType(Qt.TimerType.PreciseTimer)

        def step() -> None:
            nonlocal ended
            try:
                next(work)
            except StopIteration:
                ended = True
                timer.stop()

        timer.timeout.connect(step)
        timer.start(_STEP_MS)
        self.until(lambda: ended)

    # --- what a user does ---

    def ready(self) -> None:
        """Wait until the engine has loaded and the panel stands."""
        program = self.program
        self.until(
            lambda: program.engine.state.status == "ready" and not program.warm_up.is_running
        )
        self.until(lambda: program.inspector._panel is not None)
        self.until(lambda: not program.warm_up.is_running)
        self.rest(1.0)

    def open(self, key: str) -> None:
        """Open a chat and wait until it stands."""
        self.program.chats.open(key)
        self.until(lambda: getattr(self.program.controller.conversation, "id", None) == key)
        self.settle()

    def send(self, text: str) -> None:
        """Send a message and wait until the answer is there and stored."""
        runner = self.program.controller.runner
        before = len(self.program.controller.path)
        self.program.chat.send(text)
        self.until(lambda: runner.is_running)
        self.until(lambda: not runner.is_running, limit_s=240)
        self.until(lambda: len(self.program.controller.path) > before + 1)
        self.settle()

    @property
    def view(self) -> QWidget:
        """What the conversation is drawn in."""
        return self.program.transcript.viewport()

    def wheel(self, amount: int) -> None:
        """Turn the wheel over the conversation; 120 is a notch, above 0 goes up."""
        # To the viewport itself: what is sent is not handed on by what lies on it and ignores it.
        at = QPointF(self.view.width() / 2, self.view.height() / 2)
        event = QWheelEvent(
            at,
            QPointF(self.view.mapToGlobal(at.toPoint())),
            QPoint(),
            QPoint(0, amount),
            Qt.MouseButton.NoButton,
            Qt.KeyboardModifier.NoModifier,
            Qt.ScrollPhase.NoScrollPhase,
            False,
        )
        QApplication.sendEvent(self.view, event)

    def press(self, key: Qt.Key, target: QWidget | None = None) -> None:
        """Press and release a key."""
        goal = target or self.program.transcript
        none = Qt.KeyboardModifier.NoModifier
        for kind in (QKeyEvent.Type.KeyPress, QKeyEvent.Type.KeyRelease):
            QApplication.sendEvent(goal, QKeyEvent(kind, key, none))

    def drag_bar(self, shares: Sequence[float]) -> Iterator[None]:
        """Drag the scroll bar's slider through shares of its way."""
        bar = self.program.transcript.verticalScrollBar()
        left, none = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
        kinds = QMouseEvent.Type
        begin = bar.value() / max(bar.maximum(), 1)

        def mouse(kind: QMouseEvent.Type, share: float, held: Qt.MouseButton) -> None:
            y = 6 + share * (bar.height() - 12)
            at = QPointF(bar.width() / 2, y)
            there = QPointF(bar.mapToGlobal(at.toPoint()))
            QApplication.sendEvent(bar, QMouseEvent(kind, at, there, left, held, none))

        mouse(kinds.MouseButtonPress, begin, left)
        for share in shares:
            mouse(kinds.MouseMove, share, left)
            yield
        mouse(kinds.MouseButtonRelease, shares[-1], Qt.MouseButton.NoButton)
        yield

    def begin(self) -> None:
        """Begin to watch; what a case does before is not its subject."""
        self.watch.start()

    def end(self) -> Seen:
        """Return what was seen."""
        return self.watch.stop()

    def close(self) -> None:
        """End the program as a user does."""
        self.watch.close()
        self.program.window.close()
        self.until(lambda: self.program.has_ended)
        self.program.release()
