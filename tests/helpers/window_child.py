"""The window that `window_process` drives: orders come on stdin, a JSON object a line.

It tells each change of its engine's state, how many characters of a reply are on screen, what it
was told to do and has done (``did``), and at each ``look`` what it shows.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

__all__ = ["main"]


def _say(**values: Any) -> None:
    print(json.dumps(values), flush=True)


class _Window:
    """A program and what is done to it. Made after the `QApplication`."""

    def __init__(self, model: str | None) -> None:
        from app.paths import default_paths
        from app.ui.application import Application

        self._listens = False  # to what becomes of variants
        self._paths = default_paths()
        self._paths.make()
        self.program = program = Application(self._paths, model)
        program.tuning.enabled = False  # what is measured once a machine is no part of this
        program.engine.state_changed.connect(
            lambda state: _say(status=state.status, pid=state.pid, sentence=state.sentence)
        )
        program.controller.runner.text_arrived.connect(self._text_arrived)
        program.window.show()

    def _text_arrived(self, *_values: object) -> None:
        live = self.program.controller.runner.live
        if live is not None:
            _say(shown=len(live.text))

    # --- what it shows

    def look(self) -> None:
        """Tell what is on screen, and what there is besides."""
        program = self.program
        notices = program.window.chat.notices
        _say(
            path=[
                {"id": item.id, "role": item.role, "text": item.text, "state": item.state}
                for item in program.controller.path
            ],
            notices={key: notices.bar(key).text for key in notices.notices()},
            chats=[chat.id for chat in program.chats.conversations],
            running=program.controller.runner.is_running,
            draft=program.window.chat.composer.text(),
            files=[item.name for item in program.chat.attachments],
            theme=program.settings.get("theme"),
            width=program.settings.get("transcript_width"),
            **self._look_at_pages(),
        )  # fmt: skip

    def _look_at_pages(self) -> dict[str, Any]:
        """Return what there is on pages that were opened: a look makes none."""
        from app.ui.later import is_made

        program = self.program
        shown: dict[str, Any] = {
            "downloads": [], "listed": [], "making": False, "comparing": False, "compared": [],
            "compare_says": "",
        }  # fmt: skip
        if is_made(program, "downloads"):
            listing = program.downloads.lookups.listing
            shown["listed"] = [] if listing is None else [item.key for item in listing.variants]
            shown["downloads"] = [
                {"state": item.state, "done_bytes": item.done_bytes, "said": item.sentence}
                for item in program.downloads.queue.downloads
            ]
        if is_made(program, "variants"):
            shown["making"] = program.variants.dialog is not None
        if is_made(program, "compare"):
            record = program.compare.record
            shown["comparing"] = program.compare.is_running
            shown["compared"] = [] if record is None else [item.status for item in record.variants]
            shown["compare_says"] = program.compare.page.said()
        return shown

    # --- what it does

    def obey(self, order: dict[str, Any]) -> None:
        """Do one thing."""
        program = self.program
        match order["do"]:
            case "look":
                # What the store was handed before comes first, and so do its answers.
                program.store.do(
                    lambda _store: None, lambda _: self.look(), lambda _error: self.look()
                )
            case "send":
                if order["new_chat"]:
                    program.chats.new_chat()
                program.window.chat.composer.set_text(order["text"])
                program.window.chat.composer.send_requested.emit(order["text"])
            case "stop":
                program.controller.stop()
            case "open":
                program.chats.open(order["chat"])
            case "new chat":
                program.chats.new_chat()
            case "type":
                program.window.chat.composer.set_text(order["text"])
            case "attach":
                program.window.chat.composer.files_added.emit(order["paths"])
            case "load":
                program.models.load(order["path"])
            case "retry":
                program.window.chat.notices.chosen.emit("store", "retry")
            case "set":
                program.preferences.set_value(order["key"], order["value"])
            case "change settings":
                self._change_settings(order["first"], order["count"])
            case "clock":
                _set_clock(order["ahead_s"])
            case "close":
                program.window.close()
            case _:
                self._obey_at_length(order)

    def _obey_at_length(self, order: dict[str, Any]) -> None:
        """Begin what takes longer."""
        program = self.program
        match order["do"]:
            case "repository":
                program.downloads.show_page()
                program.downloads.open_repository(order["name"])
            case "download":
                program.downloads.download(order["key"])
            case "downloads":
                program.downloads.show_page()
            case "resume":
                (item,) = program.downloads.queue.downloads
                program.downloads.queue.resume(item.job.id)
            case "quantise":
                if not self._listens:
                    self._listens = True
                    program.variants.told.connect(self._variant_told)
                program.variants.open(order["source"], "Tiny", program.window)
                dialog = program.variants.dialog
                assert dialog is not None
                dialog.start_requested.emit(order["kind"], order["target"], "", True)
                dialog.hide()
            case "choose":
                program.compare.set_options(order["options"])
                program.compare.choose(order["paths"])
            case "compare":
                program.compare.start(order["prompt"])
            case _:
                raise ValueError(f"no such order: {order}")

    def _variant_told(self, sentence: str, _severity: str) -> None:
        _say(did=["variant", sentence])

    def _change_settings(self, first: int, count: int) -> None:
        """Write settings and state again and again, with the window's own loop between."""
        from PySide6.QtCore import QTimer

        def step(number: int) -> None:
            self.program.preferences.set_value("transcript_width", number)
            self.program.state.set_blob("counted", str(number).encode())
            _say(did=number)
            if number < first + count:
                QTimer.singleShot(0, self.program, lambda: step(number + 1))

        step(first)


def main(arguments: Sequence[str]) -> NoReturn:
    """Open a window, with a model if one is named, and follow orders until it is closed."""
    code = 70
    try:
        code = _run(arguments[0] if arguments else None)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        # The thread that reads orders holds stdin; an orderly end would wait for it.
        os._exit(code)


def _run(model: str | None) -> int:
    from PySide6.QtCore import QObject, Signal
    from PySide6.QtWidgets import QApplication

    class Orders(QObject):
        came = Signal(object)

        def read(self) -> None:
            with os.fdopen(0, closefd=False) as lines:
                for line in lines:
                    self.came.emit(json.loads(line))
            os._exit(0)  # whoever gave orders is gone

    app = QApplication(["plimsoll"])
    window = _Window(model)
    orders = Orders()
    orders.came.connect(window.obey)
    threading.Thread(target=orders.read, daemon=True).start()
    code = app.exec()
    window.program.release()
    return code


_true_time, _true_time_ns = time.time, time.time_ns


def _set_clock(ahead_s: float) -> None:
    """Let the window's wall clock jump, as a wrong battery or a time server's answer does."""
    time.time = lambda: _true_time() + ahead_s
    time.time_ns = lambda: _true_time_ns() + int(ahead_s * 1e9)


if __name__ == "__main__":
    main([str(Path(argument)) for argument in sys.argv[1:]])
