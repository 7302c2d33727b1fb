"""The line at the bottom: what the engine runs on, and how it is."""

from __future__ import annotations

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QFrame, QHBoxLayout, QWidget

from app.ui.elide import ElidedLabel
from app.ui.shell.views import Segment, StatusFacts
from app.ui.theme import ThemeManager

__all__ = ["StatusLine"]

_TOKENS = {"info": "dim", "warning": "warning", "error": "danger"}


class StatusLine(QFrame):
    """Segments from the left, and some at the far end; shortened when the window is narrow."""

    def __init__(self, themes: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("statusLine")
        self._themes = themes
        self._facts = StatusFacts()
        self._labels: list[ElidedLabel] = []
        self._row = QHBoxLayout(self)
        themes.changed.connect(self._apply_theme)
        self._apply_theme()

    def set_facts(self, facts: StatusFacts) -> None:
        """Show segments; labels are kept while their number is the same."""
        if facts == self._facts:
            return
        same_shape = (len(facts.left), len(facts.right)) == (
            len(self._facts.left),
            len(self._facts.right),
        )
        self._facts = facts
        if not same_shape:
            self._rebuild()
        for label, segment in zip(self._labels, (*facts.left, *facts.right), strict=True):
            self._fill(label, segment)

    def texts(self) -> list[str]:
        """Return what is shown, from the left."""
        return [label.text() for label in self._labels]

    def _rebuild(self) -> None:
        while (item := self._row.takeAt(0)) is not None:
            if (widget := item.widget()) is not None:
                widget.hide()
                widget.deleteLater()
        self._labels = []
        for _ in self._facts.left:
            self._add_label()
        self._row.addStretch(1)
        for _ in self._facts.right:
            self._add_label()

    def _add_label(self) -> None:
        label = ElidedLabel("", self)
        self._row.addWidget(label)
        self._labels.append(label)

    def _fill(self, label: ElidedLabel, segment: Segment) -> None:
        label.setText(segment.text)
        label.set_hint(segment.tooltip)
        label.setAccessibleName(segment.text)
        colour = self._themes.theme.css(_TOKENS[segment.severity])
        label.setStyleSheet(f"color: {colour};")

    @Slot()
    def _apply_theme(self) -> None:
        theme = self._themes.theme
        self.setFixedHeight(theme.px(26))
        self._row.setContentsMargins(theme.px(14), 0, theme.px(14), 0)
        self._row.setSpacing(theme.px(18))
        for label, segment in zip(
            self._labels, (*self._facts.left, *self._facts.right), strict=True
        ):
            self._fill(label, segment)
