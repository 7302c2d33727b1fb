"""The line at the bottom: what the engine runs on, and how it is."""

from __future__ import annotations

from PySide6.QtCore import Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QWidget

from app.ui.elide import ElidedLabel
from app.ui.shell.views import Segment, StatusFacts
from app.ui.theme import ThemeManager

__all__ = ["StatusLine"]

_TOKENS = {"info": "dim", "warning": "warning", "error": "danger"}


class StatusLine(QFrame):
    """Segments from the left, and some at the far end.

    Where not all of them have room, they are said in fewer words, those at the far end first;
    then those go that say least, from the end of the left ones, and the first one tells them in
    its tooltip. Only then a text is cut.
    """

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
        self._fill()

    def texts(self) -> list[str]:
        """Return what there is to say, from the left, in full."""
        return [segment.text for segment in self._segments()]

    def shown_texts(self) -> list[str]:
        """Return what is read at the present width, from the left."""
        return [label.shown_text() for label in self._labels if not label.isHidden()]

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Say as much as has room."""
        super().resizeEvent(event)
        self._fit()

    def _segments(self) -> tuple[Segment, ...]:
        return (*self._facts.left, *self._facts.right)

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

    def _fill(self) -> None:
        for label, segment in zip(self._labels, self._segments(), strict=True):
            label.setAccessibleName(segment.text)
            label.setStyleSheet(f"color: {self._themes.theme.css(_TOKENS[segment.severity])};")
        self._fit()

    def _fit(self) -> None:
        """Choose words for the present width."""
        segments = self._segments()
        texts = [segment.text for segment in segments]
        by_least = [*range(len(self._facts.left), len(segments)), *range(len(self._facts.left))]
        for place in by_least:
            if self._overhang(texts) <= 0:
                break
            texts[place] = segments[place].short or texts[place]
        # The first one and trouble stay; the others can be read in the first one's tooltip.
        for place in reversed(range(1, len(self._facts.left))):
            if self._overhang(texts) <= 0:
                break
            if segments[place].severity == "info":
                texts[place] = ""
        gone = [item.text for item, text in zip(segments, texts, strict=True) if not text]
        for place, (label, segment) in enumerate(zip(self._labels, segments, strict=True)):
            text = texts[place]
            whole = segment.text if text not in {"", segment.text} else ""
            hints = (whole, segment.tooltip, "\n".join(gone) if place == 0 else "")
            label.setText(text)
            label.set_hint("\n".join(hint for hint in hints if hint))
            label.setVisible(bool(text))

    def _overhang(self, texts: list[str]) -> int:
        """Return by how many pixels texts are longer than the line."""
        margins = self._row.contentsMargins()
        room = self.width() - margins.left() - margins.right()
        wanted = 0
        for label, text in zip(self._labels, texts, strict=True):
            if text:
                label.ensurePolished()
                wanted += label.fontMetrics().horizontalAdvance(text) + self._row.spacing()
        return wanted - room

    @Slot()
    def _apply_theme(self) -> None:
        theme = self._themes.theme
        self.setFixedHeight(theme.px(26))
        self._row.setContentsMargins(theme.px(14), 0, theme.px(14), 0)
        self._row.setSpacing(theme.px(18))
        self._fill()
