"""The place of a plot, empty until the plot library is there.

pyqtgraph takes most of a second to import. It is imported in a thread after the panel was first
shown, so that neither the window's start nor the window's thread waits for it; until then the
slot is a quiet box of the plot's size, so that nothing moves when the plot comes. What it needs of
Qt is made before, a little at a time, in the window's own thread.
"""

from __future__ import annotations

import importlib
import logging
import sys
import time
from collections.abc import Iterator
from typing import Any, Final, Generic, Protocol, TypeVar

from PySide6.QtCore import QObject, Qt, QThreadPool, QTimer, Signal, Slot
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QVBoxLayout, QWidget

from inspector.widgets.palette import Painted, Palette
from inspector.widgets.qt_names import make_types

__all__ = ["PlotLoader", "PlotSlot", "PlotWidget"]

log = logging.getLogger(__name__)

_MODULES: Final = ("inspector.widgets.plots.growth", "inspector.widgets.plots.depth")

_SLICE_S: Final = 0.004
_RADIUS_PX: Final = 6
_WORDS_PX: Final = 11.5

View = TypeVar("View")
View_contra = TypeVar("View_contra", contravariant=True)


class PlotWidget(Protocol[View_contra]):
    """What a slot needs of a plot, which is a widget as well."""

    def set_view(self, view: View_contra) -> None:
        """Draw a view."""
        ...


class PlotLoader(QObject):
    """Imports the plots once, in a thread.

    Signals:
        loaded(): the plots' modules can be used.
        failed(): they can't be imported, so there will be no plots.
    """

    loaded = Signal()
    failed = Signal()
    _imported = Signal(bool)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._started = False
        self.has_failed = False
        self._types: Iterator[None] = iter(())
        self._timer = QTimer(self)
        self._timer.setInterval(0)
        self._timer.timeout.connect(self._make_types)
        self._imported.connect(self._on_imported)

    @property
    def is_loaded(self) -> bool:
        """Tell whether the modules are there."""
        return all(name in sys.modules for name in _MODULES)

    def start(self) -> None:
        """Import after the events that are waiting now; further calls do nothing."""
        if not self._started:
            self._started = True
            QTimer.singleShot(0, self, self._begin)

    @Slot()
    def _begin(self) -> None:
        if not self.is_loaded:
            self._types = make_types()
        self._timer.start()

    @Slot()
    def _make_types(self) -> None:
        end_s = time.perf_counter() + _SLICE_S
        for _ in self._types:
            if time.perf_counter() > end_s:
                return
        self._timer.stop()
        QThreadPool.globalInstance().start(self._import)

    def _import(self) -> None:
        try:
            for name in _MODULES:
                importlib.import_module(name)
        except ImportError:
            log.exception("the plots can't be drawn")
            self._say(False)
        else:
            self._say(True)

    def _say(self, is_there: bool) -> None:
        try:
            self._imported.emit(is_there)
        except RuntimeError:
            log.debug("the panel was closed before its plots were there")

    @Slot(bool)
    def _on_imported(self, is_there: bool) -> None:
        if is_there:
            self.loaded.emit()
        else:
            self.has_failed = True
            self.failed.emit()


class PlotSlot(Painted, Generic[View]):
    """Holds a plot of ``height_px`` (design pixels), made by ``module``'s ``Plot`` when it can be.

    The last view given before is drawn then.
    """

    def __init__(
        self,
        palette: Palette,
        loader: PlotLoader,
        module: str,
        height_px: float,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(palette, parent)
        self._module = module
        self._loader = loader
        self._height_px = height_px
        self._view: View | None = None
        self.plot: Any = None
        self._rows = QVBoxLayout(self)
        self._rows.setContentsMargins(0, 0, 0, 0)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self._fix_height()
        if loader.is_loaded:
            self._make()
        else:
            loader.loaded.connect(self._make)
            loader.failed.connect(self.update)

    def set_view(self, view: View) -> None:
        """Draw a view, now or when the plot is there."""
        self._view = view
        if self.plot is not None:
            self.plot.set_view(view)

    @Slot()
    def _make(self) -> None:
        if self.plot is not None:
            return
        self.plot = importlib.import_module(self._module).Plot(self._palette, self)
        self._rows.addWidget(self.plot)
        if self._view is not None:
            self.plot.set_view(self._view)

    @property
    def words(self) -> str:
        """What stands in the plot's place, empty once it is there."""
        if self.plot is not None:
            return ""
        if self._loader.has_failed:
            return self.tr("The chart can't be drawn")
        return self.tr("The chart comes in a moment")

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Draw a quiet box with words until the plot stands there."""
        if self.plot is not None:
            return
        theme = self.theme
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(theme.colour("well"))
        radius = theme.px(_RADIUS_PX)
        painter.drawRoundedRect(self.rect(), radius, radius)
        painter.setPen(theme.colour("faint"))
        painter.setFont(theme.font(_WORDS_PX))
        painter.drawText(self.rect(), Qt.AlignmentFlag.AlignCenter, self.words)

    def _fix_height(self) -> None:
        self.setFixedHeight(self.theme.px(self._height_px))

    @Slot()
    def _on_theme_changed(self) -> None:
        super()._on_theme_changed()
        self._fix_height()
