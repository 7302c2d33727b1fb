"""Draws the main window with example data into a PNG, to be held beside the design.

``python -m tests.helpers.shell_gallery OUT.png [--light] [--width W] [--height H] [--text-size P]
[--what main|first-run|picker|settings|load|chat|keys|about|search|notices] [--rtl]``
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from datetime import datetime, timedelta

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

from PySide6.QtCore import QCoreApplication, Qt
from PySide6.QtGui import QPainter, QPixmap
from PySide6.QtWidgets import QApplication, QDialog, QLabel, QLineEdit, QWidget

from app.ui.dialogs.about import AboutDialog
from app.ui.dialogs.chat_dialog import ChatDialog, ChatSettings
from app.ui.dialogs.load_dialog import LoadDialog
from app.ui.dialogs.settings_dialog import SettingsDialog
from app.ui.main_window import MainWindow
from app.ui.shell.views import (
    AttachmentChip,
    ChatEntry,
    Choice,
    ContextUse,
    DraftFacts,
    FirstRun,
    HeaderModel,
    ModelEntry,
    Notice,
    Overflow,
    SearchHit,
    Segment,
    StatusFacts,
)
from app.ui.theme import ThemeManager
from app.ui.transcript.items import MessageView
from app.ui.transcript.view import Transcript
from tests.helpers.transcript_samples import CODE_ANSWER, figures

GIB = 1 << 30

CHATS = (
    ("KV cache growth, worked out", 0),
    ("Refactor the retry loop", 0),
    ("Trip notes to bullet list", 0),
    ("Regex for ISO dates", 1),
    ("Summarise meeting.txt", 1),
    ("Compare Q4 and Q8 answers", 12),
    ("Explain GQA to a beginner", 20),
)

MODELS = (
    ModelEntry(
        "/models/Llama-3.1-8B-Instruct-Q8_0.gguf",
        "Llama-3.1-8B-Instruct",
        "Q8_0",
        int(7.95 * GIB),
        131072,
        "Plimsoll's folder",
        loaded=True,
    ),
    ModelEntry(
        "/models/gemma-3-4b.gguf", "gemma-3-4b-it", "Q4_K_M", int(2.3 * GIB), 131072, "LM Studio"
    ),
    ModelEntry("/starter.gguf", "SmolLM2-135M-Instruct", "Q4_1", 98 << 20, 8192, "Starter"),
    ModelEntry(
        "/models/a-model-with-a-very-long-name-that-never-ends-and-goes-on.gguf",
        "a-model-with-a-very-long-name-that-never-ends-and-goes-on-and-on-v2.5",
        "IQ3_XXS",
        int(41.2 * GIB),
        32768,
        "Hugging Face",
    ),
    ModelEntry(
        "/models/broken.gguf",
        "half-downloaded-7B",
        "Q5_K_M",
        int(1.2 * GIB),
        None,
        "LM Studio",
        problem="The file ends before its tensors do; download it again.",
    ),
)


def example_transcript(themes: ThemeManager) -> Transcript:
    """Return the conversation of the design's picture."""
    transcript = Transcript(themes)
    transcript.set_column_width(760)
    transcript.set_messages(
        (
            MessageView(
                "u1",
                "user",
                "How much memory does one token of KV cache take in this model? Show the "
                "arithmetic in Python.",
            ),
            MessageView("a1", "assistant", CODE_ANSWER, figures=figures(142)),
            MessageView("u2", "user", "And if I quantise the cache to 8 bits?"),
            MessageView(
                "a2",
                "assistant",
                "Then each value takes 8.5 bits instead of 16 (the block scale costs half a bit), "
                "so the cache shrinks to **68 KiB** per token",
                state="streaming",
                figures=figures(27, "30.8"),
            ),
        )
    )
    return transcript


def example_window(themes: ThemeManager) -> MainWindow:
    """Return the window of the design's picture."""
    window = MainWindow(themes)
    window.chat.set_transcript(example_transcript(themes))
    now = datetime.now().astimezone()
    window.sidebar.set_chats(
        ChatEntry(f"c{n}", title, now - timedelta(days=days, minutes=n), answering=n == 2)
        for n, (title, days) in enumerate(CHATS)
    )
    window.sidebar.set_current("c0")
    for key, title in (("models", "Models"), ("compare", "Compare"), ("planner", "Planner")):
        window.add_page(key, title, key, QWidget())
    window.header.model.set_model(
        HeaderModel("loaded", "Llama-3.1-8B-Instruct", "Q8_0", int(8.5 * 10**9))
    )
    window.header.preset.set_presets(("Default", "Precise", "Creative", "Code"), "Default")
    window.header.gauge.set_use(ContextUse(21034, 32768))
    inspector = QLabel("(inspector)")
    inspector.setAlignment(Qt.AlignmentFlag.AlignCenter)
    inspector.setProperty("kind", "faint")
    window.set_inspector(inspector)
    window.picker.set_entries(MODELS)
    window.chat.composer.set_draft_facts(DraftFacts(0, 0.64))
    window.set_generating(True)
    window.status.set_facts(
        StatusFacts(
            (
                Segment("CUDA · RTX 4070 · 504 GB/s"),
                Segment("PCIe 4.0 ×16"),
                Segment("Flash attention on"),
                Segment("KV f16"),
            ),
            (Segment("Engine running · pid 4211"),),
        )
    )
    return window


