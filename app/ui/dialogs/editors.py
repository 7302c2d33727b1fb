"""One editor for each kind of setting, all with the same two methods and one signal.

Values are checked by the setting itself (`Setting.check`); an editor only turns what is on screen
into a Python value. Numbers are typed into a field of their own rather than a spin box: those end
at 32 bits and silently correct what is typed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import QSize, Qt, Slot
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QLabel,
    QLineEdit,
    QPlainTextEdit,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from app.settings import Setting
from app.ui.dialogs.editor_base import Editor, LineEditor, in_row
from app.ui.dialogs.file_editors import FoldersEditor, ModelFileEditor
from app.ui.fields import PlainChoice
from app.ui.theme import ThemeManager

__all__ = ["Editor", "make_editor"]

_LONG_TEXTS = {"system_prompt", "grammar", "json_schema"}
_MODEL_FILES = {"draft"}


class _BoolEditor(Editor):
    def __init__(self, setting: Setting, parent: QWidget) -> None:
        super().__init__(parent)
        self._box = QCheckBox(setting.label, self)
        self._box.clicked.connect(self.edited)
        in_row(self, self._box)

    def value(self) -> object:
        return self._box.isChecked()

    def set_value(self, value: Any) -> None:
        self._box.setChecked(bool(value))

    def field(self) -> QWidget:
        return self._box


class NumberField(QLineEdit):
    """A number with the arrow keys as steps; it holds what was typed until that is a number."""

    def __init__(self, setting: Setting, parent: QWidget) -> None:
        super().__init__(parent)
        self._setting = setting
        self.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)

    def sizeHint(self) -> QSize:
        """Return room for ten digits at the text's present size."""
        hint = super().sizeHint()
        return QSize(self.fontMetrics().horizontalAdvance("0" * 12), hint.height())

    def number(self) -> object:
        """Return the number, or the text when it is none."""
        text = self.text().strip().replace(",", "" if self._setting.kind == "int" else ".")
        text = text.replace("\u202f", "").replace("\u00a0", "").replace(" ", "")
        try:
            return int(text) if self._setting.kind == "int" else float(text)
        except ValueError:
            return self.text()

    def show_number(self, value: Any) -> None:
        """Show a number without needless digits."""
        if self._setting.kind == "int":
            self.setText(str(int(value)))
        else:
            self.setText(f"{float(value):.6g}")

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Step with Up and Down."""
        steps = {Qt.Key.Key_Up: 1, Qt.Key.Key_Down: -1}
        step = steps.get(Qt.Key(event.key()))
        current = self.number()
        if step is None or not isinstance(current, int | float):
            super().keyPressEvent(event)
            return
        setting = self._setting
        wanted = current + step * (setting.step or 1)
        low = setting.minimum if setting.minimum is not None else wanted
        high = setting.maximum if setting.maximum is not None else wanted
        self.show_number(min(max(wanted, low), high))
        self.textEdited.emit(self.text())


class _NumberEditor(Editor):
    def __init__(self, setting: Setting, parent: QWidget) -> None:
        super().__init__(parent)
        self._number = NumberField(setting, self)
        self._number.textEdited.connect(self.edited)
        unit = QLabel(setting.unit, self)
        unit.setProperty("kind", "faint")
        in_row(self, self._number, unit, stretch=True)

    def value(self) -> object:
        return self._number.number()

    def set_value(self, value: Any) -> None:
        self._number.show_number(value)

    def show_nothing(self) -> None:
        self._number.clear()

    def field(self) -> QWidget:
        return self._number


class _ChoiceEditor(Editor):
    def __init__(self, choices: Sequence[tuple[str, str]], parent: QWidget) -> None:
        super().__init__(parent)
        self._box = PlainChoice(self)
        for name, text in choices:
            self._box.addItem(text, name)
        self._box.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToContents)
        self._box.activated.connect(self.edited)
        in_row(self, self._box, stretch=True)

    def value(self) -> object:
        return self._box.currentData()

    def set_value(self, value: Any) -> None:
        self._box.setCurrentIndex(max(self._box.findData(value), 0))

    def show_nothing(self) -> None:
        self._box.setCurrentIndex(-1)

    def field(self) -> QWidget:
        return self._box


class _Lines(QPlainTextEdit):
    """A text field that is so many lines high, at the text's present size."""

    def __init__(self, rows: int, parent: QWidget) -> None:
        super().__init__(parent)
        self._rows = rows
        self.setTabChangesFocus(True)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def sizeHint(self) -> QSize:
        """Return the height of the lines with the frame around them."""
        spacing = self.fontMetrics().lineSpacing()
        return QSize(super().sizeHint().width(), round((self._rows + 1.3) * spacing))

    def minimumSizeHint(self) -> QSize:
        """Return the same height: the page scrolls, not the field."""
        return QSize(super().minimumSizeHint().width(), self.sizeHint().height())


