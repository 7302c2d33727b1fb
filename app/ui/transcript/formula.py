"""Formulas as pictures: LaTeX to vector drawings by ziamath, off the window's thread, kept.

A formula comes from a model, so everything about it is bounded: its length, its nesting, its
size on the screen. What can't be drawn is shown as its source. ziamath is imported when the first
formula is asked for, in the worker thread, because that takes longer than a frame.
"""

from __future__ import annotations

import logging
import math
import re
import warnings
from collections import OrderedDict
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, Final, Literal, TypeAlias

from PySide6.QtCore import QByteArray, QObject, QRectF, Qt, Signal, Slot
from PySide6.QtGui import QColor, QPainter, QPixmap
from PySide6.QtSvg import QSvgRenderer

from app.ui.transcript.worker import Worker

__all__ = ["Drawing", "FormulaService", "formula_pixmap"]

log = logging.getLogger(__name__)

_MAX_LENGTH: Final = 600
_MAX_DEPTH: Final = 24
_MAX_EM: Final = (200.0, 60.0)
_KEPT: Final = 600
_SIZE: Final = 100.0  # drawn at this em size, in the drawing's own units

Lookup: TypeAlias = "Drawing | Literal['pending', 'failed']"


@dataclass(frozen=True, slots=True)
class Drawing:
    """A formula's drawing; lengths in em (the size of the text it stands in).

    ``ascent`` and ``descent`` are above and below the baseline.
    """

    svg: bytes
    width: float
    ascent: float
    descent: float


def _depth(latex: str) -> int:
    depth = deepest = 0
    for char in latex:
        depth += (char == "{") - (char == "}")
        deepest = max(deepest, depth)
    return deepest


@lru_cache(maxsize=1)
def _library() -> Any:
    """Import ziamath; runs in the worker's thread."""
    with warnings.catch_warnings():
        # Its import reads its font by a function that Python 3.11 and 3.12 call deprecated.
        warnings.simplefilter("ignore", DeprecationWarning)
        import ziamath

    # Plain paths: Qt's SVG renderer need not know symbols then.
    ziamath.config.svg2 = False
    return ziamath


def _draw(latex: str, display: bool) -> Drawing | None:
    """Draw a formula; None when it can't be."""
    try:
        ziamath = _library()
        made = ziamath.Latex(latex, size=_SIZE, inline=not display)
        svg = str(made.svg())
    except (Exception, RecursionError) as error:  # its parser raises whatever goes wrong inside
        log.debug("a formula can't be drawn: %s", type(error).__name__)
        return None
    box = re.search(r'viewBox="([-\d.e]+) ([-\d.e]+) ([-\d.e]+) ([-\d.e]+)"', svg)
    if box is None:
        return None
    _left, top, width, height = (float(value) / _SIZE for value in box.groups())
    sane = all(map(math.isfinite, (top, width, height)))
    if not sane or not 0 < width <= _MAX_EM[0] or not 0 < height <= _MAX_EM[1]:
        return None
    return Drawing(svg.encode(), width, max(-top, 0.0), max(height + top, 0.0))


class FormulaService(QObject):
    """Draws formulas in the background and keeps them.

    Signals:
        ready(latex): a formula that was pending has been drawn, or can't be.
    """

    ready = Signal(str)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._known: OrderedDict[tuple[str, bool], Drawing | None] = OrderedDict()
        self._pending: set[tuple[str, bool]] = set()
        self._worker = Worker("formula", self)
        self._worker.finished.connect(self._on_drawn)

    def lookup(self, latex: str, *, display: bool) -> Lookup:
        """Return a formula's drawing, or say that it is being made or can't be."""
        key = (latex, display)
        if key in self._known:
            self._known.move_to_end(key)
            return self._known[key] or "failed"
        if len(latex) > _MAX_LENGTH or _depth(latex) > _MAX_DEPTH or self._worker.closed:
            return "failed"
        if key not in self._pending:
            self._pending.add(key)
            self._worker.submit(key, partial(_draw, latex, display))
        return "pending"

    @Slot(object, object)
    def _on_drawn(self, key: Any, drawing: Any) -> None:
        self._pending.discard(key)
        self._known[key] = drawing
        while len(self._known) > _KEPT:
            self._known.popitem(last=False)
        self.ready.emit(key[0])

    def close(self) -> None:
        """Stop drawing; waits for the formula that is being drawn."""
        self._worker.close()


@lru_cache(maxsize=256)
def _pixmap(svg: bytes, width: int, height: int, rgb: str, ratio: float) -> QPixmap:
    pixmap = QPixmap(max(round(width * ratio), 1), max(round(height * ratio), 1))
    pixmap.fill(Qt.GlobalColor.transparent)
    painter = QPainter(pixmap)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    QSvgRenderer(QByteArray(svg)).render(painter, QRectF(pixmap.rect()))
    painter.setCompositionMode(QPainter.CompositionMode.CompositionMode_SourceIn)
    painter.fillRect(pixmap.rect(), QColor(rgb))
    painter.end()
    pixmap.setDevicePixelRatio(ratio)
    return pixmap


def formula_pixmap(drawing: Drawing, em_px: float, colour: QColor, ratio: float) -> QPixmap:
    """Return a drawing in one colour, where an em is ``em_px`` logical pixels."""
    width = math.ceil(drawing.width * em_px)
    height = math.ceil((drawing.ascent + drawing.descent) * em_px)
    return _pixmap(drawing.svg, width, height, colour.name(), ratio)
