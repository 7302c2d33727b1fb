"""The middle column of a chat: notices, transcript, overflow bar, composer, all of one width."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QObject, Qt, Signal, Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QAbstractScrollArea, QHBoxLayout, QVBoxLayout, QWidget

from app.ui.shell.bars import NoticeArea, OverflowBar
from app.ui.shell.composer import Composer
from app.ui.shell.empty_chat import EmptyChat
from app.ui.shell.shrinkable import Shrinkable
from app.ui.theme import ThemeManager

if TYPE_CHECKING:
    from app.ui.shell.find_bar import FindBar

__all__ = ["ChatPage", "side_margin"]


def side_margin(width: int, longest: int, scale: float = 1.0) -> int:
    """Return the space beside a centred column of at most ``longest`` pixels.

    The same rule as the transcript's, so that the composer stands exactly below its text: 60
    pixels of air, of which a narrow view gives up all but 16; ``scale`` enlarges both with text.
    """
    air, least, comfortable = (round(value * scale) for value in (60, 16, 440))
    if width - 2 * air < comfortable:
        air = max(least, min(air, (width - comfortable) // 2))
    return max(air, (width - longest) // 2)


class ChatPage(QWidget):
    """Holds `notices`, `empty`, `overflow` and `composer`; `set_transcript` puts the transcript in.

    Signals:
        foot_moved(): the composer or the overflow bar takes another place.
    """

    foot_moved = Signal()

    def __init__(self, themes: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._themes = themes
        self._longest_px = 760
        self._found: FindBar | None = None
        self._scrolled: QAbstractScrollArea | None = None
        self.notices = NoticeArea(themes, self)
        self.overflow = OverflowBar(themes, self)
        self.composer = Composer(themes, self)
        self.empty = EmptyChat(themes, self)
        self._transcript: QWidget | None = None
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
        self._find_room = QWidget(self)  # below the find bar, which would cover the first message
        self._find_room.hide()
        self._column.addWidget(self._find_room)
        self._column.addStretch(1)
        self._toast_room = QWidget(self)  # below an offer to undo, which would cover buttons
        self._toast_room.hide()
        self._column.addWidget(self._toast_room)
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
        item = self._column.takeAt(2)
        assert item is not None
        assert item.spacerItem() is not None, "the transcript is set once"
        self._column.insertWidget(2, transcript, 1)
        self._transcript = transcript
        self.empty.raise_()
        self.setTabOrder(transcript, self.composer.edit)
        if isinstance(transcript, QAbstractScrollArea):
            # Its scroll bar takes room from its text; what is beside the text follows.
            self._scrolled = transcript
            transcript.viewport().installEventFilter(self)

    @cached_property
    def find_bar(self) -> FindBar:
        """The field for finding text in the chat, above the transcript's corner."""
        from app.ui.shell.find_bar import FindBar

        bar = FindBar(self._themes, self)
        bar.installEventFilter(self)
        self._found = bar
        self._place_over()
        return bar

    def set_column_width(self, longest_px: int) -> None:
        """Set the longest line of a conversation, in design pixels."""
        self._longest_px = longest_px
        self._fit()

    def set_toast_room(self, height_px: int) -> None:
        """Keep so much free between the transcript and what stands at the foot; 0: nothing."""
        self._toast_room.setFixedHeight(height_px)
        self._toast_room.setVisible(height_px > 0)

    def foot_top(self) -> int:
        """Return where the overflow bar or else the composer begins, in this page's pixels."""
        hidden = self._overflow_room.isHidden()
        foot: QWidget = self.composer if hidden else self._overflow_room
        return foot.geometry().top()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Say when what stands at the foot moves; keep to the width of the transcript's text."""
        if self._scrolled is not None and watched is self._scrolled.viewport():
            if event.type() in {QEvent.Type.Move, QEvent.Type.Resize}:
                self._fit()
                self._place_over()
        elif watched is self._found:
            if event.type() in {QEvent.Type.Show, QEvent.Type.Hide}:
                self._find_room.setVisible(event.type() == QEvent.Type.Show)
                self._place_over()
        elif event.type() in {QEvent.Type.Move, QEvent.Type.Show, QEvent.Type.Hide}:
            self.foot_moved.emit()
        return super().eventFilter(watched, event)

    def _place_over(self) -> None:
        if self._transcript is None:
            return
        room = self._transcript.geometry()
        self.empty.setGeometry(room)
        if self._found is not None:
            is_mirrored = self.layoutDirection() == Qt.LayoutDirection.RightToLeft
            before, after = self._beside_viewport()
            top = room.top() if self._find_room.isHidden() else self._find_room.geometry().top()
            self._found.place(before, self.width() - after, top, is_mirrored=is_mirrored)
            self._find_room.setFixedHeight(self._found.height() + self._themes.theme.px(16))

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Keep the composer as wide as the transcript's text."""
        super().resizeEvent(event)
        self._fit()
        self._place_over()

    @Slot()
    def _fit(self) -> None:
        theme = self._themes.theme
        before, after = self._beside_viewport()
        text_width = max(self.width() - before - after, 0)
        side = side_margin(text_width, theme.px(self._longest_px), theme.scale)
        left, right = before + side, after + side
        self.notices.setContentsMargins(left, theme.px(12), right, theme.px(6))
        self.overflow.setContentsMargins(left, 0, right, theme.px(8))
        self._column.setContentsMargins(0, 0, 0, theme.px(16))
        self._composer_row.setContentsMargins(left, 0, right, 0)

    def _beside_viewport(self) -> tuple[int, int]:
        """Return what the transcript's frame and scroll bar take on its left and its right."""
        if self._scrolled is None:
            return 0, 0
        place = self._scrolled.viewport().geometry()
        return place.left(), max(self._scrolled.width() - place.right() - 1, 0)
