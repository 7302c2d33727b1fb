"""The line at the top of a page: title, what it is about, what was said last, and buttons."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt, Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QLabel, QSizePolicy, QVBoxLayout, QWidget

from app.ui.elide import ElidedLabel
from app.ui.theme import ThemeManager
from app.ui.wrapping import WrappingRow

__all__ = ["PageHead"]

_HIGH_PX = 30  # of its buttons and its title


class PageHead(QWidget):
    """Its buttons go below the title where there is no room beside it.

    All heads are equally high, so that pages do not jump: ``lead`` goes before the title (a way
    back), ``buttons`` are at the end; all get one height.
    """

    def __init__(
        self,
        themes: ThemeManager,
        title: str,
        buttons: Sequence[QWidget],
        parent: QWidget,
        lead: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._themes = themes
        first = QWidget(self)
        first.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        self._title = QLabel(title, first)
        self._title.setProperty("kind", "heading")
        self._tag = ElidedLabel("", first)
        self._tag.setProperty("kind", "tag")
        self._tag.hide()
        self._only_whole = False
        self._said = ElidedLabel("", first)
        self._said.setProperty("kind", "small")
        self._row = QHBoxLayout(first)
        self._row.setContentsMargins(0, 0, 0, 0)
        self._lead = lead
        self._controls = [*buttons, *([] if lead is None else [lead])]
        if lead is not None:
            self._row.addWidget(lead)
        self._row.addWidget(self._title)
        self._row.addWidget(self._tag, 0, Qt.AlignmentFlag.AlignVCenter)
        self._row.addStretch(1)
        self._row.addWidget(self._said)
        self._whole = WrappingRow(first, buttons, self)
        self._column = QVBoxLayout(self)
        self._column.addWidget(self._whole)
        themes.changed.connect(self._space)
        self._space()

    def set_tag(self, words: str, *, only_whole: bool = False) -> None:
        """Say what the page is about, or nothing; ``only_whole``: not in shortened words."""
        self._only_whole = only_whole
        self._tag.setText(words)
        self._fit_tag()

    def tag(self) -> str:
        """Return what the page is about."""
        return self._tag.text()

    def say(self, sentence: str) -> None:
        """Say that something was done, or could not be."""
        self._said.setText(sentence)

    def said(self) -> str:
        """Return what was said last."""
        return self._said.text()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Leave out a tag that has no room."""
        super().resizeEvent(event)
        self._fit_tag()

    def _fit_tag(self) -> None:
        needed = self._tag.sizeHint() if self._only_whole else self._tag.minimumSizeHint()
        words = self._title.sizeHint().width() + self._row.spacing() + needed.width()
        words += self._lead_width()
        sides = self._column.contentsMargins()
        room = self.width() - sides.left() - sides.right() - self._whole.others_width()
        self._tag.setVisible(bool(self._tag.text()) and words <= room)

    def _lead_width(self) -> int:
        return 0 if self._lead is None else self._lead.sizeHint().width() + self._row.spacing()

    @Slot()
    def _space(self) -> None:
        theme = self._themes.theme
        side, gap = theme.px(22), theme.px(10)
        for widget in self._controls:
            widget.setFixedHeight(theme.px(_HIGH_PX))
        self._title.setMinimumHeight(theme.px(_HIGH_PX))
        self._column.setContentsMargins(side, theme.px(12), side, theme.px(4))
        self._row.setSpacing(gap)
        least = (
            self._lead_width()
            + self._title.sizeHint().width()
            + gap
            + self._tag.minimumSizeHint().width()
        )
        self._whole.set_sizes(gap, least)
        self._fit_tag()
