"""Colours, fonts and sizes by meaning, for both themes, and the one place that changes them.

Widgets ask a `Theme` for tokens ("panel", "faint") and never hold a colour of their own, so that
a change of the system's colour scheme or of the text size reaches every widget by one signal.
Tokens that carry text are nudged until they meet WCAG AA (4.5 : 1) on every surface they may lie
on: the token file says the hue, the theme guarantees that it can be read.
"""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final, Literal, TypeAlias, cast

from PySide6.QtCore import QObject, Qt, Signal, Slot
from PySide6.QtGui import QColor, QFont, QFontDatabase, QGuiApplication, QPalette
from PySide6.QtWidgets import QApplication, QStyleFactory

from app.ui.rehearsal import Rehearsal
from app.ui.restyle import Restyler, mark_windows
from app.ui.stylesheet import stylesheet
from resources.loader import read_bytes, read_text, resource_path

__all__ = ["Mode", "Theme", "ThemeManager", "contrast_ratio", "make_theme"]

log = logging.getLogger(__name__)

Mode: TypeAlias = Literal["system", "dark", "light"]
ThemeName: TypeAlias = Literal["dark", "light"]

SURFACES: Final = ("background", "panel", "raised", "well")
TEXT_TOKENS: Final = ("ink", "dim", "faint", "accent", "warning", "danger", "good")
_AA: Final = 4.5

# Tokens whose text also lies on a tint of itself, and how that tint is called.
_FILLS: Final = {"warning": "warning", "danger": "danger", "good": "good", "accent": "notice"}

_FONT_FILES: Final = (
    "Inter-Regular.otf",
    "Inter-Italic.otf",
    "Inter-Medium.otf",
    "Inter-SemiBold.otf",
    "Inter-Bold.otf",
    "JetBrainsMono-Regular.ttf",
    "JetBrainsMono-Italic.ttf",
    "JetBrainsMono-Bold.ttf",
)

# The accent as a fill below white text: as near to the accent as white can be read on.
_ACCENT_FILL: Final[Mapping[ThemeName, str]] = {"dark": "#3171e6", "light": "#1f5fd6"}

# Highlighted code has its own hues; they are lifted against the well like any other text.
_CODE: Final[Mapping[ThemeName, Mapping[str, str]]] = {
    "dark": {
        "code_keyword": "#c792ea",
        "code_function": "#82aaff",
        "code_number": "#f78c6c",
        "code_string": "#9bd47f",
        "code_type": "#f2c777",
    },
    "light": {
        "code_keyword": "#8a3fc0",
        "code_function": "#1f5fd6",
        "code_number": "#b4450f",
        "code_string": "#1d7a3c",
        "code_type": "#8a5a00",
    },
}


def _luminance(colour: QColor) -> float:
    def linear(value: float) -> float:
        return value / 12.92 if value <= 0.04045 else float(((value + 0.055) / 1.055) ** 2.4)

    red, green, blue = colour.redF(), colour.greenF(), colour.blueF()
    return 0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue)


def contrast_ratio(one: QColor, other: QColor) -> float:
    """Return the WCAG 2 contrast ratio of two opaque colours, 1 to 21."""
    low, high = sorted((_luminance(one), _luminance(other)))
    return (high + 0.05) / (low + 0.05)


def _mix(one: QColor, other: QColor, share: float) -> QColor:
    """Return ``one`` with ``share`` (0 to 1) of ``other``."""
    return QColor.fromRgbF(
        one.redF() + (other.redF() - one.redF()) * share,
        one.greenF() + (other.greenF() - one.greenF()) * share,
        one.blueF() + (other.blueF() - one.blueF()) * share,
    )


def _readable(colour: QColor, surfaces: list[QColor], toward_lightness: float) -> QColor:
    """Return the nearest colour of the same hue that has AA contrast on all surfaces."""
    hue, saturation, lightness, _ = cast("tuple[float, ...]", colour.getHslF())
    for step in range(101):
        moved = lightness + (toward_lightness - lightness) * step / 100
        # Rounded to the 8 bits a channel that are drawn, so that what is checked is what is seen.
        found = QColor(QColor.fromHslF(max(hue, 0.0), saturation, moved).rgb())
        if all(contrast_ratio(found, surface) >= _AA for surface in surfaces):
            return found
    return found