class _TextEditor(Editor):
    """Several lines: one text, or with ``as_lines`` a list of texts."""

    def __init__(self, parent: QWidget, *, as_lines: bool, rows: int = 4) -> None:
        super().__init__(parent)
        self._as_lines = as_lines
        self._text = _Lines(rows, self)
        self._text.textChanged.connect(self._on_changed)
        self._quiet = False
        in_row(self, self._text)

    def value(self) -> object:
        text = self._text.toPlainText()
        if not self._as_lines:
            return text
        # A line break within a stop string is written \n, since lines separate the strings.
        return tuple(line.replace("\\n", "\n") for line in text.split("\n") if line)

    def set_value(self, value: Any) -> None:
        shown = value
        if self._as_lines:
            shown = "\n".join(str(line).replace("\n", "\\n") for line in value)
        self._quiet = True
        self._text.setPlainText(str(shown))
        self._quiet = False

    def field(self) -> QWidget:
        return self._text

    @Slot()
    def _on_changed(self) -> None:
        if not self._quiet:
            self.edited.emit()


class _OptionalEditor(Editor):
    """An editor beside a box that stands for None ("chosen by Plimsoll").

    While the box is ticked the greyed editor shows the value that will be taken, if that is known.
    """

    def __init__(self, setting: Setting, inner: Editor, parent: QWidget) -> None:
        super().__init__(parent)
        assert setting.none_label is not None
        self._inner = inner
        inner.setParent(self)
        self._is_number = setting.kind in {"int", "float"}
        self._least = setting.minimum if self._is_number else ""
        self._automatic: Any = None
        self._own: Any = None  # what was set or typed last
        self._none = QCheckBox(setting.none_label, self)
        self._none.setAccessibleName(f"{setting.label}: {setting.none_label}")
        self._none.clicked.connect(self._on_none)
        inner.edited.connect(self._on_edited)
        if isinstance(inner, _TextEditor):
            column = QVBoxLayout(self)
            column.setContentsMargins(0, 0, 0, 0)
            column.addWidget(self._none)
            column.addWidget(inner)
        else:
            # A path or an address needs all the room there is, a number only its own.
            is_line = isinstance(inner, LineEditor)
            wide = QSizePolicy.Policy.Expanding if is_line else QSizePolicy.Policy.Maximum
            inner.setSizePolicy(wide, QSizePolicy.Policy.Preferred)
            in_row(self, inner, self._none, stretch=not is_line)

    def value(self) -> object:
        return None if self._none.isChecked() else self._inner.value()

    def set_value(self, value: Any) -> None:
        self._none.setChecked(value is None)
        if value is not None:
            self._own = value
            self._inner.set_value(value)
        self._show_state()

    def set_automatic(self, value: Any) -> None:
        self._automatic = value
        self._show_state()

    def field(self) -> QWidget:
        return self._none if self._none.isChecked() else self._inner.field()

    @Slot()
    def _on_edited(self) -> None:
        self._own = self._inner.value()
        if self._none.isChecked():  # a file was chosen
            self._none.setChecked(False)
            self._show_state()
        self.edited.emit()

    @Slot()
    def _on_none(self) -> None:
        if not self._none.isChecked():
            # Begin with what was there before, or with what would have been taken.
            begin = self._least if self._automatic is None else self._automatic
            self._inner.set_value(begin if self._own is None else self._own)
        self._show_state()
        if not self._none.isChecked():
            self._inner.field().setFocus()
        self.edited.emit()

    def _show_state(self) -> None:
        is_none = self._none.isChecked()
        if is_none and self._automatic is not None:
            self._inner.set_value(self._automatic)
        elif is_none:
            self._inner.show_nothing()
        self._inner.set_open(not is_none)
        if isinstance(self._inner, _TextEditor):
            self._inner.setHidden(is_none)


def make_editor(
    setting: Setting,
    themes: ThemeManager,
    parent: QWidget,
    choices: Sequence[tuple[str, str]] = (),
) -> Editor:
    """Return the editor of a setting. ``choices`` offers a list for a text."""
    editor: Editor
    if setting.kind == "bool":
        editor = _BoolEditor(setting, parent)
    elif setting.kind in {"int", "float"}:
        editor = _NumberEditor(setting, parent)
    elif choices or setting.kind == "choice":
        editor = _ChoiceEditor(choices or setting.choices, parent)
    elif setting.kind == "folders":
        editor = FoldersEditor(themes, parent)
    elif setting.kind == "lines":
        editor = _TextEditor(parent, as_lines=True, rows=2)
    elif setting.key in _LONG_TEXTS:
        editor = _TextEditor(parent, as_lines=False)
    elif setting.key in _MODEL_FILES:
        editor = ModelFileEditor(setting, parent)
    else:
        editor = LineEditor(parent)
    if setting.none_label is not None:
        editor = _OptionalEditor(setting, editor, parent)
    return editor
