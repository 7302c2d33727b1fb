"""The composer's attached files: a chip for each, and what is to be said of some of them."""

from __future__ import annotations

from typing import Final

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import QLabel, QSizePolicy, QVBoxLayout, QWidget

from app.ui.numbers import numbered
from app.ui.shell.chip import Chip
from app.ui.shell.focus import hand_focus_on
from app.ui.shell.shrinkable import Shrinkable
from app.ui.shell.views import AttachmentChip
from app.ui.theme import ThemeManager
from inspector.widgets.flow import FlowLayout

__all__ = ["ChipRow"]

_MOST_REASONS: Final = 3


class ChipRow(Shrinkable):
    """Chips that wrap, with a sentence below for each file that can't be sent, or is gone.

    Hidden without any chip.

    Signals:
        removed(str): key of the chip whose cross was pressed.
    """

    removed = Signal(str)

    def __init__(self, themes: ThemeManager, parent: QWidget | None = None) -> None:
        content = QWidget()
        self._chips = QWidget(content)
        self._flow = FlowLayout(self._chips)
        # Not in the tooltip of its chip alone: neither keyboard nor finger would find it there.
        self._reasons = _sentences(content, "error")
        self._warnings = _sentences(content, "small")
        self._column = QVBoxLayout(content)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.addWidget(self._chips)
        self._column.addWidget(self._warnings)
        self._column.addWidget(self._reasons)
        super().__init__(content, parent)
        self._themes = themes
        self._shown: tuple[AttachmentChip, ...] = ()
        self.verticalScrollBar().rangeChanged.connect(self._show_reasons)
        self.hide()
        themes.changed.connect(self._apply_theme)
        self._apply_theme()

    @property
    def chips(self) -> tuple[AttachmentChip, ...]:
        """What is shown."""
        return self._shown

    def set_chips(self, chips: tuple[AttachmentChip, ...]) -> None:
        """Show files."""
        if chips != self._shown:
            self._shown = chips
            self._fill()

    def reasons(self) -> str:
        """Return the sentences below the chips."""
        return self._reasons.text()

    def warnings(self) -> str:
        """Return what is said below of files that can be sent."""
        return self._warnings.text()

    @Slot()
    def _show_reasons(self) -> None:
        """Keep why files can't be sent in sight where there is no room for all."""
        if self._reasons.text():
            self.verticalScrollBar().setValue(self.verticalScrollBar().maximum())

    def _fill(self) -> None:
        while (item := self._flow.takeAt(0)) is not None:
            if (widget := item.widget()) is not None:
                hand_focus_on(widget)
                widget.hide()
                widget.deleteLater()
        for shown in self._shown:
            chip = Chip(shown, self._themes, self._chips)
            chip.removed.connect(self.removed)
            self._flow.addWidget(chip)
        problems = [chip.problem for chip in self._shown if chip.problem]
        more = len(problems) - _MOST_REASONS
        lines = problems[:_MOST_REASONS]
        if more > 0:
            one, many = self.tr("1 more file can't be sent."), self.tr("%n more can't be sent.")
            lines.append(numbered(more, one, many))
        _say(self._reasons, lines)
        _say(self._warnings, [chip.warning for chip in self._shown if chip.warning])
        self.setVisible(bool(self._shown))

    @Slot()
    def _apply_theme(self) -> None:
        theme = self._themes.theme
        self._chips.setContentsMargins(theme.px(6), theme.px(2), 0, 0)
        for label in (self._reasons, self._warnings):
            label.setContentsMargins(theme.px(6), 0, 0, 0)
        self._flow.setSpacing(theme.px(6))
        self._column.setSpacing(theme.px(6))
        self.setMaximumHeight(theme.px(128))
        self._fill()


def _sentences(parent: QWidget, kind: str) -> QLabel:
    """Return a label for sentences of any length, hidden as yet."""
    label = QLabel(parent)
    label.setProperty("kind", kind)
    label.setTextFormat(Qt.TextFormat.PlainText)
    label.setWordWrap(True)
    label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
    policy = QSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
    policy.setHeightForWidth(True)
    label.setSizePolicy(policy)
    label.hide()
    return label


def _say(label: QLabel, lines: list[str]) -> None:
    # A long name without a space may be broken where its words end.
    label.setText("\n".join(lines).replace("_", "_\u200b"))
    label.setVisible(bool(lines))
