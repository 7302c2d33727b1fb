"""The right column: what stands in it, whether it is kept free, and how wide it is."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QFrame, QVBoxLayout, QWidget

from app.ui.shell.inspector_width import USUAL_PX, InspectorEdge, column_width
from app.ui.theme import ThemeManager

__all__ = ["InspectorColumn"]


class InspectorColumn(QFrame):
    """Hidden at first; the window says when there is room for it.

    Signals:
        width_changed(): the user wants another width; see `wide_px`.

    Attributes:
        edge: what its width is dragged by.
        wanted_px: its width as the user wants it, in design pixels.
    """

    width_changed = Signal()

    def __init__(self, themes: ThemeManager, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("inspectorSlot")
        self._themes = themes
        self._inspector: QWidget | None = None
        self._is_expecting = False
        self.wanted_px = USUAL_PX
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        self.hide()
        self.edge = InspectorEdge(themes, self)
        self.edge.width_wanted.connect(self._set_wanted)

    @property
    def is_taken(self) -> bool:
        """Tell whether there is an inspector, or one comes."""
        return self._inspector is not None or self._is_expecting

    def expect(self) -> None:
        """Keep the room: what is shown comes soon, and nothing is to jump then."""
        self._is_expecting = True

    def put(self, inspector: QWidget | None) -> None:
        """Show this in place of what is there."""
        if self._inspector is not None:
            self._column.removeWidget(self._inspector)
            self._inspector.setParent(None)
        self._inspector = inspector
        self._is_expecting = False
        if inspector is not None:
            self._column.addWidget(inspector)

    def fit(self, room_px: int, most_px: int) -> int:
        """Take the width that ``room_px`` of the screen allow, and return it, in the same.

        It is ``most_px`` at most, what is left when all else is as narrow as it can be: large text
        in a small window leaves less than it is made for.
        """
        theme = self._themes.theme
        wanted = theme.px(column_width(self.wanted_px, room_px / theme.scale))
        wide = max(min(wanted, most_px), 0)
        self.setFixedWidth(wide)
        return wide

    def _set_wanted(self, design_px: int) -> None:
        self.wanted_px = design_px
        self.width_changed.emit()
