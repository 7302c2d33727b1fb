"""A start of the program as a user's, in a process of its own: it prints what it did and when.

Started with the time at which that process was made in `BEGUN`; see `tests.bench.start` for what
is measured. With `OPEN` in the environment all pages and some dialogs are opened in the end.
"""

from __future__ import annotations

import gc
import json
import os
import sys
import time
from typing import Any

__all__ = ["BEGUN", "NO_MODEL", "OPEN"]

BEGUN = "PLIMSOLL_TEST_BEGUN"
NO_MODEL = "PLIMSOLL_TEST_NO_MODEL"  # ends without waiting for a model
OPEN = "PLIMSOLL_TEST_OPEN"


def _main() -> int:
    begun = float(os.environ[BEGUN])
    told: dict[str, Any] = {}

    def now() -> float:
        return time.time() - begun

    gc.disable()
    from PySide6.QtCore import QCoreApplication, QEvent, Qt
    from PySide6.QtGui import QKeyEvent
    from PySide6.QtWidgets import QApplication

    from app import logs
    from app.paths import default_paths
    from app.ui.single_instance import SingleInstance
    from app.ui.start import begin, show_window

    paths = default_paths()
    paths.make()
    logs.set_up(paths.logs)
    app = QApplication(["plimsoll"])
    instance = SingleInstance(paths.data, app)
    instance.hand_over("")
    instance.listen()
    program = show_window(paths, None, *begin(paths))
    told["shown_s"] = now()
    # To the window and not to the composer: the key takes the same way as one of a keyboard.
    handle = program.window.windowHandle()
    for kind in (QEvent.Type.KeyPress, QEvent.Type.KeyRelease):
        key = QKeyEvent(kind, Qt.Key.Key_X, Qt.KeyboardModifier.NoModifier, "x")
        QCoreApplication.postEvent(handle, key)
    composer = program.window.chat.composer
    wanted = {"input_s", "settled_s"} | (set() if os.environ.get(NO_MODEL) else {"model_s"})

    def took(name: str) -> None:
        told[name] = now()
        if wanted <= told.keys():
            told["late_modules"] = _open_everything(program) if os.environ.get(OPEN) else []
            program.window.close()

    def typed() -> None:
        if composer.text() == "x" and "input_s" not in told:
            told["input_cpu_s"] = time.process_time()
            told["modules"] = sorted(sys.modules)
            composer.set_text("")
            took("input_s")

    def settled() -> None:
        told["longest_slice_s"] = program.warm_up.longest_s
        told["collects_by_itself"] = gc.isenabled()
        program.tuning.enabled = False
        here = program.controller.conversation
        told["shown_chat"] = None if here is None else here.id
        took("settled_s")

    composer.draft_changed.connect(typed)
    program.warm_up.finished.connect(settled)
    program.models.model_loaded.connect(lambda _model: took("model_s"))
    app.exec()
    instance.close()
    program.release()
    told["modules_in_all"] = sorted(sys.modules)
    print(json.dumps(told))
    return 0


def _open_everything(program: Any) -> list[str]:
    """Open what a user may open; return the modules of ours that were read only then."""
    before = set(sys.modules)
    window = program.window
    for page in ("models", "compare", "planner", "get_models", "chat"):
        window.show_page(page)
    for action in ("about", "keyboard_map", "settings"):
        window.actions_by_key[action].trigger()
    program.preferences.open_chat_settings()
    program.preferences.open_load_settings("model.gguf")
    ours = ("app.", "inspector.", "gguf_tools.")
    return sorted(name for name in set(sys.modules) - before if name.startswith(ours))


if __name__ == "__main__":
    sys.exit(_main())
