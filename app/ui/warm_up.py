"""What is done between events once the window stands, a little at a time.

Importing is most of it, and one import may take hundreds of milliseconds with all that it imports
in turn. So our modules are imported one by one, those first that import nothing, on the window's
own thread: another thread would have to share Python's lock with it anyhow, and two threads that
import parts of one package can wait for each other. Large libraries, which can't be taken apart
so, are imported in a thread, while nothing of ours is.
"""

from __future__ import annotations

import contextlib
import importlib
import sys
import time
from collections.abc import Callable, Iterator
from importlib.machinery import ModuleSpec
from typing import Any, Final, TypeAlias

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from app.ui import tasks

__all__ = ["Step", "WarmUp", "imports", "library"]

# A step that returns a function is not over yet: that function runs in a thread, then comes the
# next step.
Step: TypeAlias = Callable[[], object]

_SLICE_S: Final = 0.008
_OURS: Final = frozenset({"app", "inspector", "gguf_tools", "resources"})


class WarmUp(QObject):
    """Does steps in the order given, as many at a time as fit into a slice of a frame.

    Signals:
        finished(): all steps are done.

    Attributes:
        longest_s: the longest time in which the window heard nothing.
    """

    finished = Signal()

    def __init__(
        self,
        steps: Iterator[Step],
        parent: QObject | None = None,
        *,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        super().__init__(parent)
        self._steps = steps
        self._clock = clock
        self.longest_s = 0.0
        self._is_stopped = True
        self._task: tasks.Task[object] | None = None
        self._timer = QTimer(self)
        self._timer.setInterval(0)
        self._timer.timeout.connect(self._go_on)

    @property
    def is_running(self) -> bool:
        """Tell whether steps are left to be done."""
        return not self._is_stopped

    def start(self) -> None:
        """Begin with the next turn of the event loop."""
        self._is_stopped = False
        self._timer.start()

    def stop(self) -> None:
        """Do nothing more."""
        self._is_stopped = True
        self._timer.stop()
        if self._task is not None:
            self._task.cancel()

    @Slot()
    def _go_on(self) -> None:
        begun = self._clock()
        for step in self._steps:
            work = step()
            if callable(work):
                self._timer.stop()
                self._task = tasks.run(work, self._on_work_done, None, self)
                break
            # A step may have ended the program, which stops this.
            if self._is_stopped or self._clock() - begun >= _SLICE_S:
                break
        else:
            self.stop()
            self.finished.emit()
        self.longest_s = max(self.longest_s, self._clock() - begun)

    def _on_work_done(self, _result: object) -> None:
        self._timer.start()


def library(name: str) -> Step:
    """Return a step that imports a library in a thread; one that is not there is left out."""

    def work() -> None:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)

    return lambda: None if name in sys.modules else work


def imports(*names: str) -> Iterator[Step]:
    """Yield imports that together import modules of ours, each of them one module if it can.

    A module's own imports come before it. They are read from its code: a name with a dot in it
    among the names that a module's top level uses is one that it imports. What other packages
    import is not looked into.
    """
    seen: set[str] = set()
    for name in names:
        yield from _walk(name, seen)


def _walk(name: str, seen: set[str]) -> Iterator[Step]:
    if name in seen or name in sys.modules or name.partition(".")[0] not in _OURS:
        return
    seen.add(name)
    spec = _spec(name)
    if spec is None:
        return
    for needed in _imported_by(name, spec):
        yield from _walk(needed, seen)
    if name not in sys.modules:
        yield lambda: importlib.import_module(name)


def _spec(name: str) -> ModuleSpec | None:
    """Return where a module lies without importing the package that it is in."""
    parent = name.rpartition(".")[0]
    path: Any = None
    if parent in sys.modules:
        path = getattr(sys.modules[parent], "__path__", None)
    elif parent:
        package = _spec(parent)
        path = None if package is None else package.submodule_search_locations
    if parent and path is None:
        return None
    for finder in sys.meta_path:
        spec = finder.find_spec(name, path)
        if spec is not None:
            return spec
    return None


def _imported_by(name: str, spec: ModuleSpec) -> list[str]:
    get_code = getattr(spec.loader, "get_code", None)
    code = None if get_code is None else get_code(name)
    return [] if code is None else [used for used in code.co_names if "." in used]
