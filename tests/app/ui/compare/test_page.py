"""The page: answers in rows that fit, figures, charts, what is chosen."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QFileDialog
from pytestqt.qtbot import QtBot

from app.ui.compare.chooser import VariantsDialog
from app.ui.compare.options import COMPARE_SETTINGS, CompareOptionsDialog, default_options
from app.ui.compare.page import ComparePage
from app.ui.compare.setup import SetupCard
from app.ui.compare.views import (
    BarView,
    ColumnView,
    DifferenceView,
    DotView,
    SetupView,
    TableView,
    VariantChoice,
)
from app.ui.theme import ThemeManager


@pytest.fixture(autouse=True)
def double_click_interval(qapp: QApplication) -> Iterator[None]:
    """Tests may change it; the next one finds it as it was."""
    before_ms = QApplication.doubleClickInterval()
    yield
    QApplication.setDoubleClickInterval(before_ms)


@pytest.fixture
def page(qtbot: QtBot, themes: ThemeManager) -> ComparePage:
    made = ComparePage(themes)
    qtbot.addWidget(made)
    made.resize(1200, 860)
    made.show()
    return made


def columns(count: int) -> tuple[ColumnView, ...]:
    return tuple(
        ColumnView(
            key=i, label=f"Q{i}", name="M", colour="weights", size="1 GB", answer="word " * 9
        )
        for i in range(count)
    )


def places(page: ComparePage) -> list[tuple[int, int]]:
    grid = page._answers
    spots: list[tuple[int, ...]] = [grid.getItemPosition(i) for i in range(grid.count())]  # type: ignore[misc]
    return [(row, column) for row, column, *_ in spots]


@pytest.mark.parametrize(
    ("count", "width", "rows"), [(3, 1200, 1), (3, 700, 2), (4, 1000, 2), (6, 1200, 2), (2, 300, 2)]
)
def test_answers_stand_in_rows_of_like_length(
    page: ComparePage, count: int, width: int, rows: int
) -> None:
    page.resize(width, 860)
    page.set_columns(columns(count), running=False)
    found = places(page)
    assert len(set(found)) == count
    lengths = [sum(1 for row, _ in found if row == r) for r in range(rows)]
    assert sum(lengths) == count
    assert max(lengths) - min(lengths) <= 1


def test_columns_come_and_go(page: ComparePage) -> None:
    page.set_columns(columns(4), running=False)
    page.set_columns(columns(2), running=False)
    assert len(page._cards) == 2
    assert page._empty.isHidden()
    page.append(1, "more")
    assert page._cards[1].text.toPlainText().endswith("more")
    page.append(7, "for nobody")
    page.set_columns((), running=False)
    assert not page._empty.isHidden()


def test_figures_fill_table_and_charts(page: ComparePage) -> None:
    table = TableView(
        heads=("Variant", "Decode"), tips=("", "measured"), rows=(("Q4", "92.4"), ("Q8", "54.6"))
    )
    bars = (
        BarView(label="Q4", colour="weights", per_s=92.4, ceiling=102.0, expected=(60.0, 95.0)),
        BarView(label="Q8", colour="kv_used", per_s=None, ceiling=None),
    )
    dots = (
        DotView(label="Q4", colour="weights", per_s=92.4, same_top=0.94, error=0.01),
        DotView(label="Q8", colour="kv_used", per_s=54.6, same_top=1.0),
    )
    assert not page.save.isEnabled()
    page.set_results(table, bars, dots)
    assert page.save.isEnabled()
    cell, head = page.table.grid.item(1, 1), page.table.grid.horizontalHeaderItem(1)
    assert cell is not None
    assert head is not None
    assert (cell.text(), head.toolTip()) == ("54.6", "measured")
    assert "Q4: 92.4 tokens per second" in page.bars.accessibleDescription()
    assert not page.grab().isNull()
    assert page.scatter.explanation(0.0)[0] == "Q4"
    # The arrow keys go from dot to dot.
    first = page.scatter.snapped(0.0)
    assert page.scatter.stepped(first, 1) > first
    page.set_results(TableView(), (), ())
    assert page.table.isHidden()
    assert not page.save.isEnabled()


def test_a_report_is_proposed_under_the_models_name(page: ComparePage) -> None:
    page.set_title("Llama 3.1 8B")
    page.set_columns(columns(2), running=False)
    page._choose_report()
    (dialog,) = page.findChildren(QFileDialog)
    name = Path(dialog.selectedFiles()[0]).name
    labels = " ".join(view.label for view in columns(2))
    assert name.startswith(f"Compare Llama 3.1 8B {labels} 20")
    assert name.endswith(".md")
    dialog.reject()


def test_run_and_stop_by_keyboard(qtbot: QtBot, page: ComparePage) -> None:
    setup = page.setup
    ready = SetupView(options="Temperature 0", how="One after another", can_run=True)
    setup.set_view(ready)
    setup.prompt.setPlainText(" Hello ")
    with qtbot.waitSignal(setup.run_wanted) as run:
        QTest.keyClick(setup.prompt, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    assert run.args == ["Hello"]
    setup.set_view(
        SetupView(options="", how="", is_running=True, doing="Q4: Loads.", progress=0.25)
    )
    assert setup.run.isHidden()
    assert setup.progress.value() == 250
    QApplication.setDoubleClickInterval(0)
    with qtbot.waitSignal(setup.stop_wanted):
        setup.stop.click()
    setup.set_view(SetupView(options="", how="", can_run=True, problem="Choose others."))
    assert not setup.run.isEnabled()
    assert setup._problem.text() == "Choose others."


def test_many_clicks_on_run_do_not_stop(qtbot: QtBot, page: ComparePage) -> None:
    QApplication.setDoubleClickInterval(60_000)
    setup, left = page.setup, Qt.MouseButton.LeftButton
    idle = SetupView(options="", how="", can_run=True)
    setup.set_view(idle)
    begun: list[str] = []
    setup.run_wanted.connect(begun.append)
    setup.run_wanted.connect(lambda: setup.set_view(SetupView(options="", how="", is_running=True)))
    QTest.mouseClick(setup.run, left)
    with qtbot.assertNotEmitted(setup.stop_wanted):
        for _ in range(5):
            setup.set_view(SetupView(options="", how="", is_running=True, progress=0.1))
            QTest.mouseClick(setup.stop, left)
    setup.stop_wanted.connect(lambda: setup.set_view(idle))
    QApplication.setDoubleClickInterval(0)
    with qtbot.waitSignal(setup.stop_wanted):
        QTest.mouseClick(setup.stop, left)
    QApplication.setDoubleClickInterval(60_000)
    QTest.mouseClick(setup.run, left)  # the second one of a double click on Stop
    assert len(begun) == 1
    QApplication.setDoubleClickInterval(0)
    QTest.mouseClick(setup.run, left)
    assert len(begun) == 2


def test_places_are_shown_as_text_not_as_markup(page: ComparePage) -> None:
    place = DifferenceView(
        before="a <b>", token="\n", after="& c", reference_says="r", variant_says="v", kl="1 nat"
    )
    page.differences.set_variants(((2, "Q2_K"),), 2)
    page.differences.set_places((place,))
    row = page.differences._rows.itemAt(0)
    assert row is not None
    label = row.widget()
    assert label is not None
    text = label.text()  # type: ignore[attr-defined]
    assert "a &lt;b&gt;" in text
    assert "&amp; c" in text
    assert "↵" in text


def test_two_to_six_variants_can_be_taken(qtbot: QtBot, themes: ThemeManager) -> None:
    choices = [
        VariantChoice(path=f"/m/{i}.gguf", name="M", label=f"Q{i}", size_bytes=i << 20, group="M")
        for i in range(1, 9)
    ]
    dialog = VariantsDialog(themes, choices, ["/m/1.gguf"])
    qtbot.addWidget(dialog)
    assert not dialog._take.isEnabled()
    for item in dialog._leaves()[:6]:
        item.setCheckState(0, Qt.CheckState.Checked)
    assert len(dialog.chosen()) == 7
    assert not dialog._take.isEnabled()
    dialog._leaves()[0].setCheckState(0, Qt.CheckState.Unchecked)
    assert dialog._take.isEnabled()
    dialog.add_file("/other/x.gguf")
    dialog.add_file("/other/x.gguf")
    assert dialog.chosen().count("/other/x.gguf") == 1
    dialog.filter.setText("other x")
    hidden = [item.isHidden() for item in dialog._leaves()]
    assert hidden.count(False) == 1
    dialog._leaves()[1].setCheckState(0, Qt.CheckState.Unchecked)
    with qtbot.waitSignal(dialog.taken) as taken:
        dialog._take.click()
    assert "/other/x.gguf" in taken.args[0]


def test_options_hold_every_value(qtbot: QtBot, themes: ThemeManager) -> None:
    dialog = CompareOptionsDialog(themes, default_options() | {"max_tokens": 64})
    qtbot.addWidget(dialog)
    with qtbot.waitSignal(dialog.taken) as taken:
        dialog._take.click()
    assert set(taken.args[0]) == {setting.key for setting in COMPARE_SETTINGS}
    assert taken.args[0] == default_options() | {"max_tokens": 64}


@pytest.mark.parametrize("percent", [100, 160])
def test_words_below_the_prompt_begin_where_it_begins(
    qtbot: QtBot, themes: ThemeManager, percent: int
) -> None:
    themes.set_text_size(percent)
    card = SetupCard(themes)
    qtbot.addWidget(card)
    card.set_view(SetupView(options="Temperature 0", how="One after another"))
    card.resize(900, 160)
    card.show()
    qtbot.waitUntil(lambda: card.options.width() > 0)
    frame_px = (
        card.options.width() - card.options.fontMetrics().horizontalAdvance("Temperature 0")
    ) / 2
    words_x = card.options.mapTo(card, QPoint(0, 0)).x() + frame_px
    assert abs(words_x - card.prompt.mapTo(card, QPoint(0, 0)).x()) <= 2


@pytest.mark.parametrize("margin", range(0, 120, 3))
def test_prompt_settles_whatever_its_width(qtbot: QtBot, themes: ThemeManager, margin: int) -> None:
    """A scroll bar takes width, so lines wrap otherwise: that must not go round and round."""
    card = SetupCard(themes)
    qtbot.addWidget(card)
    card.show()
    for words in (22, 30, 40, 45, 50, 60, 200):
        card.prompt.setPlainText("several words " * words)
        fits = 0

        def count() -> None:
            nonlocal fits
            fits += 1

        card.prompt.wrapped.connect(count)
        card.resize(430 + margin, 300)
        qtbot.wait(5)
        card.prompt.wrapped.disconnect(count)
        assert fits < 12
        bar, lines = card.prompt.verticalScrollBar(), card.prompt.document().lineCount()
        assert bar.isVisible() or bar.maximum() == 0 or lines <= 5
        assert not card.prompt.horizontalScrollBar().isVisible()
