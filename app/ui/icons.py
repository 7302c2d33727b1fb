"""Line icons drawn from the shipped SVG files in a theme's colours.

The files use ``currentColor``, so one file serves both themes and every state. Icons are drawn
at one, two and three pixels a point, so that they are sharp on any screen the window moves to.
"""

from __future__ import annotations

from functools import lru_cache

from PySide6.QtCore import QByteArray, QObject, QRectF, Qt, Slot
from PySide6.QtGui import QGuiApplication, QIcon, QPainter, QPixmap
from PySide6.QtSvg import QSvgRenderer
from PySide6.QtWidgets import QAbstractButton

from app.ui.theme import Theme, ThemeManager, make_theme
from resources.loader import read_bytes, read_text

__all__ = ["IconKeeper", "app_icon", "draw_icon", "icon", "pixmap"]

_RATIOS = (1.0, 2.0, 3.0)


@lru_cache(maxsize=64)
def _source(name: str) -> str:
    """Return a file's text, read once: another theme needs it in other colours."""
    return read_text(f"icons/{name}.svg")


@lru_cache(maxsize=256)
def _renderer(name: str, colour: str) -> QSvgRenderer:
    text = _source(name).replace("currentColor", colour)
    return QSvgRenderer(QByteArray(text.encode("utf-8")))


def draw_icon(painter: QPainter, name: str, colour: str, rect: QRectF) -> None:
    """Draw an icon into a rectangle, keeping its proportions."""
    renderer = _renderer(name, colour)
    size = renderer.defaultSize().toSizeF()
    size.scale(rect.size(), Qt.AspectRatioMode.KeepAspectRatio)
    place = QRectF(0, 0, size.width(), size.height())
    place.moveCenter(rect.center())
    renderer.render(painter, place)


@lru_cache(maxsize=512)
def pixmap(
    name: str, colour: str, width_px: int, height_px: int | None = None, ratio: float = 1.0
) -> QPixmap:
    """Return an icon as a picture of ``width_px`` (logical) for a screen's pixel ratio."""
    height = width_px if height_px is None else height_px
    picture = QPixmap(round(width_px * ratio), round(height * ratio))
    picture.setDevicePixelRatio(ratio)
    picture.fill(Qt.GlobalColor.transparent)
    painter = QPainter(picture)
    draw_icon(painter, name, colour, QRectF(0, 0, width_px, height))
    painter.end()
    return picture


@lru_cache(maxsize=256)
def icon(name: str, theme: Theme, token: str = "dim", size_px: int = 16) -> QIcon:
    """Return an icon in a token's colour, brighter under the pointer, faint when disabled."""
    found = QIcon()
    side = theme.px(size_px)
    hover = "ink" if token == "dim" else token
    for mode, colour in (
        (QIcon.Mode.Normal, token),
        (QIcon.Mode.Active, hover),
        (QIcon.Mode.Disabled, "faint"),
    ):
        for ratio in _RATIOS:
            found.addPixmap(pixmap(name, theme.css(colour), side, ratio=ratio), mode)
    return found


def app_icon() -> QIcon:
    """Return the program's icon in the sizes that systems ask for."""
    renderer = QSvgRenderer(QByteArray(read_bytes("icons/app-icon.svg")))
    found = QIcon()
    for side in (16, 24, 32, 48, 64, 128, 256):
        picture = QPixmap(side, side)
        picture.fill(Qt.GlobalColor.transparent)
        painter = QPainter(picture)
        renderer.render(painter)
        painter.end()
        found.addPixmap(picture)
    return found


def icon_at_end(button: QAbstractButton) -> None:
    """Put a button's icon behind its words, in the reading direction of the program."""
    ends = Qt.LayoutDirection
    to_right = QGuiApplication.layoutDirection() == ends.LeftToRight
    button.setLayoutDirection(ends.RightToLeft if to_right else ends.LeftToRight)


class IconKeeper(QObject):
    """Keeps a button's icon in the theme in force; lives and dies with the button."""

    def __init__(
        self,
        button: QAbstractButton,
        themes: ThemeManager,
        name: str,
        token: str = "dim",
        size_px: int = 16,
    ) -> None:
        super().__init__(button)
        self._button = button
        self._themes = themes
        self._name = name
        self._token = token
        self._size_px = size_px
        themes.changed.connect(self._refresh)
        self._refresh()

    def set_icon(self, name: str, token: str | None = None) -> None:
        """Show another icon."""
        self._name = name
        self._token = token or self._token
        self._refresh()

    def prepare(self) -> None:
        """Draw the icon for the other theme, so that a change of it finds it drawn."""
        theme = self._themes.theme
        other = make_theme("light" if theme.is_dark else "dark", theme.scale, theme.points_per_px)
        icon(self._name, other, self._token, self._size_px)

    @Slot()
    def _refresh(self) -> None:
        theme = self._themes.theme
        side = theme.px(self._size_px)
        self._button.setIcon(icon(self._name, theme, self._token, self._size_px))
        self._button.setIconSize(self._button.iconSize().scaled(side, side, _IGNORE))


_IGNORE = Qt.AspectRatioMode.IgnoreAspectRatio
