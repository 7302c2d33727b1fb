from __future__ import annotations

import os
import subprocess
import sys
from shutil import which

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QGuiApplication
from pytestqt.qtbot import QtBot

from app.ui import popup
from app.ui.popup import Popup, blends_windows
from app.ui.theme import ThemeManager

pytestmark = pytest.mark.qt_log_ignore("This plugin does not support", extend=True)

TRANSLUCENT = Qt.WidgetAttribute.WA_TranslucentBackground


def test_windows_of_other_platforms_are_blended(themes: ThemeManager) -> None:
    assert QGuiApplication.platformName() == "offscreen"
    assert blends_windows()


def test_a_blended_popup_is_seen_through_at_its_corners(qtbot: QtBot, themes: ThemeManager) -> None:
    shown = Popup(themes)
    qtbot.addWidget(shown)
    shown.resize(300, 200)
    shown.show()
    assert shown.testAttribute(TRANSLUCENT)
    assert shown.mask().isEmpty()


def test_without_blending_corners_are_cut_off(
    qtbot: QtBot, themes: ThemeManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(popup, "blends_windows", lambda: False)
    shown = Popup(themes)
    qtbot.addWidget(shown)
    shown.resize(300, 200)
    shown.show()
    assert not shown.testAttribute(TRANSLUCENT)
    for x, y in ((0, 0), (299, 0), (0, 199), (299, 199)):
        assert not shown.mask().contains(QPoint(x, y))
    for x, y in ((150, 0), (0, 100), (299, 100), (150, 199), (5, 5)):
        assert shown.mask().contains(QPoint(x, y))
    shown.resize(400, 300)
    assert shown.mask().boundingRect().size() == shown.size()
    themes.set_text_size(160)  # the card is rounder then
    assert not shown.mask().contains(QPoint(4, 4))


@pytest.mark.skipif(which("xvfb-run") is None, reason="there is no virtual X server")
def test_an_x_server_without_a_compositing_manager_does_not_blend() -> None:
    code = (
        "from PySide6.QtGui import QGuiApplication\n"
        "from app.ui.popup import blends_windows\n"
        "app = QGuiApplication(['x'])\n"
        "print(app.platformName(), blends_windows())\n"
    )
    command = ["xvfb-run", "-a", sys.executable, "-c", code]
    environment = {**os.environ, "QT_QPA_PLATFORM": "xcb"}
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if "could not connect" in ended.stderr or "no Qt platform plugin" in ended.stderr:
        pytest.skip("Qt's libraries for X are missing")
    assert ended.stdout.split() == ["xcb", "False"], ended.stderr
