from __future__ import annotations

from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QApplication,
    QInputDialog,
    QLabel,
    QLineEdit,
    QPlainTextEdit,
    QWidget,
)
from pytestqt.qtbot import QtBot

from app.settings import Settings, by_scope
from app.ui.actions import ACTIONS
from app.ui.dialogs.about import AboutDialog
from app.ui.dialogs.chat_dialog import ChatDialog, ChatSettings
from app.ui.dialogs.keyboard_map import KeyboardMapDialog
from app.ui.dialogs.load_dialog import LoadDialog
from app.ui.dialogs.presets import BUILT_IN, all_presets, preset_values
from app.ui.dialogs.settings_dialog import SettingsDialog
from app.ui.theme import ThemeManager

pytestmark = pytest.mark.qt_log_ignore("This plugin does not support", extend=True)


# --- presets ---


@pytest.mark.parametrize("name", list(BUILT_IN))
def test_built_in_presets_are_values_the_settings_take(name: str) -> None:
    settings = Settings(None)
    settings.set_preset(name, dict(BUILT_IN[name]))
    assert preset_values(BUILT_IN[name]).keys() == {s.key for s in by_scope("sampling")}


def test_own_presets_follow_the_built_in_ones_by_name() -> None:
    names = list(all_presets({"zebra": {}, "Apple": {"top_k": 1}}))
    assert names == [*BUILT_IN, "Apple", "zebra"]


# --- the program's settings ---


def test_a_changed_setting_is_said(qtbot: QtBot, themes: ThemeManager) -> None:
    dialog = SettingsDialog(themes, {"text_size": 110})
    qtbot.addWidget(dialog)
    dialog.show()
    assert dialog.form.values()["text_size"] == 110
    with qtbot.waitSignal(dialog.value_changed) as changed:
        dialog.form.row("show_statistics").editor.field().click()  # type: ignore[attr-defined]
    assert changed.args == ["show_statistics", False]
    dialog.show_problem("The disk is full.")
    assert dialog._problem.isVisible()
    dialog.show_problem("")
    assert not dialog._problem.isVisible()


def test_a_number_is_taken_once_nothing_more_is_typed(qtbot: QtBot, themes: ThemeManager) -> None:
    dialog = SettingsDialog(themes, {"text_size": 100})
    qtbot.addWidget(dialog)
    dialog.show()
    taken: list[object] = []
    dialog.value_changed.connect(lambda _key, value: taken.append(value))
    field = dialog.form.row("text_size").editor.field()
    assert isinstance(field, QLineEdit)
    field.selectAll()
    QTest.keyClicks(field, "9999")  # by way of 99, which would be one
    assert dialog.form.row("text_size").fault
    qtbot.wait(700)
    assert taken == []
    field.selectAll()
    QTest.keyClicks(field, "120")
    qtbot.waitUntil(lambda: taken == [120])
    QTest.keyClick(field, Qt.Key.Key_Up)
    dialog.reject()  # what was typed last is taken at the latest now
    assert taken == [120, 125]


@pytest.mark.parametrize("size_before", [100, 150])  # changed in the dialog itself, or before
@pytest.mark.parametrize("size", [(1024, 700), (720, 560)])
def test_large_text_keeps_the_settings_within_their_window(
    qtbot: QtBot, themes: ThemeManager, size: tuple[int, int], size_before: int
) -> None:
    window = QWidget()
    qtbot.addWidget(window)
    window.resize(*size)
    window.show()
    themes.set_text_size(size_before)
    dialog = SettingsDialog(themes, {}, window)
    dialog.show()
    themes.set_text_size(150)
    free = window.screen().availableGeometry()
    for group in dialog.form.groups():
        dialog.show_group(group)
        QApplication.processEvents()
        assert dialog.width() <= min(size[0], free.width()), group
        assert dialog.height() <= min(size[1], free.height()), group
    dialog.close()


def test_what_is_typed_wrong_is_said_before_it_is_lost(qtbot: QtBot, themes: ThemeManager) -> None:
    dialog = SettingsDialog(themes, {"rpc": ("tower:50052",)})
    qtbot.addWidget(dialog)
    dialog.show()
    row = dialog.form.row("rpc")
    field = row.editor.field()
    assert isinstance(field, QPlainTextEdit)
    field.setPlainText("tower:50052\n10.0.0.300:50052")
    assert row.fault == "'10.0.0.300' is no IPv4 address: that is four numbers from 0 to 255."
    dialog.reject()
    assert dialog.isVisible()
    assert row.isVisible()  # its page came forward
    assert "mend what is marked" in dialog._problem.text()
    field.setPlainText("tower:50052\n10.0.0.30:50052")
    assert not dialog._problem.isVisible()
    field.setPlainText("nonsense")
    dialog.reject()
    assert dialog.isVisible()
    dialog.reject()
    assert not dialog.isVisible()


