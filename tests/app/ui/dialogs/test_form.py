from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QFileDialog,
    QLineEdit,
    QListWidget,
    QPlainTextEdit,
    QPushButton,
)
from pytestqt.qtbot import QtBot

from app.settings import TABLE, Setting, SettingError, by_scope, declared
from app.ui.dialogs.editors import NumberField
from app.ui.dialogs.form import SettingsForm
from app.ui.theme import ThemeManager

pytestmark = pytest.mark.qt_log_ignore("This plugin does not support", extend=True)


def make(
    qtbot: QtBot, themes: ThemeManager, settings: Sequence[Setting], **more: Any
) -> SettingsForm:
    form = SettingsForm(settings, themes, **more)
    qtbot.addWidget(form)
    form.resize(500, 600)
    form.show()
    return form


@pytest.mark.parametrize("scope", ["app", "load", "sampling"])
def test_every_declared_setting_can_be_shown_and_read_back(
    qtbot: QtBot, themes: ThemeManager, scope: Any
) -> None:
    form = make(qtbot, themes, by_scope(scope))
    assert form.values() == {setting.key: setting.default for setting in by_scope(scope)}
    assert form.is_valid()
    for row in form.rows():
        field = row.editor.field()
        assert field.accessibleName(), row.setting.key


def test_a_model_file_is_chosen_although_none_was_wanted(
    qtbot: QtBot, themes: ThemeManager, tmp_path: Path
) -> None:
    form = make(qtbot, themes, [declared("load", "draft")], fold_advanced=False)
    row = form.row("draft")
    choose = next(item for item in row.findChildren(QPushButton) if item.text() == "Choose…")
    assert choose.isEnabled()
    assert choose.accessibleName() == "Draft model: Choose…"
    assert row.value() is None
    QTest.mouseClick(choose, Qt.MouseButton.LeftButton)
    dialog = next(item for item in row.findChildren(QFileDialog))
    file = tmp_path / "small.gguf"
    file.write_bytes(b"GGUF")
    with qtbot.waitSignal(form.value_changed) as told:
        dialog.fileSelected.emit(str(file))
    assert told.args == ["draft", str(file)]
    assert row.value() == str(file)
    assert row.editor.field().isEnabled()
    dialog.reject()


def test_what_will_come_of_a_value_is_said_and_keeps_nothing_back(
    qtbot: QtBot, themes: ThemeManager
) -> None:
    form = make(qtbot, themes, by_scope("load"), fold_advanced=False)
    row = form.row("draft")
    row.set_warning("There is no such file.")
    assert form.is_valid()
    assert row._error.isVisible()
    assert row._error.text() == "There is no such file."
    row.set_warning("")
    assert not row._error.isVisible()


# Texts that not any text will do for.
_CHECKED = {"rpc": ((), ("tower:50052", "10.0.0.5:1")), "tensor_split": ("3,1", "0.5/2")}


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        (setting, value)
        for setting in TABLE
        for value in _CHECKED.get(setting.key)
        or {
            "bool": (True, False),
            "int": (setting.minimum, setting.maximum),
            "float": (setting.minimum, setting.maximum),
            "choice": [name for name, _ in setting.choices],
            "text": ("one line", "two\nlines" if setting.key == "grammar" else "x"),
            "lines": ((), ("</s>", "two\nlines", "a b")),
            "folders": ((), ("/models", "/home/me/more models")),
        }[setting.kind]
    ],
    ids=lambda value: value.key if isinstance(value, Setting) else repr(value)[:24],
)
def test_what_is_set_is_what_is_read(
    qtbot: QtBot, themes: ThemeManager, setting: Setting, value: Any
) -> None:
    form = make(qtbot, themes, [setting])
    form.set_values({setting.key: value})
    assert form.values() == {setting.key: value}
    assert form.is_valid()
    if setting.none_label is not None:
        form.set_values({setting.key: None})
        assert form.values() == {setting.key: None}


def test_a_change_is_said_with_its_value(qtbot: QtBot, themes: ThemeManager) -> None:
    form = make(qtbot, themes, [declared("sampling", "temperature")])
    said: list[tuple[str, object]] = []
    form.value_changed.connect(lambda key, value: said.append((key, value)))
    field = form.row("temperature").editor.field()
    assert isinstance(field, NumberField)
    field.selectAll()
    QTest.keyClicks(field, "1.25")
    QTest.keyClick(field, Qt.Key.Key_Up)
    QTest.keyClick(field, Qt.Key.Key_Down)
    QTest.keyClick(field, Qt.Key.Key_Down)
    assert said[-4:] == [
        ("temperature", 1.25),
        ("temperature", 1.3),
        ("temperature", 1.25),
        ("temperature", 1.2),
    ]