def _busy(window: MainWindow) -> None:
    """Show all that can stand above and in the composer, and a lost engine."""
    window.set_generating(False)
    window.header.model.set_model(HeaderModel("lost", "Llama-3.1-8B-Instruct", "Q8_0", 8 << 30))
    window.header.gauge.set_use(ContextUse(31900, 32768, 4, 2100))
    window.chat.notices.show_notice(
        Notice(
            "moved",
            "Compatibility mode is on: this engine stopped with an illegal instruction here.",
            "info",
        )
    )
    window.chat.notices.show_notice(
        Notice(
            "crash",
            "The engine ran out of memory while it read the prompt; the reply so far is kept. "
            "Load the model with fewer GPU layers or a smaller context.",
            "error",
            details="ggml_cuda_host_malloc: failed\nllama_decode: out of memory\n" * 4,
            choices=(
                Choice("reload", "Load again", "primary"),
                Choice("layers", "26 GPU layers"),
                Choice("ctx", "Context 16,384"),
            ),
        )
    )
    window.chat.overflow.set_overflow(
        Overflow(
            "The message and the chat need 33,410 tokens, the model's window has 32,768.",
            (
                Choice("trim", "Leave out the 4 oldest turns", "primary"),
                Choice("raise", "Context to 49,152"),
                Choice("quantise", "KV cache to q8_0"),
                Choice("new", "New chat with a summary"),
            ),
        )
    )
    composer = window.chat.composer
    composer.set_attachments(
        (
            AttachmentChip("a", "meeting.txt", 1830),
            AttachmentChip("b", "a-report-with-a-very-long-name-for-2026.pdf", None),
            AttachmentChip("c", "photo.png", None, "Pictures can't be read by this model."),
        )
    )
    composer.set_text("Summarise these.\nKeep it short,\nand name the sources.")
    composer.set_draft_facts(DraftFacts(1842, 1.02))
    composer.edit.setFocus()
    window.show_undo("“Trip notes to bullet list” was deleted.", "c2")


def _search(window: MainWindow) -> None:
    window.sidebar.focus_search()
    window.sidebar._search.setText("cache")
    text = "With grouped-query attention the cache shrinks to a quarter of its size, so that …"
    start = text.index("cache")
    window.sidebar.set_results(
        "cache",
        tuple(
            SearchHit(f"c{n}", f"m{n}", title, text, ((start, 5),))
            for n, (title, _) in enumerate(CHATS[:4])
        ),
    )


def _grab(widget: QWidget, over: QWidget | None = None) -> QPixmap:
    for _ in range(5):
        QCoreApplication.processEvents()
    picture = widget.grab()
    if over is not None:
        painter = QPainter(picture)
        place = over.mapToGlobal(over.rect().topLeft()) - widget.mapToGlobal(
            widget.rect().topLeft()
        )
        painter.drawPixmap(place, over.grab())
        painter.end()
    return picture


def main() -> int:
    """Draw and save."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out")
    parser.add_argument("--light", action="store_true")
    parser.add_argument("--width", type=int, default=1440)
    parser.add_argument("--height", type=int, default=900)
    parser.add_argument("--text-size", type=int, default=100)
    parser.add_argument("--rtl", action="store_true")
    parser.add_argument("--what", default="main")
    given = parser.parse_args()
    app = QApplication(sys.argv[:1])
    if given.rtl:
        app.setLayoutDirection(Qt.LayoutDirection.RightToLeft)
    themes = ThemeManager("light" if given.light else "dark", given.text_size)
    window = example_window(themes)
    window.resize(given.width, given.height)
    window.show()
    over: QWidget | None = None
    shown: dict[str, Callable[[], QWidget | None]] = {
        "main": lambda: None,
        "notices": lambda: _busy(window),
        "search": lambda: _search(window),
        "picker": lambda: (window.open_picker(), window.picker)[1],
        "loading": lambda: window.header.model.set_model(
            HeaderModel("loading", "Llama-3.1-8B-Instruct", progress=0.42)
        ),
        "first-run": lambda: _first_run(window),
        "settings": lambda: _dialog(
            SettingsDialog(themes, {"text_size": 110, "model_folders": ["/home/me/models"]}, window)
        ),
        "load": lambda: _load(themes, window),
        "chat": lambda: _dialog(
            ChatDialog(themes, CHATS[0][0], ChatSettings("Answer in one sentence."), {}, window)
        ),
        "about": lambda: _dialog(
            AboutDialog(
                themes,
                "0.1.0",
                (("Engine", "llama.cpp b6543"), ("Device", "CUDA · RTX 4070 · 12 GiB")),
                window,
            )
        ),
        "keys": lambda: (window.show_keyboard_map(), window.findChild(QWidget, "keyboardMap"))[1],
    }
    over = shown[given.what]()
    _grab(window, over).save(given.out)
    window.close()
    return 0


def _dialog(dialog: QDialog) -> QDialog:
    dialog.show()
    return dialog


def _load(themes: ThemeManager, window: MainWindow) -> QDialog:
    dialog = LoadDialog(
        themes, MODELS[0].name, MODELS[0].key, {"n_ctx": 32768}, window, is_loaded=True
    )
    dialog.set_used({"n_ctx": "32,768", "threads": "7", "flash_attention": "on"})
    row = dialog.form.row("gpu_layers").editor.field()
    assert isinstance(row, QLineEdit)
    row.setText("many")
    row.textEdited.emit("many")
    return _dialog(dialog)


def _first_run(window: MainWindow) -> None:
    window.first_run.set_state(FirstRun(MODELS[2], MODELS, scanning=False))
    window.set_first_run(True)
    window.header.model.set_model(HeaderModel())
    window.header.gauge.set_use(None)


if __name__ == "__main__":
    sys.exit(main())
