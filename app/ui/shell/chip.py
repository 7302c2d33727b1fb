"""An attached file in the composer: its name, its tokens or what is wrong with it, and a cross."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QToolButton, QWidget

from app.ui.elide import ElidedLabel
from app.ui.icons import IconKeeper
from app.ui.numbers import numbered
from app.ui.shell.views import AttachmentChip
from app.ui.theme import ThemeManager

__all__ = ["Chip"]


class Chip(QFrame):
    """Shows one file; made anew when it changes.

    Signals:
        removed(str): key of the chip whose cross was pressed.
    """

    removed = Signal(str)

    def __init__(self, chip: AttachmentChip, themes: ThemeManager, parent: QWidget) -> None:
        super().__init__(parent)
        theme = themes.theme
        self.setObjectName("chip")
        name = ElidedLabel(chip.name, self, Qt.TextElideMode.ElideMiddle)
        name.setMaximumWidth(theme.px(220))
        note = QLabel(self)
        note.setProperty("kind", "error" if chip.problem else "faint")
        if chip.problem:
            note.setText(self.tr("can't be sent"))
        elif chip.tokens is not None:
            note.setText(numbered(chip.tokens, self.tr("1 token"), self.tr("%n tokens")))
        else:
            note.setText(self.tr("counting…"))
        sentence = chip.problem or chip.warning
        if chip.warning and not chip.problem:
            note.setText(self.tr("%1, file is gone").replace("%1", note.text()))
        self.setToolTip(sentence or chip.name)
        self.setAccessibleName(f"{chip.name}, {sentence or note.text()}")
        cross = QToolButton(self)
        cross.setProperty("kind", "flat")
        cross.setToolTip(self.tr("Remove"))
        cross.setAccessibleName(self.tr("Remove %1").replace("%1", chip.name))
        IconKeeper(cross, themes, "close", "dim", 11)
        cross.clicked.connect(lambda: self.removed.emit(chip.key))
        row = QHBoxLayout(self)
        row.setContentsMargins(theme.px(9), theme.px(2), theme.px(2), theme.px(2))
        row.setSpacing(theme.px(7))
        row.addWidget(name)
        row.addWidget(note)
        row.addWidget(cross)
