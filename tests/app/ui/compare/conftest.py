from __future__ import annotations

import pytest
from pytestqt.qtbot import QtBot

from app.ui.theme import ThemeManager


@pytest.fixture
def themes(qtbot: QtBot) -> ThemeManager:
    """The dark theme at its usual size."""
    return ThemeManager("dark")