def test_groups_and_search(qtbot: QtBot, themes: ThemeManager) -> None:
    dialog = SettingsDialog(themes, {})
    qtbot.addWidget(dialog)
    dialog.show()
    assert dialog.form.row("theme").isVisible()
    dialog.show_group("Models")
    assert not dialog.form.row("theme").isVisible()
    assert dialog.form.row("model_folders").isVisible()
    dialog._search.setText("colours")
    assert dialog.form.row("theme").isVisible()
    assert not dialog._groups.isEnabled()
    dialog._search.setText("zebra")
    assert dialog._nothing.isVisible()
    dialog._search.clear()
    assert dialog.form.row("model_folders").isVisible()


# --- a model's ---


def load_dialog(qtbot: QtBot, themes: ThemeManager, **more: Any) -> LoadDialog:
    dialog = LoadDialog(themes, "Llama", "/m/llama.gguf", {"n_ctx": 4096}, **more)
    qtbot.addWidget(dialog)
    dialog.show()
    return dialog


def test_values_are_handed_over_to_load(qtbot: QtBot, themes: ThemeManager) -> None:
    dialog = load_dialog(qtbot, themes, is_loaded=True)
    assert dialog._load.text() == "Load again"
    with qtbot.waitSignal(dialog.load_requested) as asked:
        dialog._load.click()
    assert asked.args is not None
    values, everywhere = asked.args
    assert values["n_ctx"] == 4096
    assert values.keys() == {setting.key for setting in by_scope("load")}
    assert everywhere is False
    assert not dialog.isVisible()


def test_values_are_handed_over_to_keep(qtbot: QtBot, themes: ThemeManager) -> None:
    dialog = load_dialog(qtbot, themes)
    dialog._everywhere.click()
    with qtbot.waitSignal(dialog.saved) as saved:
        dialog._save.click()
    assert saved.args is not None
    assert saved.args[1] is True


def test_a_fault_keeps_a_model_from_being_loaded(qtbot: QtBot, themes: ThemeManager) -> None:
    dialog = load_dialog(qtbot, themes)
    field = dialog.form.row("gpu_layers").editor.field()
    assert isinstance(field, QLineEdit)
    field.setText("many")
    with qtbot.assertNotEmitted(dialog.values_changed):
        field.textEdited.emit("many")
    assert not dialog._load.isEnabled()
    assert not dialog._save.isEnabled()
    field.setText("12")
    with qtbot.waitSignal(dialog.values_changed) as changed:
        field.textEdited.emit("12")
    assert changed.args is not None
    assert changed.args[0]["gpu_layers"] == 12
    assert dialog._load.isEnabled()


def test_a_plan_can_stand_beside(qtbot: QtBot, themes: ThemeManager) -> None:
    dialog = load_dialog(qtbot, themes)
    plan = QLabel("plan")
    dialog.set_preview(plan)
    qtbot.waitUntil(plan.isVisible)
    dialog.set_preview(None)
    assert plan.parent() is None


# --- a chat's ---


def chat_dialog(qtbot: QtBot, themes: ThemeManager, **more: Any) -> ChatDialog:
    settings = more.pop("settings", ChatSettings("Be brief."))
    dialog = ChatDialog(themes, "A chat", settings, more.pop("presets", {}))
    qtbot.addWidget(dialog)
    dialog.show()
    return dialog


def test_settings_of_a_chat_come_back_as_given(qtbot: QtBot, themes: ThemeManager) -> None:
    given = ChatSettings("Be brief.", "Precise", preset_values(BUILT_IN["Precise"]))
    dialog = chat_dialog(qtbot, themes, settings=given)
    assert dialog.settings() == given
    assert not dialog._changed.isVisible()
    with qtbot.waitSignal(dialog.applied) as applied:
        dialog.take.click()
    assert applied.args == [given]


