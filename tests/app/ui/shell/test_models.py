"""The list of models, the picker, and the first-run page that shows the same list."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QPushButton
from pytestqt.qtbot import QtBot

from app.ui.shell.first_run import FirstRunPage
from app.ui.shell.model_list import ModelList, matches
from app.ui.shell.model_picker import ModelPicker
from app.ui.shell.views import FirstRun, ModelEntry
from app.ui.theme import ThemeManager

pytestmark = pytest.mark.qt_log_ignore("This plugin does not support", extend=True)

LLAMA = ModelEntry("/m/llama.gguf", "Llama-8B", "Q8_0", 8 << 30, 131072, "LM Studio", loaded=True)
GEMMA = ModelEntry("/m/gemma.gguf", "gemma-4b", "Q4_K_M", 2 << 30, 8192, "Ollama")
BROKEN = ModelEntry("/m/broken.gguf", "broken", problem="The file is cut short; fetch it again.")
ALL = (GEMMA, LLAMA, BROKEN)


@pytest.mark.parametrize(
    ("query", "found"),
    [("", True), ("LLAMA q8", True), ("studio", True), ("llama ollama", False), ("q4", False)],
)
def test_a_search_wants_all_words(query: str, found: bool) -> None:
    assert matches(LLAMA, query) is found


@pytest.fixture
def models(qtbot: QtBot, themes: ThemeManager) -> ModelList:
    models = ModelList(themes)
    qtbot.addWidget(models)
    models.resize(400, 300)
    models.show()
    models.set_entries(ALL)
    return models


def row_centre(models: ModelList, row: int) -> QPoint:
    return models.visualRect(models.model().index(row, 0)).center()


def click(models: ModelList, place: QPoint) -> None:
    QTest.mouseClick(
        models.viewport(), Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier, place
    )


def test_the_loaded_model_is_chosen_first(models: ModelList) -> None:
    assert models.current_key() == LLAMA.key
    models.step(-5)
    assert models.current_key() == GEMMA.key
    models.set_entries(ALL)
    assert models.current_key() == GEMMA.key


def test_a_click_chooses(qtbot: QtBot, models: ModelList) -> None:
    with qtbot.waitSignal(models.model_chosen) as chosen:
        click(models, row_centre(models, 0))
    assert chosen.args == [GEMMA.key]


def test_a_click_on_the_button_asks_for_the_settings(qtbot: QtBot, models: ModelList) -> None:
    button = models._button_rect(models.model().index(0, 0))
    with (
        qtbot.waitSignal(models.load_settings_requested) as asked,
        qtbot.assertNotEmitted(models.model_chosen),
    ):
        click(models, button.center())
    assert asked.args == [GEMMA.key]


def test_a_model_with_a_problem_can_not_be_chosen(qtbot: QtBot, models: ModelList) -> None:
    with (
        qtbot.assertNotEmitted(models.model_chosen),
        qtbot.assertNotEmitted(models.load_settings_requested),
    ):
        click(models, row_centre(models, 2))
        QTest.keyClick(models, Qt.Key.Key_Return)
        QTest.keyClick(models, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    index = models.model().index(2, 0)
    assert BROKEN.problem is not None
    assert BROKEN.problem in index.data(int(Qt.ItemDataRole.ToolTipRole))
    assert BROKEN.problem in index.data(int(Qt.ItemDataRole.AccessibleTextRole))


def test_keys_choose_and_ask_for_settings(qtbot: QtBot, models: ModelList) -> None:
    with qtbot.waitSignal(models.model_chosen) as chosen:
        QTest.keyClick(models, Qt.Key.Key_Enter)
    assert chosen.args == [LLAMA.key]
    with qtbot.waitSignal(models.load_settings_requested) as asked:
        QTest.keyClick(models, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    assert asked.args == [LLAMA.key]


def test_facts_are_spoken(models: ModelList) -> None:
    spoken = models.model().index(1, 0).data(int(Qt.ItemDataRole.AccessibleTextRole))
    assert spoken == "Llama-8B, Q8_0, loaded, 8.00 GiB, context 131,072, LM Studio"


@pytest.fixture
def picker(qtbot: QtBot, themes: ThemeManager) -> Iterator[ModelPicker]:
    anchor = QPushButton("model")
    qtbot.addWidget(anchor)
    anchor.show()
    picker = ModelPicker(themes, anchor)
    picker.set_entries(ALL)
    picker.open_below(anchor)
    yield picker
    picker.close()


def test_the_picker_is_worked_from_its_search(qtbot: QtBot, picker: ModelPicker) -> None:
    QTest.keyClicks(picker.search, "gemma")
    assert [entry.key for entry in picker.models.shown()] == [GEMMA.key]
    with qtbot.waitSignal(picker.model_chosen) as chosen:
        QTest.keyClick(picker.search, Qt.Key.Key_Return)
    assert chosen.args == [GEMMA.key]
    assert not picker.isVisible()


def test_arrows_move_through_the_list(qtbot: QtBot, picker: ModelPicker) -> None:
    QTest.keyClick(picker.search, Qt.Key.Key_Up)
    assert picker.models.current_key() == GEMMA.key
    with qtbot.waitSignal(picker.load_settings_requested) as asked:
        QTest.keyClick(picker.search, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    assert asked.args == [GEMMA.key]
    assert not picker.isVisible()


def test_the_picker_says_when_nothing_is_there(picker: ModelPicker) -> None:
    picker.search.setText("zebra")
    assert picker._nothing.text() == "No model matches “zebra”."
    assert picker.models.isHidden()
    picker.search.clear()
    picker.set_entries(())
    assert "Open a GGUF file" in picker._nothing.text()


def test_escape_closes_the_picker(picker: ModelPicker) -> None:
    QTest.keyClick(picker.search, Qt.Key.Key_Escape)
    assert not picker.isVisible()


def test_a_file_can_be_opened_from_the_picker(qtbot: QtBot, picker: ModelPicker) -> None:
    with qtbot.waitSignal(picker.open_file_requested):
        picker._open.click()
    assert not picker.isVisible()


def test_models_can_be_got_from_the_picker(qtbot: QtBot, picker: ModelPicker) -> None:
    button = next(b for b in picker.findChildren(QPushButton) if b.text().startswith("Get"))
    with qtbot.waitSignal(picker.get_models_requested):
        button.click()
    assert picker.isHidden()


def test_it_stays_on_the_screen(picker: ModelPicker) -> None:
    assert picker.screen().availableGeometry().contains(picker.geometry())


def test_hundreds_of_models_open_at_once(picker: ModelPicker) -> None:
    picker.set_entries(tuple(ModelEntry(f"/m/{n}", f"model-{n}") for n in range(500)))
    picker.search.setText("model-499")
    assert len(picker.models.shown()) == 1


@pytest.fixture
def first_run(qtbot: QtBot, themes: ThemeManager) -> FirstRunPage:
    page = FirstRunPage(themes)
    qtbot.addWidget(page)
    page.resize(700, 600)
    page.show()
    return page


def test_the_first_run_begins_with_the_starter_model(qtbot: QtBot, first_run: FirstRunPage) -> None:
    assert first_run.starter_button.isHidden()
    first_run.set_state(FirstRun(starter=GEMMA, found=ALL))
    assert "gemma-4b" in first_run._starter_facts.text()
    with qtbot.waitSignal(first_run.model_chosen) as chosen:
        first_run.starter_button.click()
    assert chosen.args == [GEMMA.key]


def test_the_first_run_lists_what_was_found(qtbot: QtBot, first_run: FirstRunPage) -> None:
    first_run.set_state(FirstRun(scanning=True))
    assert "Looking" in first_run._found_title.text()
    assert first_run.models.isHidden()
    first_run.set_state(FirstRun(found=ALL))
    assert [entry.key for entry in first_run.models.shown()] == [e.key for e in ALL]
    with qtbot.waitSignal(first_run.model_chosen) as chosen:
        click(first_run.models, row_centre(first_run.models, 0))
    assert chosen.args == [GEMMA.key]
    with qtbot.waitSignal(first_run.open_file_requested):
        first_run._open.click()
    with qtbot.waitSignal(first_run.get_models_requested):
        first_run._get.click()


@pytest.mark.parametrize("percent", [100, 150])
def test_the_starters_name_is_never_cut(
    qtbot: QtBot, first_run: FirstRunPage, themes: ThemeManager, percent: int
) -> None:
    themes.set_text_size(percent)
    first_run.resize(1024 - themes.theme.px(236), 626)
    starter = replace(LLAMA, name="Llama-3.1-Tiny-Instruct-with-a-name-of-some-length")
    first_run.set_state(FirstRun(starter=starter))
    line = first_run._starter_facts
    # The text is drawn in lines, all of which are in the label.
    qtbot.waitUntil(lambda: line.height() >= line.heightForWidth(line.width()) > 0)
    room = line.contentsRect()
    wanted = line.fontMetrics().boundingRect(room, int(Qt.TextFlag.TextWordWrap), line.text())
    assert wanted.width() <= room.width()
    assert wanted.height() <= room.height()


@pytest.mark.parametrize("percent", [100, 200])
def test_the_first_run_is_never_scrolled_sideways(
    qtbot: QtBot, first_run: FirstRunPage, themes: ThemeManager, percent: int
) -> None:
    themes.set_text_size(percent)
    first_run.set_state(FirstRun(starter=LLAMA, found=ALL))
    first_run.resize(600, 500)
    page = first_run.widget()
    assert page is not None
    qtbot.waitUntil(lambda: page.width() <= first_run.viewport().width())
    assert page.minimumSizeHint().width() <= 600