def _tokens(name: ThemeName, base: Mapping[str, str]) -> dict[str, QColor]:
    """Return the tokens of the file with those that follow from them."""
    tokens = {token: QColor(value) for token, value in base.items()}
    dark = name == "dark"
    ink, raised, panel = tokens["ink"], tokens["raised"], tokens["panel"]
    white, black = QColor("#ffffff"), QColor("#000000")
    tokens["good"] = QColor(tokens["free"])
    for token, stem in _FILLS.items():
        tokens[f"{stem}_fill"] = _mix(panel if dark else raised, tokens[token], 0.08)
        tokens[f"{stem}_line"] = _mix(panel, tokens[token], 0.4)
    surfaces = [tokens[surface] for surface in SURFACES]
    toward = 1.0 if dark else 0.0
    for token in TEXT_TOKENS:
        own_fill = [tokens[f"{_FILLS[token]}_fill"]] if token in _FILLS else []
        # Its text also stands on a button, below the pointer and pressed.
        button = [_mix(raised, ink, 0.06), _mix(raised, ink, 0.1)] if token == "danger" else []
        tokens[token] = _readable(tokens[token], surfaces + own_fill + button, toward)
    for token, value in _CODE[name].items():
        tokens[token] = _readable(QColor(value), [tokens["well"]], toward)
    tokens["code_comment"] = tokens["faint"]

    tokens["on_accent"] = white
    tokens["accent_fill"] = QColor(_ACCENT_FILL[name])
    tokens["accent_fill_hover"] = _mix(tokens["accent_fill"], black, 0.1)
    tokens["on_ink"] = black if dark else white
    tokens["ink_hover"] = _mix(ink, tokens["background"], 0.14)
    tokens["hover"] = _mix(panel, ink, 0.045)
    tokens["raised_hover"] = _mix(raised, ink, 0.06)
    tokens["pressed"] = _mix(raised, ink, 0.1)
    tokens["line_strong"] = _mix(tokens["line"], ink, 0.18)
    tokens["selection"] = _mix(raised, tokens["accent"], 0.32)
    return tokens


@lru_cache(maxsize=1)
def _file() -> dict[str, dict[str, str]]:
    data = cast("dict[str, dict[str, str]]", json.loads(read_text("theme.json")))
    return {name: data[name] for name in ("dark", "light")}


@lru_cache(maxsize=2)
def _all_tokens(name: ThemeName) -> Mapping[str, QColor]:
    return _tokens(name, _file()[name])


@lru_cache(maxsize=256)
def _font(points: float, weight: QFont.Weight, *, code: bool) -> QFont:
    """Return a font, made once: widgets ask for theirs at every paint and every layout."""
    font = QFont("JetBrains Mono" if code else "Inter")
    font.setStyleHint(QFont.StyleHint.Monospace if code else QFont.StyleHint.SansSerif)
    font.setPointSizeF(points)
    font.setWeight(weight)
    font.setHintingPreference(QFont.HintingPreference.PreferVerticalHinting)
    # Figures of equal width, so that rows don't tremble; code has no joined signs ("<|im_end|>").
    font.setFeature(QFont.Tag("calt" if code else "tnum"), 0 if code else 1)
    return font


@dataclass(frozen=True, slots=True)
class Theme:
    """A theme at a text size: immutable, so a paint or a stylesheet sees one state.

    ``scale`` is the share by which text and what holds it are enlarged (1.0 = as designed);
    ``points_per_px`` turns design pixels into font points, which unlike a font's pixel size may
    be fractional.
    """

    name: ThemeName
    scale: float = 1.0
    points_per_px: float = 0.75
    tokens: Mapping[str, QColor] = field(default_factory=dict, repr=False, compare=False)

    @property
    def is_dark(self) -> bool:
        """Tell whether this is the dark theme."""
        return self.name == "dark"

    def colour(self, token: str) -> QColor:
        """Return a token's colour.

        Raises:
            KeyError: there is no such token.
        """
        return QColor(self.tokens[token])

    def css(self, token: str) -> str:
        """Return a token's colour as ``#rrggbb``."""
        return self.tokens[token].name()

    def px(self, value: float) -> int:
        """Return a length of the design in logical pixels at this text size."""
        return round(value * self.scale)

    def pt(self, value: float) -> float:
        """Return a font size of the design (pixels) in points at this text size."""
        return round(value * self.scale * self.points_per_px, 2)

    def font(
        self,
        size_px: float = 13.5,
        weight: QFont.Weight = QFont.Weight.Normal,
        *,
        code: bool = False,
    ) -> QFont:
        """Return a font of a design size (pixels), with tabular figures."""
        return QFont(_font(self.pt(size_px), weight, code=code))

    @property
    def text_font(self) -> QFont:
        """Font of ordinary text."""
        return self.font()

    @property
    def code_font(self) -> QFont:
        """Font of code."""
        return self.font(12.5, code=True)

    def palette(self) -> QPalette:
        """Return the palette for what Qt draws by itself."""
        palette, disabled = QPalette(), QPalette.ColorGroup.Disabled
        roles = {
            QPalette.ColorRole.Window: "background",
            QPalette.ColorRole.WindowText: "ink",
            QPalette.ColorRole.Base: "background",
            QPalette.ColorRole.AlternateBase: "panel",
            QPalette.ColorRole.Text: "ink",
            QPalette.ColorRole.Button: "raised",
            QPalette.ColorRole.ButtonText: "ink",
            QPalette.ColorRole.BrightText: "danger",
            QPalette.ColorRole.Highlight: "selection",
            QPalette.ColorRole.HighlightedText: "ink",
            QPalette.ColorRole.ToolTipBase: "raised",
            QPalette.ColorRole.ToolTipText: "ink",
            QPalette.ColorRole.PlaceholderText: "faint",
            QPalette.ColorRole.Link: "accent",
            QPalette.ColorRole.LinkVisited: "accent",
            QPalette.ColorRole.Accent: "accent",
            QPalette.ColorRole.Light: "raised",
            QPalette.ColorRole.Midlight: "raised",
            QPalette.ColorRole.Mid: "line",
            QPalette.ColorRole.Dark: "line",
            QPalette.ColorRole.Shadow: "well",
        }
        for role, token in roles.items():
            palette.setColor(role, self.colour(token))
        all_text = (QPalette.ColorRole.WindowText, QPalette.ColorRole.Text)
        for role in (*all_text, QPalette.ColorRole.ButtonText):
            palette.setColor(disabled, role, self.colour("faint"))
        return palette


