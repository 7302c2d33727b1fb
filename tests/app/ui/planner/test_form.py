"""The form sets as many fields beside each other as their labels have room for."""

from __future__ import annotations

import pytest
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

from app.ui.planner.form import PlannerForm
from app.ui.theme import ThemeManager

pytestmark = pytest.mark.qt_log_ignore("This plugin does not support", extend=True)


@pytest.mark.parametrize(
    ("width", "percent", "per_row"),
    [
        (1180, 100, 7),
        (760, 100, 4),
        (430, 100, 2),
        (260, 100, 1),
        (560, 200, 1),
        (1180, 200, 2),
        (1360, 200, 4),
    ],
)
def test_no_label_is_cut_at_any_width(qtbot: QtBot, width: int, percent: int, per_row: int) -> None:
    page = QWidget()
    qtbot.addWidget(page)
    form = PlannerForm(ThemeManager("dark", percent))
    form.setParent(page)
    page.show()
    form.show()
    form.resize(width, 400)
    qtbot.waitUntil(lambda: form._per_row == per_row)
    form.resize(width, form.sizeHint().height())
    QApplication.processEvents()
    rows = [field.y() for field in form._fields]
    assert rows.count(rows[0]) == per_row
    for field in form._fields:
        assert field._label.width() >= field._label.sizeHint().width(), field._label.text()
        assert field.width() >= field.least_width()