@pytest.mark.parametrize("typed", ["", "many", "-1", "6", "nan", "1e999"])
def test_a_wrong_value_is_explained_in_place(
    qtbot: QtBot, themes: ThemeManager, typed: str
) -> None:
    form = make(qtbot, themes, [declared("sampling", "temperature")])
    validity: list[bool] = []
    form.validity_changed.connect(validity.append)
    row = form.row("temperature")
    field = row.editor.field()
    assert isinstance(field, QLineEdit)
    field.clear()
    with qtbot.assertNotEmitted(form.value_changed):
        QTest.keyClicks(field, "x")
        QTest.keyClick(field, Qt.Key.Key_Backspace)
    field.setText(typed)
    field.textEdited.emit(typed)
    assert row.fault.startswith("Temperature")
    assert row._error.isVisible()
    assert field.property("invalid") is True
    assert not form.is_valid()
    with pytest.raises(SettingError):
        form.values()
    row._reset.click()
    assert form.is_valid()
    assert form.values() == {"temperature": 0.7}
    assert validity == [False, True]


def test_numbers_beyond_32_bits_and_decimal_commas(qtbot: QtBot, themes: ThemeManager) -> None:
    settings = [declared("sampling", "seed"), declared("sampling", "top_p")]
    form = make(qtbot, themes, settings)
    form.set_values({"seed": 4_294_967_294})
    top_p = form.row("top_p").editor.field()
    assert isinstance(top_p, QLineEdit)
    top_p.setText("0,5")
    top_p.textEdited.emit("0,5")
    assert form.values() == {"seed": 4_294_967_294, "top_p": 0.5}


def test_steps_stop_at_the_ends(qtbot: QtBot, themes: ThemeManager) -> None:
    form = make(qtbot, themes, [declared("app", "text_size")])
    form.set_values({"text_size": 198})
    field = form.row("text_size").editor.field()
    QTest.keyClick(field, Qt.Key.Key_Up)
    assert form.values() == {"text_size": 200}


def test_none_is_a_tick_away(qtbot: QtBot, themes: ThemeManager) -> None:
    form = make(qtbot, themes, [declared("load", "n_ctx")])
    said: list[object] = []
    form.value_changed.connect(lambda _key, value: said.append(value))
    box = form.row("n_ctx").editor.field()
    assert isinstance(box, QCheckBox)
    box.click()
    assert said == [256]  # the least it takes, to begin with
    box.click()
    assert said == [256, None]


def test_what_is_taken_is_shown_while_nothing_is_set(qtbot: QtBot, themes: ThemeManager) -> None:
    form = make(qtbot, themes, [declared("load", "n_ctx")])
    row = form.row("n_ctx")
    number = row.editor.findChild(NumberField)
    box = row.editor.field()
    assert isinstance(number, NumberField)
    assert isinstance(box, QCheckBox)
    assert number.text() == ""  # the least that could be set is not what will be taken
    row.set_automatic(8192, "up to 106,240 fit")
    assert number.text() == "8192"
    assert not number.isEnabled()
    assert row._used.text() == "up to 106,240 fit"
    row.set_used("8,192")
    assert row._used.text() == "used: 8,192 · up to 106,240 fit"
    assert form.values() == {"n_ctx": None}
    box.click()
    assert form.values() == {"n_ctx": 8192}
    number.setText("4096")
    number.textEdited.emit("4096")
    row.editor.findChild(QCheckBox).click()  # type: ignore[union-attr]
    assert (form.values(), number.text()) == ({"n_ctx": None}, "8192")
    row.set_automatic(2048)
    assert number.text() == "2048"
    row.editor.findChild(QCheckBox).click()  # type: ignore[union-attr]
    assert form.values() == {"n_ctx": 4096}  # what was typed is not lost
    row.set_automatic(1024)
    assert form.values() == {"n_ctx": 4096}


def test_only_what_differs_can_be_reset(qtbot: QtBot, themes: ThemeManager) -> None:
    form = make(qtbot, themes, [declared("load", "type_k")])
    row = form.row("type_k")
    assert not row._reset.isVisible()
    box = row.editor.field()
    assert isinstance(box, QComboBox)
    box.setCurrentIndex(box.findData("q8_0"))
    box.activated.emit(box.currentIndex())
    assert row._reset.isVisible()
    with qtbot.waitSignal(form.value_changed) as changed:
        row._reset.click()
    assert changed.args == ["type_k", "f16"]


