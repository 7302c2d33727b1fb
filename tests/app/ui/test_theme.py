from __future__ import annotations

import re
import sys

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import (
    QColor,
    QFont,
    QFontDatabase,
    QFontInfo,
    QFontMetricsF,
    QImage,
    QPainter,
)
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.ui import theme as theme_module
from app.ui.chart import PLATE_OPACITY
from app.ui.compare.column import MARK_OPACITY
from app.ui.planner.growth_chart import FILL_OPACITY
from app.ui.stylesheet import _SHEET, stylesheet
from app.ui.theme import ThemeManager, ThemeName, contrast_ratio, make_theme

THEMES: tuple[ThemeName, ...] = ("dark", "light")


def test_contrast_of_black_and_white_is_21() -> None:
    assert contrast_ratio(QColor("black"), QColor("white")) == pytest.approx(21)
    assert contrast_ratio(QColor("#777777"), QColor("white")) == pytest.approx(4.48, abs=0.02)


@pytest.mark.parametrize("name", THEMES)
@pytest.mark.parametrize("token", theme_module.TEXT_TOKENS)
def test_text_meets_wcag_aa_on_every_surface(name: ThemeName, token: str) -> None:
    theme = make_theme(name)
    for surface in theme_module.SURFACES:
        ratio = contrast_ratio(theme.colour(token), theme.colour(surface))
        assert ratio >= 4.5, (token, surface, ratio)


@pytest.mark.parametrize("name", THEMES)
@pytest.mark.parametrize(
    ("text", "surface"),
    [
        ("on_accent", "accent_fill"),
        ("on_accent", "accent_fill_hover"),
        ("on_ink", "ink"),
        ("on_ink", "ink_hover"),
        ("ink", "selection"),
        ("ink", "hover"),
        ("dim", "hover"),
        ("ink", "raised_hover"),
        ("ink", "pressed"),
        ("ink", "warning_fill"),
        ("ink", "danger_fill"),
        ("ink", "notice_fill"),
        ("warning", "warning_fill"),
        ("danger", "danger_fill"),
        ("danger", "raised_hover"),
        ("danger", "pressed"),
        ("dim", "raised_hover"),
        ("dim", "pressed"),
        ("faint", "hover"),
        ("good", "hover"),
        ("warning", "hover"),
        ("danger", "hover"),
        ("code_keyword", "well"),
        ("code_function", "well"),
        ("code_number", "well"),
        ("code_string", "well"),
        ("code_type", "well"),
        ("code_comment", "well"),
    ],
)
def test_other_pairs_of_text_and_surface_meet_aa(name: ThemeName, text: str, surface: str) -> None:
    theme = make_theme(name)
    assert contrast_ratio(theme.colour(text), theme.colour(surface)) >= 4.5


@pytest.mark.parametrize("name", THEMES)
def test_every_rule_with_text_and_ground_meets_aa_disabled_ones_too(name: ThemeName) -> None:
    """What is greyed still says something: what a button would do, what a field holds."""
    theme, seen = make_theme(name), 0
    for selector, rule in re.findall(r"([^{}]+)\{((?:\$\{[^}]*\}|[^{}])*)\}", _SHEET):
        text = re.search(r"(?<![\w-])color: \$\{(\w+)\}", rule)
        ground = re.search(r"(?<![\w-])background: \$\{(\w+)\}", rule)
        if text is not None and ground is not None:
            seen += 1
            ratio = contrast_ratio(theme.colour(text[1]), theme.colour(ground[1]))
            assert ratio >= 4.5, (selector.strip(), text[1], ground[1], ratio)
    assert seen > 10


def _laid_over(top: QColor, opacity: float, ground: QColor) -> QColor:
    picture = QImage(1, 1, QImage.Format.Format_RGB32)
    picture.fill(ground)
    painter = QPainter(picture)
    painter.setOpacity(opacity)
    painter.fillRect(0, 0, 1, 1, top)
    painter.end()
    return picture.pixelColor(0, 0)


@pytest.mark.parametrize("name", THEMES)
@pytest.mark.parametrize("part", ["weights", "kv_used", "compute", "free"])
def test_words_over_the_planner_s_colours_meet_aa(name: ThemeName, part: str) -> None:
    colour = make_theme(name).colour
    in_chart = _laid_over(colour(part), FILL_OPACITY, colour("panel"))
    plate = _laid_over(colour("panel"), PLATE_OPACITY, in_chart)
    for text in ("ink", "dim", "danger"):
        assert contrast_ratio(colour(text), plate) >= 4.5, text
    in_bar = _laid_over(colour("panel"), PLATE_OPACITY, colour(part))
    assert contrast_ratio(colour("ink"), in_bar) >= 4.5


@pytest.mark.parametrize("name", THEMES)
def test_words_that_compare_marks_meet_aa(name: ThemeName) -> None:
    colour = make_theme(name).colour
    marked = _laid_over(colour("warning"), MARK_OPACITY, colour("panel"))
    assert contrast_ratio(colour("ink"), marked) >= 4.5


def test_tokens_that_can_be_read_stay_as_designed() -> None:
    dark = make_theme("dark")
    assert dark.css("ink") == "#e8eaee"
    assert dark.css("dim") == "#9aa3b0"
    assert dark.css("panel") == "#1a1d22"
    assert dark.css("weights") == "#4c8dff"


