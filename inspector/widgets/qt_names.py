"""Qt's types made in the window's thread, before a library asks for all of them in another.

PySide6 makes a class when its name is first asked for. The window's thread asks for one whenever an
event of its kind comes, and if another thread is in the middle of making it, the program ends with
a segmentation fault (seen in PySide6 6.11.3, about once in five tries with an event loop that had
much to do). pyqtgraph asks for every name as it is imported.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from types import ModuleType
from typing import Final

__all__ = ["make_types"]

_MODULES: Final = (
    "QtCore", "QtGui", "QtWidgets", "QtSvg", "QtOpenGL", "QtOpenGLWidgets", "QtTest",
)  # fmt: skip


def make_types() -> Iterator[None]:
    """Make every type of the modules that pyqtgraph imports, one from step to step.

    All of it takes 0.16 s; a step takes less than a millisecond, where no large type is new.
    """
    for name in _MODULES:
        module = _module(name)
        if module is None:
            continue
        yield
        for member in dir(module):
            if member not in vars(module):
                getattr(module, member, None)
                yield


def _module(name: str) -> ModuleType | None:
    try:
        return importlib.import_module(f"PySide6.{name}")
    except ImportError:  # not in every build, and pyqtgraph does without
        return None