def test_a_preset_sets_the_values(qtbot: QtBot, themes: ThemeManager) -> None:
    presets = {"Pirate": {"temperature": 1.5, "system_prompt": "Talk like a pirate."}}
    dialog = chat_dialog(qtbot, themes, presets=presets)
    dialog.choose_preset("Pirate")
    found = dialog.settings()
    assert found.preset == "Pirate"
    assert found.sampling["temperature"] == 1.5
    assert found.sampling["top_k"] == 40
    assert found.system_prompt == "Talk like a pirate."
    assert dialog._delete.isEnabled()
    dialog.choose_preset("Code")
    assert dialog.settings().system_prompt == "Talk like a pirate."
    assert not dialog._delete.isEnabled()
    dialog.choose_preset("no such preset")
    assert dialog.settings().preset == "Code"


def test_a_changed_preset_is_marked(qtbot: QtBot, themes: ThemeManager) -> None:
    dialog = chat_dialog(qtbot, themes)
    assert not dialog._changed.isVisible()
    field = dialog.form.row("temperature").editor.field()
    assert isinstance(field, QLineEdit)
    field.setText("1.1")
    field.textEdited.emit("1.1")
    assert dialog._changed.isVisible()


def test_a_preset_is_saved_and_deleted(qtbot: QtBot, themes: ThemeManager) -> None:
    dialog = chat_dialog(qtbot, themes)
    dialog.form.set_values({"temperature": 0.33})
    dialog._ask_name()
    asked = dialog.findChild(QInputDialog)
    assert isinstance(asked, QInputDialog)
    asked.setTextValue("  Mine ")
    with qtbot.waitSignal(dialog.preset_saved) as saved:
        asked.accept()
    assert saved.args is not None
    name, values = saved.args
    assert name == "Mine"
    assert values["temperature"] == 0.33
    assert values["system_prompt"] == "Be brief."
    settings = Settings(None)
    settings.set_preset(name, values)
    assert dialog.settings().preset == "Mine"
    with qtbot.waitSignal(dialog.preset_deleted) as deleted:
        dialog._delete.click()
    assert deleted.args == ["Mine"]
    assert dialog.settings().preset == "Default"


def test_built_in_names_are_refused(qtbot: QtBot, themes: ThemeManager) -> None:
    dialog = chat_dialog(qtbot, themes)
    with qtbot.assertNotEmitted(dialog.preset_saved):
        dialog.save_preset("  ")
        dialog.save_preset("Code")
    assert "choose another name" in dialog._problem.text()


def test_a_fault_keeps_a_chat_from_being_changed(qtbot: QtBot, themes: ThemeManager) -> None:
    dialog = chat_dialog(qtbot, themes)
    field = dialog.form.row("top_p").editor.field()
    assert isinstance(field, QLineEdit)
    field.setText("7")
    field.textEdited.emit("7")
    assert not dialog.take.isEnabled()
    with qtbot.assertNotEmitted(dialog.applied):
        dialog._on_accepted()


def test_save_as_says_what_is_wrong(qtbot: QtBot, themes: ThemeManager) -> None:
    dialog = chat_dialog(qtbot, themes)
    field = dialog.form.row("top_p").editor.field()
    assert isinstance(field, QLineEdit)
    field.setText("7")
    field.textEdited.emit("7")
    with qtbot.assertNotEmitted(dialog.preset_saved):
        dialog._ask_name()
    assert dialog.findChild(QInputDialog) is None
    assert dialog._problem.isVisible()
    assert dialog.form.row("top_p").label in dialog._problem.text()
    assert dialog.form.row("top_p").fault in dialog._problem.text()
    assert dialog.form.row("top_p").isVisible()
    field.setText("0.7")
    field.textEdited.emit("0.7")
    assert not dialog._problem.isVisible()
    dialog.save_preset(" ")
    assert dialog._problem.text() == "Give the preset a name."


# --- the others ---


def test_the_keyboard_map_has_every_key(qtbot: QtBot, themes: ThemeManager) -> None:
    dialog = KeyboardMapDialog(themes)
    qtbot.addWidget(dialog)
    texts = {label.text() for label in dialog.findChildren(QLabel)}
    for spec in ACTIONS:
        if spec.shortcuts:
            assert spec.text.rstrip("…") in texts
    assert "Ctrl+N" in texts


def test_the_facts_can_be_copied(qtbot: QtBot, themes: ThemeManager) -> None:
    dialog = AboutDialog(themes, "1.2.3", (("Engine", "llama.cpp b1"), ("Device", "CPU")))
    qtbot.addWidget(dialog)
    dialog.copy_report()
    assert QGuiApplication.clipboard().text() == (
        "Plimsoll 1.2.3\nEngine: llama.cpp b1\nDevice: CPU"
    )
