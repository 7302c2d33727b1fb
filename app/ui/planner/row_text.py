"""Words of a planner's row: wrapped where a column is narrow, since what is cut is not said."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from PySide6.QtCore import QCoreApplication, Qt
from PySide6.QtGui import QFont, QFontMetricsF

from app.ui.elide import fitting
from app.ui.planner.columns import Column
from app.ui.planner.views import CellKey, RowView
from app.ui.theme import Theme

__all__ = ["Block", "Line", "block", "left_out", "wrapped"]

_TITLE_PX: Final = 13.5
_SUB_PX: Final = 12
_UNIT: Final = re.compile(r"(?<=\d) (?=(?:[KMGT]?i?B|[KMGT]?B/s|tok/s|FLOP/B)\b)")
_NO_BREAK: Final = "\N{NO-BREAK SPACE}"


@dataclass(frozen=True, slots=True)
class Line:
    """A line of text, its font, and the token of its colour."""

    text: str
    font: QFont
    token: str

    @property
    def height(self) -> float:
        """Return its height in pixels."""
        return QFontMetricsF(self.font).height()


@dataclass(frozen=True, slots=True)
class Block:
    """Lines one below the other."""

    lines: tuple[Line, ...]

    @property
    def height(self) -> float:
        """Return the height of all lines in pixels."""
        return sum(line.height for line in self.lines)


def wrapped(metrics: QFontMetricsF, text: str, width: float) -> list[str]:
    """Return a text in lines; only a word that is wider than a line is shortened."""
    joined = _UNIT.sub(_NO_BREAK, text.replace(" · ", f"{_NO_BREAK}· "))
    lines: list[str] = []
    for word in joined.split(" "):
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and metrics.horizontalAdvance(longer) > width:
            lines.append(word)
        else:
            lines[-1:] = [longer]
    right = Qt.TextElideMode.ElideRight
    return [
        metrics.elidedText(line.removesuffix(f"{_NO_BREAK}·"), right, width)
        if number < len(lines) - 1
        else metrics.elidedText(line, right, width)
        for number, line in enumerate(lines)
    ]


def block(
    theme: Theme,
    text: str,
    sub: str,
    *,
    width: float,
    first: float,
    weight: QFont.Weight,
    token: str,
    is_figure: bool,
) -> Block:
    """Return a cell's words with fainter ones below.

    Args:
        theme: of fonts.
        text: what the cell says.
        sub: what is below it.
        width: of the cell in pixels.
        first: of its first line, where something else needs room.
        weight: of the text.
        token: of the text's colour.
        is_figure: drawn smaller rather than wrapped: a figure that is cut is another figure.
    """
    upper, lower = theme.font(_TITLE_PX, weight), theme.font(_SUB_PX)
    lines = []
    for words, font, colour, room in ((text, upper, token, first), (sub, lower, "faint", width)):
        if not words:
            continue
        if is_figure:
            drawn, metrics = fitting(font, words, room)
            shown = [metrics.elidedText(words, Qt.TextElideMode.ElideRight, room)]
        else:
            drawn, shown = font, wrapped(QFontMetricsF(font), words, room)
        lines += [Line(line, drawn, colour) for line in shown]
    return Block(tuple(lines))


def left_out(view: RowView, columns: Iterable[Column]) -> str:
    """Return what columns without room say of a row, with their names."""
    return " · ".join(
        f"{_name(column.key)} {view.texts[column.key]}"
        + (f" ({view.subs[column.key]})" if view.subs.get(column.key) else "")
        for column in columns
        if column.width == 0 and view.texts.get(column.key)
    )


def _name(key: CellKey) -> str:
    names = {"context": "max context", "users": "users", "ceiling": "ceiling"}
    return QCoreApplication.translate("MachineRow", names.get(key, key))
