"""Rows of the planner's table: keyboard, pointer, explanations and bars."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QPoint, QRectF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QImage, QPainter
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QToolTip, QWidget
from pytestqt.qtbot import QtBot

from app.ui.elide import fitting
from app.ui.planner.bar import draw_bar, part_at
from app.ui.planner.columns import columns
from app.ui.planner.machine_row import MachineRow
from app.ui.planner.table import PlannerTable
from app.ui.planner.views import BarPart, BarView, RowView
from app.ui.theme import ThemeManager

GIB = 1 << 30


def bar(used_gib: float, total_gib: int = 8) -> BarView:
    parts = [BarPart("weights", 4 * GIB, ("Weights: 4 GiB", "8 billion × 4 bits"))]
    rest = int((used_gib - 4) * GIB)
    parts.append(BarPart("kv_used", rest, ("KV cache",)))
    free = int((total_gib - used_gib) * GIB)
    if free > 0:
        parts.append(BarPart("free", free, ("Free",)))
    return BarView("Card", total_gib * GIB, tuple(parts), max(-free, 0))


def view(key: str, used_gib: float = 6, **changes: object) -> RowView:
    values: dict[str, object] = {
        "sub": "8 GiB · 272 GB/s",
        "bars": (bar(used_gib),),
        "texts": {"verdict": "Fits, 2 GiB free", "context": "25K", "users": "1", "ceiling": "30"},
        "tips": {"machine": (f"Machine {key}", "272 GB/s"), "verdict": ("Fits",)},
        "tone": "good",
        "said": f"Machine {key}, fits",
    }
    return RowView(key, f"Machine {key}", **(values | changes))  # type: ignore[arg-type]


def table(qtbot: QtBot, themes: ThemeManager, *keys: str) -> PlannerTable:
    made = PlannerTable(themes)
    qtbot.addWidget(made)
    made.resize(1100, 400)
    made.set_rows(tuple(view(key) for key in keys), keys[0] if keys else "")
    with qtbot.waitActive(made):
        made.show()
        made.activateWindow()
    return made


def test_rows_are_kept_when_the_page_changes(qtbot: QtBot, themes: ThemeManager) -> None:
    made = table(qtbot, themes, "a", "b", "c")
    before = {row.key: row for row in made.rows}
    made.set_rows((view("c"), view("a"), view("d")), "d")
    assert [row.key for row in made.rows] == ["c", "a", "d"]
    assert made.rows[0] is before["c"]
    assert made.rows[1] is before["a"]
    qtbot.waitUntil(lambda: made.rows[0].y() < made.rows[1].y() < made.rows[2].y())
    made.set_rows((), "")
    assert made.rows == ()
    assert made._empty.isVisible()


@pytest.mark.parametrize(("percent", "width"), [(100, 1100), (100, 690), (150, 560), (200, 470)])
def test_nothing_of_a_row_is_cut_or_left_out(qtbot: QtBot, percent: int, width: int) -> None:
    themes = ThemeManager("dark", percent)
    said = {
        "machine": ("Apple M4 Max, 64 GiB", "48 usable of 64 GiB · 546 GB/s · while busy"),
        "verdict": ("KV breaks it at 25K", "lacks 898 MiB; 4/33 layers in RAM"),
    }
    texts = {"context": "128K", "users": "10", "ceiling": "31 → 24", "realistic": "10–17"}
    shown = RowView(
        "a",
        said["machine"][0],
        said["machine"][1],
        bars=(bar(6),),
        texts={"verdict": said["verdict"][0], **texts},  # type: ignore[dict-item]
        subs={"verdict": said["verdict"][1], "ceiling": "58 empty"},
    )
    page = QWidget()
    qtbot.addWidget(page)
    row = MachineRow(themes, shown, page)
    page.show()
    row.resize(width, 10)
    row.show()
    QApplication.processEvents()
    row.resize(width, row.sizeHint().height())

    def words(lines: list[str]) -> str:
        return " ".join(lines).replace("\N{NO-BREAK SPACE}", " ").replace(" · ", " ")

    for key, whole in said.items():
        block = row._cell(key)  # type: ignore[arg-type]
        assert words([line.text for line in block.lines]) == words(list(whole))
        assert block.height <= row._main_height
        for line in block.lines:
            room = row._column(key).width  # type: ignore[arg-type]
            assert QFontMetricsF(line.font).horizontalAdvance(line.text) <= room
    last = words(row._left_out())
    for key, text in texts.items():
        column = row._column(key)  # type: ignore[arg-type]
        assert (text in last) == (column.width == 0)
    assert ("58 empty" in last) == (row._column("ceiling").width == 0)


def test_a_row_does_not_shrink_while_its_words_change(qtbot: QtBot, themes: ThemeManager) -> None:
    row = MachineRow(themes, view("a"))
    qtbot.addWidget(row)
    row.show()
    row.resize(690, row.height())
    low = row.sizeHint().height()
    verdict = {"verdict": "Fits, slow, and with more words than have room on a line"}
    row.set_view(view("a", texts=verdict, subs={"verdict": "slower than anybody likes to read"}))
    high = row.sizeHint().height()
    assert high > low
    row.set_view(view("a"))
    assert row.sizeHint().height() == high
    row.resize(1100, row.height())
    assert row.sizeHint().height() == low


@pytest.mark.parametrize("percent", [100, 150, 200])
def test_no_figure_is_cut_in_a_narrow_row(qtbot: QtBot, percent: int) -> None:
    themes = ThemeManager("dark", percent)
    row = MachineRow(themes, view("a"))
    qtbot.addWidget(row)
    row.resize(themes.theme.px(690), row.height())
    font = themes.theme.font(13.5)
    figures = {
        "context": "1.25M", "users": "256", "ceiling": "2,117 → 1,376", "realistic": "1,207–1,982"
    }  # fmt: skip
    for key, words in figures.items():
        column = next(item for item in columns(row.width(), themes.theme.scale) if item.key == key)
        chosen, measure = fitting(font, words, column.width)
        assert measure.horizontalAdvance(words) <= column.width, (key, words)
        assert measure.height() > 0.6 * QFontMetricsF(font).height()
        assert QFontMetricsF(chosen).height() == measure.height()
    short, _ = fitting(font, "31", 60)
    assert short == font


def test_arrow_keys_go_from_row_to_row_and_choose(qtbot: QtBot, themes: ThemeManager) -> None:
    made = table(qtbot, themes, "a", "b", "c")
    chosen: list[str] = []
    made.chosen.connect(chosen.append)
    made.rows[0].setFocus(Qt.FocusReason.TabFocusReason)
    QTest.keyClick(made.rows[0], Qt.Key.Key_Down)
    assert made.rows[1].hasFocus()
    QTest.keyClick(made.rows[1], Qt.Key.Key_Down)
    QTest.keyClick(made.rows[2], Qt.Key.Key_Down)  # the last: nothing below
    assert made.rows[2].hasFocus()
    assert chosen[-2:] == ["b", "c"]


def test_cells_are_explained_to_the_keyboard(qtbot: QtBot, themes: ThemeManager) -> None:
    made = table(qtbot, themes, "a")
    row = made.rows[0]
    row.setFocus(Qt.FocusReason.TabFocusReason)
    QTest.keyClick(row, Qt.Key.Key_Right)
    assert "272 GB/s" in row.accessibleDescription()
    assert "272 GB/s" in QToolTip.text()
    QTest.keyClick(row, Qt.Key.Key_Right)
    QTest.keyClick(row, Qt.Key.Key_Right)
    assert row.accessibleDescription() == "Fits"
    QTest.keyClick(row, Qt.Key.Key_Escape)
    assert "Fits" not in row.accessibleDescription()
    assert row.accessibleName() == "Machine a, fits"


def test_delete_removes_and_the_keyboard_stays_in_the_table(
    qtbot: QtBot, themes: ThemeManager
) -> None:
    made = table(qtbot, themes, "a", "b", "c")
    made.rows[1].setFocus()
    with qtbot.waitSignal(made.removed) as heard:
        QTest.keyClick(made.rows[1], Qt.Key.Key_Delete)
    assert heard.args == ["b"]
    made.set_rows((view("a"), view("c")), "a")
    assert made.rows[1].hasFocus()


def test_the_pointer_finds_the_part_below_it(qtbot: QtBot, themes: ThemeManager) -> None:
    made = table(qtbot, themes, "a")
    row = made.rows[0]
    column = next(c for c in columns(row.width(), 1.0) if c.key == "bar")
    middle = row.height() // 2
    at = QPoint(column.start + column.width // 4, middle)
    assert row._lines_at(at) == ["Weights: 4 GiB", "8 billion × 4 bits"]
    assert row._lines_at(QPoint(column.start + column.width * 7 // 10, middle)) == ["KV cache"]
    assert row._lines_at(QPoint(column.end - 4, middle)) == ["Free"]
    assert row._lines_at(QPoint(4, middle))[0] == "Machine a"


def test_a_press_chooses_and_a_double_press_changes(qtbot: QtBot, themes: ThemeManager) -> None:
    made = table(qtbot, themes, "a", "b")
    with qtbot.waitSignal(made.chosen) as heard:
        QTest.mouseClick(made.rows[1], Qt.MouseButton.LeftButton)
    assert heard.args == ["b"]
    with qtbot.waitSignal(made.edited) as heard:
        QTest.keyClick(made.rows[1], Qt.Key.Key_Return)
    assert heard.args == ["b"]


def test_a_row_that_cant_be_planned_draws_its_sentence(qtbot: QtBot, themes: ThemeManager) -> None:
    row = MachineRow(themes, view("a"))
    qtbot.addWidget(row)
    row.resize(900, 53)
    before = row.grab().toImage()
    row.set_view(RowView("a", "Machine a", problem="Choose a model.", tone="danger"))
    after = row.grab().toImage()
    assert before != after
    assert row.explanation("bar") == []


def draw(view: BarView, themes: ThemeManager) -> QImage:
    image = QImage(200, 32, QImage.Format.Format_RGB32)
    image.fill(QColor("#000000"))
    painter = QPainter(image)
    draw_bar(painter, themes.theme, QRectF(0, 4, 200, 24), view, 1.0)
    painter.end()
    return image


def test_bars_end_at_the_memory_and_say_that_more_is_needed(
    qtbot: QtBot, themes: ThemeManager
) -> None:
    fits, over = draw(bar(6), themes), draw(bar(12), themes)
    theme = themes.theme
    assert fits.pixelColor(50, 16) == theme.colour("weights")
    assert fits.pixelColor(130, 16) == theme.colour("kv_used")
    assert fits.pixelColor(180, 2) == theme.colour("ink")  # the load line at 90 %
    assert over.pixelColor(150, 16) == theme.colour("kv_used")
    end = over.pixelColor(196, 10)
    assert end.red() > end.green() + 60
    assert part_at(bar(6), 200, 50) is not None
    assert part_at(bar(6), 200, 500) is None


def test_a_sliver_is_still_seen() -> None:
    tiny = BarView("m", 100 * GIB, (BarPart("weights", 1), BarPart("free", 100 * GIB)))
    found = part_at(tiny, 200, 1)
    assert found is not None
    assert found.kind == "weights"
