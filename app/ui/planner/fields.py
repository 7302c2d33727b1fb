"""Fields of the planner's form and dialogs: whole numbers with units, and a slider for tokens."""

from __future__ import annotations

import math
import re
from typing import Final

from PySide6.QtCore import QEvent, QSize, Qt, Signal, Slot
from PySide6.QtGui import QValidator, QWheelEvent
from PySide6.QtWidgets import (
    QAbstractSpinBox,
    QCheckBox,
    QLabel,
    QSizePolicy,
    QSlider,
    QSpinBox,
    QVBoxLayout,
    QWidget,
)

from app.ui.elide import ElidedLabel
from app.ui.fields import PlainChoice, is_for_page
from app.ui.look import set_look
from app.ui.numbers import grouped
from app.ui.theme import ThemeManager

__all__ = ["ChoiceBox", "CountField", "Field", "LogSlider", "indent", "parse_count"]

_NUMBER: Final = re.compile(r"^\s*([\d.,\s\u00a0\u202f']*\d)\s*([kKmM]?)(?:i?b?|)\s*$")
_FACTORS: Final = {"": 1, "k": 1024, "m": 1024**2}
_OCTAVE: Final = 8
_MOST_DIGITS: Final = 12
_INDENT_PX: Final = 7


def indent(field: QAbstractSpinBox) -> None:
    """Begin a spin box's text where other fields' begins: style sheets don't reach it there."""
    field.lineEdit().setTextMargins(_INDENT_PX, 0, 0, 0)


def parse_count(text: str) -> int | None:
    """Return a whole number as people type it (32768, 32,768, 32K), None if it is none."""
    match = _NUMBER.match(text)
    if match is None:
        return None
    digits, unit = match[1], match[2].lower()
    if unit and re.fullmatch(r"\d+[.,]\d{1,2}", digits):
        return round(float(digits.replace(",", ".")) * _FACTORS[unit])
    plain = re.sub(r"\D", "", digits)
    return int(plain) * _FACTORS[unit] if plain and len(plain) <= _MOST_DIGITS else None


def _is_vast(text: str) -> bool:
    """Tell a number that is beyond every limit, and too long to be read."""
    return _NUMBER.match(text) is not None and len(re.sub(r"\D", "", text)) > _MOST_DIGITS