def test_advanced_rows_are_folded(qtbot: QtBot, themes: ThemeManager) -> None:
    form = make(qtbot, themes, by_scope("load"))
    assert form.row("n_ctx").isVisible()
    assert not form.row("mlock").isVisible()
    form.set_advanced_shown(True)
    assert form.row("mlock").isVisible()
    form.set_advanced_shown(False)
    assert not form.row("mlock").isVisible()


def test_a_search_finds_folded_rows_too(qtbot: QtBot, themes: ThemeManager) -> None:
    form = make(qtbot, themes, by_scope("load"))
    assert form.set_query("lock memory") == 1
    assert form.row("mlock").isVisible()
    assert not form.row("n_ctx").isVisible()
    assert form.set_query("no such thing") == 0
    form.set_query("")
    assert form.row("n_ctx").isVisible()
    assert not form.row("mlock").isVisible()


def test_groups_are_pages(qtbot: QtBot, themes: ThemeManager) -> None:
    form = make(qtbot, themes, by_scope("app"), fold_advanced=False)
    form.set_group("Privacy")
    assert form.row("log_chat_text").isVisible()
    assert not form.row("theme").isVisible()
    form.set_group(None)
    assert form.row("theme").isVisible()


def test_what_the_engine_used_stands_beside(qtbot: QtBot, themes: ThemeManager) -> None:
    form = make(qtbot, themes, by_scope("load"))
    form.set_used({"n_ctx": "32,768"})
    assert form.row("n_ctx")._used.text() == "used: 32,768"
    assert form.row("n_ctx")._used.isVisible()
    form.set_used({})
    assert not form.row("n_ctx")._used.isVisible()


def test_names_can_be_offered_for_a_text(qtbot: QtBot, themes: ThemeManager) -> None:
    names = (("chatml", "ChatML"), ("llama3", "Llama 3"))
    form = make(qtbot, themes, [declared("load", "template")], choices={"template": names})
    form.set_values({"template": "llama3"})
    box = form.row("template").editor.findChild(QComboBox)
    assert isinstance(box, QComboBox)
    assert box.currentText() == "Llama 3"
    assert form.values() == {"template": "llama3"}


def test_folders_are_added_once_and_removed(qtbot: QtBot, themes: ThemeManager) -> None:
    form = make(qtbot, themes, [declared("app", "model_folders")])
    said: list[object] = []
    form.value_changed.connect(lambda _key, value: said.append(value))
    editor: Any = form.row("model_folders").editor
    editor.add_folder("/models")
    editor.add_folder("/models")
    folders = editor.field()
    assert isinstance(folders, QListWidget)
    folders.setCurrentRow(0)
    editor._remove.click()
    assert said == [("/models",), ()]


def test_typing_into_a_text_says_so_and_setting_it_does_not(
    qtbot: QtBot, themes: ThemeManager
) -> None:
    form = make(qtbot, themes, [declared("sampling", "stop")])
    field = form.row("stop").editor.field()
    assert isinstance(field, QPlainTextEdit)
    with qtbot.assertNotEmitted(form.value_changed):
        form.set_values({"stop": ("a",)})
    with qtbot.waitSignal(form.value_changed) as changed:
        field.appendPlainText("b")
    assert changed.args == ["stop", ("a", "b")]


def test_reset_all(qtbot: QtBot, themes: ThemeManager) -> None:
    form = make(qtbot, themes, by_scope("sampling"))
    form.set_values({"temperature": 2.0, "stop": ("x",), "seed": 7})
    form.reset_all()
    assert form.values() == {s.key: s.default for s in by_scope("sampling")}


def test_an_address_that_is_none_is_explained_in_place(qtbot: QtBot, themes: ThemeManager) -> None:
    form = make(qtbot, themes, [declared("app", "rpc")])
    row = form.row("rpc")
    field = row.editor.field()
    assert isinstance(field, QPlainTextEdit)
    QTest.keyClicks(field, "tower")
    assert "HOST:PORT" in row.fault
    assert row._error.isVisible()
    with qtbot.waitSignal(form.value_changed) as said:
        QTest.keyClicks(field, ":5")
    assert said.args == ["rpc", ("tower:5",)]
    assert row.fault == ""