def make_theme(name: ThemeName, scale: float = 1.0, points_per_px: float = 0.75) -> Theme:
    """Return a theme; needs no application, so pure drawing code can be tested with it."""
    return Theme(name, scale, points_per_px, _all_tokens(name))


@lru_cache(maxsize=1)
def _marks() -> dict[str, str]:
    """Return the files of the marks that a style sheet can only name by address.

    They have one colour that fits both themes.
    """
    return {
        name: resource_path(f"icons/mark-{name}.svg").as_posix()
        for name in ("chevron-down", "check")
    }


@lru_cache(maxsize=4)
def _sheet(theme: Theme) -> str:
    return stylesheet(theme, _marks())


@lru_cache(maxsize=1)
def _load_fonts() -> None:
    """Register the shipped fonts, once in the life of the program."""
    for name in _FONT_FILES:
        if QFontDatabase.addApplicationFontFromData(read_bytes(f"fonts/{name}")) < 0:
            log.warning("the font %s can't be used; a system font stands in", name)


def _system_scale(font: QFont) -> float:
    """Return how much larger than usual the user's system font is.

    Within an eighth of the platform's usual size the design's own sizes hold, so that windows
    look alike everywhere; beyond that the user has asked for larger (or smaller) text.
    """
    usual_points = {"win32": 9.0, "darwin": 13.0}.get(sys.platform, 10.0)
    points = font.pointSizeF()
    if points <= 0:
        return 1.0
    scale = points / usual_points
    return 1.0 if abs(scale - 1.0) <= 0.125 else min(max(scale, 0.75), 2.0)


class ThemeManager(QObject):
    """Holds the theme in force and lays it on the application.

    Signals:
        changed(): the theme is another one; read `theme` again.
    """

    changed = Signal()

    def __init__(
        self, mode: Mode = "system", text_size_percent: int = 100, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        app = QApplication.instance()
        if not isinstance(app, QApplication):
            raise RuntimeError("make the QApplication before the theme")
        self._app = app
        self._restyler = Restyler(app, self)
        self._rehearsal = Rehearsal(self)
        _load_fonts()
        self._system_scale = _system_scale(
            QFontDatabase.systemFont(QFontDatabase.SystemFont.GeneralFont)
        )
        self._mode: Mode = mode
        self._percent = text_size_percent
        screen = QGuiApplication.primaryScreen()
        self._points_per_px = 72.0 / screen.logicalDotsPerInchY() if screen else 0.75
        app.setStyle(QStyleFactory.create("Fusion"))
        self._request_scheme()
        self._theme = self._wanted()
        self._lay_on()
        app.styleHints().colorSchemeChanged.connect(self._on_scheme_changed)

    @property
    def theme(self) -> Theme:
        """The theme in force."""
        return self._theme

    @property
    def mode(self) -> Mode:
        """What was asked for."""
        return self._mode

    @property
    def text_size_percent(self) -> int:
        """Size of text as a share of the system's, in percent."""
        return self._percent

    @property
    def is_laying_on(self) -> bool:
        """Tell whether anything waits for the theme in force: the screen, or what is hidden."""
        return self._restyler.is_running or self._rehearsal.is_running

    def set_mode(self, mode: Mode) -> None:
        """Follow the system, or keep to one theme."""
        self._mode = mode
        self._request_scheme()
        self._update()

    def set_text_size(self, percent: int) -> None:
        """Set the size of text, as a share of the system's."""
        self._percent = percent
        self._update()

    def _request_scheme(self) -> None:
        # The platform draws title bars and native dialogs in the scheme that is asked for here.
        schemes = {"dark": Qt.ColorScheme.Dark, "light": Qt.ColorScheme.Light}
        self._app.styleHints().setColorScheme(schemes.get(self._mode, Qt.ColorScheme.Unknown))

    def _wanted(self) -> Theme:
        if self._mode == "system":
            light = self._app.styleHints().colorScheme() == Qt.ColorScheme.Light
            name: ThemeName = "light" if light else "dark"
        else:
            name = self._mode
        return make_theme(name, self._system_scale * self._percent / 100, self._points_per_px)

    @Slot()
    def _on_scheme_changed(self) -> None:
        self._update()

    def _update(self) -> None:
        wanted = self._wanted()
        if wanted == self._theme:
            return
        self._theme = wanted
        self._lay_on()
        self.changed.emit()
        self._rehearsal.begin()

    def _lay_on(self) -> None:
        mark_windows()
        self._app.setFont(self._theme.text_font)
        self._app.setPalette(self._theme.palette())
        self._restyler.lay_on(_sheet(self._theme))
