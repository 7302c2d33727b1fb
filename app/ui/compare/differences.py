"""Where a variant and the reference expect different tokens most, each in its context."""

from __future__ import annotations

from html import escape
from typing import Final

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import (
    QButtonGroup,
    QFrame,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from app.ui.compare.views import DifferenceView
from app.ui.theme import ThemeManager
from inspector.widgets.flow import FlowLayout

__all__ = ["DifferencesCard"]

_MOST: Final = 8


class DifferencesCard(QFrame):
    """A list of places for one variant at a time.

    Signals:
        variant_chosen(int): another variant's places are wanted.
    """

    variant_chosen = Signal(int)

    def __init__(self, themes: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("card")
        self._themes = themes
        self._places: tuple[DifferenceView, ...] = ()
        title = QLabel(self.tr("Where they differ most"), self)
        title.setProperty("kind", "strong")
        self._buttons = QWidget(self)
        self._flow = FlowLayout(self._buttons)
        self._group = QButtonGroup(self)
        self._group.idClicked.connect(self.variant_chosen)
        self._about = QLabel(
            self.tr(
                "Next tokens of the test text on which this variant is furthest from the "
                "reference. Marked is what really stands there."
            ),
            self,
        )
        self._about.setProperty("kind", "faint")
        self._about.setWordWrap(True)
        self._rows = QVBoxLayout()
        self._head = QHBoxLayout()
        self._head.addWidget(title)
        self._head.addWidget(self._buttons, 1)
        self._column = QVBoxLayout(self)
        self._column.addLayout(self._head)
        self._column.addWidget(self._about)
        self._column.addLayout(self._rows)
        themes.changed.connect(self._space)
        self._space()

    def set_variants(self, variants: tuple[tuple[int, str], ...], chosen: int | None) -> None:
        """Offer variants by key and name."""
        for button in self._group.buttons():
            self._group.removeButton(button)
            self._flow.removeWidget(button)
            button.hide()
            button.deleteLater()
        for key, label in variants:
            button = QPushButton(label, self._buttons)
            button.setProperty("kind", "small")
            button.setCheckable(True)
            button.setChecked(key == chosen)
            self._group.addButton(button, key)
            self._flow.addWidget(button)
            button.show()
        self._style_buttons()

    def set_places(self, places: tuple[DifferenceView, ...]) -> None:
        """Show places."""
        self._places = places[:_MOST]
        while (item := self._rows.takeAt(0)) is not None:
            widget = item.widget()
            if widget is not None:
                widget.hide()
                widget.deleteLater()
        theme = self._themes.theme
        for place in self._places:
            row = QLabel(self._html(place), self)
            row.setTextFormat(Qt.TextFormat.RichText)
            row.setWordWrap(True)
            row.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
            row.setStyleSheet(
                f"border-top: 1px solid {theme.css('line')}; padding: {theme.px(7)}px 0;"
            )
            self._rows.addWidget(row)

    def _html(self, place: DifferenceView) -> str:
        theme = self._themes.theme
        dim, ink = theme.css("dim"), theme.css("ink")
        mark = theme.css("warning_fill")
        before = escape(_one_line(place.before))
        after = escape(_one_line(place.after))
        return (
            f"<span style='color:{dim}'>…{before}</span>"
            f"<span style='color:{ink}; background:{mark}'>{escape(_one_line(place.token))}</span>"
            f"<span style='color:{dim}'>{after}…</span><br>"
            f"<span style='color:{dim}; font-size:{theme.pt(12)}pt'>"
            f"{escape(place.reference_says)} &nbsp;·&nbsp; {escape(place.variant_says)}"
            f" &nbsp;·&nbsp; {escape(place.kl)}</span>"
        )

    def _style_buttons(self) -> None:
        theme = self._themes.theme
        self._buttons.setStyleSheet(
            f"QPushButton:checked {{ background: {theme.css('selection')}; "
            f"border-color: {theme.css('accent')}; }}"
        )

    @Slot()
    def _space(self) -> None:
        theme = self._themes.theme
        side = theme.px(14)
        self._column.setContentsMargins(side, theme.px(12), side, theme.px(8))
        self._column.setSpacing(theme.px(6))
        self._head.setSpacing(theme.px(12))
        self._style_buttons()
        self.set_places(self._places)


def _one_line(text: str) -> str:
    return text.replace("\r", "").replace("\n", " ↵ ")
