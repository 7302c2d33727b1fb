"""The middle column of a chat: notices, transcript, overflow bar, composer, all of one width."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, Signal, Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from app.ui.shell.bars import NoticeArea, OverflowBar
from app.ui.shell.composer import Composer
from app.ui.shell.shrinkable import Shrinkable
from app.ui.theme import ThemeManager

__all__ = ["ChatPage", "side_margin"]


def side_margin(width: int, longest: int, margin: int) -> int:
    """Return the space beside a column that is at most ``longest`` wide, centred, all in pixels.

    ``margin`` is the space in a window of usual width; a narrow window gives some of it up.
    """
    least = margin if width >= longest else max(margin * width // (longest * 2), margin // 4)
    return max(least, (width - longest) // 2)


class ChatPage(QWidget):
    """Holds `notices`, `overflow` and `composer`; the transcript is put in by `set_transcript`.

    Signals:
        foot_moved(): the composer or the overflow bar takes another place.
    """

    foot_moved = Signal()

    def __init__(self, themes: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._themes = themes
        self._longest_px = 760
        self.notices = NoticeArea(themes, self)
        self.overflow = OverflowBar(themes, self)
        self.composer = Composer(themes, self)
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(0)
        self._notice_room = Shrinkable(self.notices, self)
        self._overflow_room = Shrinkable(self.overflow, self)
        self._notice_room.hide()
        self._overflow_room.hide()
        self.notices.shown_changed.connect(self._notice_room.setVisible)
        self.overflow.shown_changed.connect(self._overflow_room.setVisible)
        self._column.addWidget(self._notice_room)
        self._column.addStretch(1)
        self._column.addWidget(self._overflow_room)
        self._composer_row = QHBoxLayout()
        self._composer_row.addWidget(self.composer)
        self._column.addLayout(self._composer_row)
        for foot in (self._overflow_room, self.composer):
            foot.installEventFilter(self)
        themes.changed.connect(self._fit)
        self._fit()

    def set_transcript(self, transcript: QWidget) -> None:
        """Put the transcript in the middle, once."""
        item = self._column.takeAt(1)
        assert item is not None
        assert item.spacerItem() is not None, "the transcript is set once"
        self._column.insertWidget(1, transcript, 1)
        self.setTabOrder(transcript, self.composer.edit)

    def set_column_width(self, longest_px: int) -> None:
        """Set the longest line of a conversation, in design pixels."""
        self._longest_px = longest_px
        self._fit()

    def foot_top(self) -> int:
        """Return where the overflow bar or else the composer begins, in this page's pixels."""
        hidden = self._overflow_room.isHidden()
        foot: QWidget = self.composer if hidden else self._overflow_room
        return foot.geometry().top()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Say when what stands at the foot moves."""
        if event.type() in {QEvent.Type.Move, QEvent.Type.Show, QEvent.Type.Hide}:
            self.foot_moved.emit()
        return super().eventFilter(watched, event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Keep the composer as wide as the transcript's text."""
        super().resizeEvent(event)
        self._fit()

    @Slot()
    def _fit(self) -> None:
        theme = self._themes.theme
        side = side_margin(self.width(), theme.px(self._longest_px), theme.px(60))
        self.notices.setContentsMargins(side, theme.px(12), side, 0)
        self.overflow.setContentsMargins(side, 0, side, theme.px(8))
        self._column.setContentsMargins(0, 0, 0, theme.px(16))
        self._composer_row.setContentsMargins(side, 0, side, 0)