class CountField(QSpinBox):
    """A whole number with groups of digits that also takes 32K; arrows step it.

    Signals:
        refused(str): why what is typed is not taken as it is; empty once it is.
    """

    refused = Signal(str)

    def __init__(self, low: int, high: int, step: int = 1, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setRange(low, high)
        self.setSingleStep(step)
        self.setKeyboardTracking(False)
        self.setCorrectionMode(QSpinBox.CorrectionMode.CorrectToNearestValue)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        indent(self)
        self._typed = ""
        self.lineEdit().textEdited.connect(self._on_typed)
        self.lineEdit().inputRejected.connect(self._on_rejected)
        self.editingFinished.connect(self._on_finished)
        self.valueChanged.connect(self._on_value)

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Let the page scroll past, unless the field has the keyboard."""
        if not is_for_page(self, event):
            super().wheelEvent(event)

    def textFromValue(self, value: int) -> str:
        """Return the number with groups of digits."""
        return grouped(value)

    def valueFromText(self, text: str) -> int:
        """Return what was typed, within the limits."""
        if self._is_special(text):
            return self.minimum()
        found = self.maximum() if _is_vast(text) else parse_count(text)
        return self.value() if found is None else min(max(found, self.minimum()), self.maximum())

    def validate(self, text: str, position: int) -> tuple[QValidator.State, str, int]:
        """Accept anything that may become a number."""
        if self._is_special(text):
            return QValidator.State.Acceptable, text, position
        special = self.specialValueText().casefold()
        if not text.strip() or special.startswith(text.strip().casefold()):
            return QValidator.State.Intermediate, text, position
        if parse_count(text) is not None or _is_vast(text):
            return QValidator.State.Acceptable, text, position
        if re.fullmatch(r"[\d.,\s\u00a0\u202f']*[kKmM]?", text):
            return QValidator.State.Intermediate, text, position
        return QValidator.State.Invalid, text, position

    def _is_special(self, text: str) -> bool:
        """Tell whether a text is the words for the least value, such as "all 33", or the first."""
        special = self.specialValueText().casefold()
        return bool(special) and text.strip().casefold() in {special, special.split()[0]}

    def _too_far(self, text: str, *, is_whole: bool) -> str:
        """Return which end a number is beyond; a beginning may be below the lower one."""
        found = parse_count(text)
        if (found or 0) > self.maximum() or _is_vast(text):
            return self.tr("At most %1").replace("%1", grouped(self.maximum()))
        if is_whole and found is not None and found < self.minimum():
            return self.tr("At least %1").replace("%1", grouped(self.minimum()))
        return ""

    @Slot(str)
    def _on_typed(self, text: str) -> None:
        self._typed = text
        self.refused.emit(self._too_far(text, is_whole=False))

    @Slot()
    def _on_rejected(self) -> None:
        self.refused.emit(self.tr("A whole number"))

    @Slot()
    def _on_finished(self) -> None:
        if self._typed:  # the limit stands in its place now
            self.refused.emit(self._too_far(self._typed, is_whole=True))
        self._typed = ""

    @Slot()
    def _on_value(self) -> None:
        if not self._typed:  # stepped, or set from elsewhere
            self.refused.emit("")


class LogSlider(QSlider):
    """A slider on which each doubling is as long as the one before.

    Signals:
        moved(int): the user moved it to this value.
    """

    moved = Signal(int)

    def __init__(
        self, low: int, high: int, multiple: int = 1, parent: QWidget | None = None
    ) -> None:
        super().__init__(Qt.Orientation.Horizontal, parent)
        self._low = low
        self._high = high
        self._multiple = multiple
        self._count = low
        self.set_limits(low, high)
        self.setSingleStep(1)
        self.setPageStep(_OCTAVE)
        self.valueChanged.connect(self._on_position)
        self._mirror()

    def set_limits(self, low: int, high: int) -> None:
        """Set the ends; the value stays."""
        self._low, self._high = low, max(high, low)
        self.blockSignals(True)
        self.setRange(0, max(math.ceil(math.log2(self._high / low) * _OCTAVE), 1))
        self.blockSignals(False)
        self.set_count(self._count)

    def set_count(self, count: int) -> None:
        """Show a value; nothing is emitted."""
        self._count = count
        inside = min(max(count, self._low), self._high)
        self.blockSignals(True)
        self.setValue(round(math.log2(inside / self._low) * _OCTAVE))
        self.blockSignals(False)

    def count_at(self, position: int) -> int:
        """Return the value of a position."""
        exact = self._low * 2 ** (position / _OCTAVE)
        rounded = round(exact / self._multiple) * self._multiple
        return int(min(max(rounded, self._low), self._high))

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Let the page scroll past, unless the slider has the keyboard."""
        if not is_for_page(self, event):
            super().wheelEvent(event)

    def changeEvent(self, event: QEvent) -> None:
        """Fill from the other side in scripts that are read from right to left."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.LayoutDirectionChange:
            self._mirror()

    def _mirror(self) -> None:
        # Qt turns the handle's way around, but not which part a style sheet fills.
        set_look(self, "mirrored", self.isRightToLeft())

    @Slot(int)
    def _on_position(self, position: int) -> None:
        self._count = self.count_at(position)
        self.moved.emit(self._count)


class ChoiceBox(PlainChoice):
    """A box that shows what is chosen and asks for a popup of another kind.

    Signals:
        wanted(): it was pressed.
    """

    wanted = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.addItem("")
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)

    def set_text(self, text: str) -> None:
        """Show what is chosen."""
        self.setItemText(0, text)
        self.setToolTip(text)

    def showPopup(self) -> None:
        """Ask for the popup."""
        self.wanted.emit()

    def minimumSizeHint(self) -> QSize:
        """Allow any width."""
        return QSize(40, super().minimumSizeHint().height())


class Field(QWidget):
    """A label, an editor, and below it a slider, a check box or a faint hint."""

    def __init__(
        self,
        themes: ThemeManager,
        label: str,
        editor: QWidget,
        below: QWidget | None = None,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._themes = themes
        self.editor = editor
        self.hint = ElidedLabel("", self)
        self.hint.setProperty("kind", "faint")
        self._name = label
        self._label = QLabel(label, self)
        self._label.setProperty("kind", "faint")
        self._label.setBuddy(editor)
        editor.setAccessibleName(label)
        self._below = below
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.addWidget(self._label)
        self._column.addWidget(editor)
        self._column.addWidget(self.hint if below is None else below)
        self.hint.setVisible(below is None)
        if isinstance(below, QSlider):
            below.setAccessibleName(label)
        if isinstance(editor, CountField):
            editor.refused.connect(self._on_refused)
        themes.changed.connect(self._space)
        self._space()

    def least_width(self) -> int:
        """Return the width at which no word of its label, or of a check box below it, is cut."""
        below = self._below.minimumSizeHint().width() if isinstance(self._below, QCheckBox) else 0
        return max(self._label.sizeHint().width(), below)

    @Slot(str)
    def _on_refused(self, why: str) -> None:
        # In the label's place: below there may be a slider, and nothing is to jump.
        self._label.setText(why or self._name)
        set_look(self._label, "kind", "error" if why else "faint")
        self.editor.setAccessibleDescription(why)

    @Slot()
    def _space(self) -> None:
        theme = self._themes.theme
        self._column.setSpacing(theme.px(3))
        self.editor.setFixedHeight(theme.px(34))
        below = self._below or self.hint
        below.setFixedHeight(max(theme.px(20), below.minimumSizeHint().height()))