def test_themes_have_the_same_tokens() -> None:
    assert make_theme("dark").tokens.keys() == make_theme("light").tokens.keys()


def test_an_unknown_token_is_an_error() -> None:
    with pytest.raises(KeyError):
        make_theme("dark").colour("mauve")


def test_lengths_and_fonts_grow_with_the_text_size(qapp: QApplication) -> None:
    small, large = make_theme("dark"), make_theme("dark", 2.0)
    assert small.px(44) == 44
    assert large.px(44) == 88
    assert large.text_font.pointSizeF() == pytest.approx(2 * small.text_font.pointSizeF(), abs=0.02)


@pytest.mark.parametrize("name", THEMES)
def test_the_style_sheet_leaves_no_place_unfilled(name: ThemeName) -> None:
    text = stylesheet(make_theme(name), {"check": "/x/check.svg", "chevron-down": "/x/down.svg"})
    assert not re.findall(r"\$\{|@[\d.]", text)
    assert 'url("/x/check.svg")' in text


def test_the_shipped_fonts_are_used(qtbot: QtBot) -> None:
    manager = ThemeManager("dark")
    assert {"Inter", "JetBrains Mono"} <= set(QFontDatabase.families())
    assert QFontInfo(manager.theme.text_font).family() == "Inter"
    assert QFontInfo(manager.theme.code_font).fixedPitch()
    semibold = manager.theme.font(13.5, QFont.Weight.DemiBold)
    assert QFontInfo(semibold).weight() == QFont.Weight.DemiBold


def test_figures_are_tabular(qtbot: QtBot) -> None:
    metrics = QFontMetricsF(ThemeManager("dark").theme.text_font)
    assert metrics.horizontalAdvance("1111") == pytest.approx(metrics.horizontalAdvance("8888"))


def test_a_change_reaches_the_application_and_is_said_once(qtbot: QtBot) -> None:
    manager = ThemeManager("dark")
    said: list[str] = []
    manager.changed.connect(lambda: said.append(manager.theme.name))
    manager.set_mode("light")
    assert said == ["light"]
    app = QApplication.instance()
    assert isinstance(app, QApplication)
    assert app.palette().window().color() == manager.theme.colour("background")
    assert manager.theme.css("panel") in app.styleSheet()
    manager.set_mode("light")
    assert said == ["light"]
    manager.set_text_size(150)
    assert said == ["light", "light"]
    assert app.font().pointSizeF() == pytest.approx(manager.theme.pt(13.5), abs=0.02)


def test_the_system_mode_follows_the_system_live(
    qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    scheme = Qt.ColorScheme.Dark
    hints = QApplication.styleHints()
    monkeypatch.setattr(type(hints), "colorScheme", lambda _self: scheme)
    manager = ThemeManager("system")
    assert manager.theme.is_dark
    scheme = Qt.ColorScheme.Light
    with qtbot.waitSignal(manager.changed):
        hints.colorSchemeChanged.emit(scheme)
    assert manager.theme.name == "light"
    manager.set_mode("dark")
    hints.colorSchemeChanged.emit(scheme)
    assert manager.theme.is_dark


@pytest.mark.parametrize(
    ("points", "scale"), [(10.0, 1.0), (11.0, 1.0), (20.0, 2.0), (-1.0, 1.0), (40.0, 2.0)]
)
def test_a_large_system_font_enlarges_the_window(
    qapp: QApplication, monkeypatch: pytest.MonkeyPatch, points: float, scale: float
) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    font = QFont()
    if points > 0:
        font.setPointSizeF(points)
    else:
        font.setPixelSize(20)
    assert theme_module._system_scale(font) == pytest.approx(scale)


@pytest.mark.parametrize("percent", range(80, 205, 5))
def test_handles_of_sliders_stay_round_at_every_text_size(percent: int) -> None:
    """Qt draws square corners where a radius is more than half of the width."""
    sheet = stylesheet(make_theme("dark", percent / 100))
    rule = re.search(r"QSlider::handle:horizontal \{([^}]*)\}", sheet)
    assert rule is not None
    width, radius = (
        int(found[1])
        for name in ("width", "border-radius")
        if (found := re.search(rf"[ {{]{name}: (\d+)px", rule[1]))
    )
    assert width / 2 - 1.5 <= radius <= width / 2


@pytest.mark.parametrize("name", THEMES)
def test_a_disabled_primary_button_stands_out_no_more_than_another(name: ThemeName) -> None:
    sheet = stylesheet(make_theme(name))
    plain, primary = (
        dict(re.findall(r"([\w-]+): (#\w+);", match[1]))
        for kind in ("", '[kind="primary"]')
        if (match := re.search(rf"QPushButton{re.escape(kind)}:disabled \{{([^}}]*)\}}", sheet))
    )
    assert {"background", "color"} <= plain.keys()
    assert plain.items() <= primary.items()


def test_signs_of_code_are_not_joined() -> None:
    """The end of a turn is read as "<|im_end|>", not with two triangles in it."""
    theme = make_theme("dark")
    calt = QFont.Tag("calt")
    assert theme.code_font.isFeatureSet(calt)
    assert theme.code_font.featureValue(calt) == 0
    assert not theme.text_font.isFeatureSet(calt)
    assert theme.text_font.featureValue(QFont.Tag("tnum")) == 1
