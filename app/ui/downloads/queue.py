"""Downloads in a row each: a bar, how far it is, and buttons."""

from __future__ import annotations

from typing import Final

from PySide6.QtCore import QEvent, QObject, QSize, Qt, Signal, Slot
from PySide6.QtGui import QAccessible, QAccessibleEvent, QResizeEvent
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QLabel,
    QProgressBar,
    QPushButton,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from app.ui.downloads.views import DownloadAction, DownloadView
from app.ui.elide import ElidedLabel
from app.ui.icons import IconKeeper
from app.ui.look import set_look
from app.ui.second_click import SecondClick
from app.ui.theme import ThemeManager

__all__ = ["DownloadQueue", "DownloadRow"]

_ROW_PX: Final = 62
_NARROW_PX: Final = 340
_ICONS: Final[dict[DownloadAction, str]] = {
    "pause": "pause",
    "resume": "play",
    "remove": "trash",
    "dismiss": "close",
}


class DownloadRow(QWidget):
    """One download.

    Signals:
        chosen(str, str): key of the download and the action that was pressed.
    """

    chosen = Signal(str, str)

    def __init__(
        self, themes: ThemeManager, view: DownloadView, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._themes = themes
        self._view = view
        self._buttons: dict[DownloadAction, QPushButton] = {}
        self._second_click = SecondClick()
        self._come: frozenset[DownloadAction] = frozenset()  # with what is shown now
        self._title = ElidedLabel("", self, Qt.TextElideMode.ElideMiddle)
        self._title.setProperty("kind", "strong")
        self._where = ElidedLabel("", self)
        self._where.setProperty("kind", "faint")
        self._bar = QProgressBar(self)
        self._bar.setRange(0, 1000)
        self._bar.setTextVisible(False)
        self._words = QLabel(self)
        self._words.setProperty("kind", "small")
        self._words.setWordWrap(True)  # a refusal is a sentence that must be read to its end
        self._words.setTextFormat(Qt.TextFormat.PlainText)
        self._words.setMinimumWidth(1)
        head = QHBoxLayout()
        head.addWidget(self._title)
        head.addWidget(self._where)
        head.addStretch(1)
        self._left = QVBoxLayout()
        self._left.addLayout(head)
        self._left.addWidget(self._bar)
        self._left.addWidget(self._words)
        self._row = QHBoxLayout(self)
        self._row.addLayout(self._left, 1)
        for action in ("chat", "pause", "resume", "remove", "dismiss"):
            self._row.addWidget(self._button(action))
        self._head = head
        themes.changed.connect(self._apply_theme)
        self._apply_theme()
        self.show_view(view)

    @property
    def view(self) -> DownloadView:
        """What is shown."""
        return self._view

    def button(self, action: DownloadAction) -> QPushButton:
        """Return a button."""
        return self._buttons[action]

    def show_view(self, view: DownloadView) -> None:
        """Show how far it is now."""
        told = self._view.state != view.state
        if view.actions != self._view.actions:
            self._come = frozenset(view.actions) - frozenset(self._view.actions)
            self._second_click.begin()
        self._view = view
        self._title.setText(view.title)
        self._where.setText(view.repository)
        self._bar.setValue(round(min(max(view.share, 0.0), 1.0) * 1000))
        self._bar.setVisible(view.state != "done")
        self._bar.setAccessibleName(self.tr("Download of %1").replace("%1", view.title))
        self._words.setText(view.words)
        set_look(self._words, "kind", "error" if view.state == "failed" else "small")
        for action, button in self._buttons.items():
            button.setVisible(action in view.actions)
        self.setAccessibleName(f"{view.title}, {view.words}")
        if told and view.state in {"done", "failed"}:
            # Said once by a screen reader, wherever the focus is.
            QAccessible.updateAccessibility(QAccessibleEvent(self, QAccessible.Event.Alert))

    def _button(self, action: DownloadAction) -> QPushButton:
        texts: dict[DownloadAction, str] = {
            "chat": self.tr("Chat with it"),
            "pause": self.tr("Pause; what is there is kept"),
            "resume": self.tr("Go on from where it stopped"),
            "remove": self.tr("Cancel, and remove what is there of it"),
            "dismiss": self.tr("Take this line away; the model stays"),
        }
        button = QPushButton(self)
        if action == "chat":
            button.setText(texts[action])
            button.setProperty("kind", "small")
        else:
            button.setProperty("kind", "flat")
            button.setToolTip(texts[action])
            button.setAccessibleName(texts[action])
            IconKeeper(button, self._themes, _ICONS[action], "dim", 16)
        button.clicked.connect(lambda _checked=False: self._on_clicked(action))
        self._buttons[action] = button
        return button

    def _on_clicked(self, action: DownloadAction) -> None:
        # Pause turns into resume below the pointer; what was there before is meant in any case.
        if not (action in self._come and self._second_click.is_due):
            self.chosen.emit(self._view.key, action)

    @Slot()
    def _apply_theme(self) -> None:
        theme = self._themes.theme
        self._row.setContentsMargins(theme.px(14), theme.px(7), theme.px(10), theme.px(7))
        self._row.setSpacing(theme.px(6))
        self._left.setSpacing(theme.px(5))
        self._head.setSpacing(theme.px(8))
        for action, button in self._buttons.items():
            if action != "chat":
                button.setFixedSize(theme.px(30), theme.px(30))

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Leave out whose it is where the title needs the room."""
        super().resizeEvent(event)
        self._where.setVisible(self.width() >= self._themes.theme.px(_NARROW_PX))

    def minimumSizeHint(self) -> QSize:
        """Allow any width."""
        return QSize(0, super().minimumSizeHint().height())

    def height_at(self, width_px: int) -> int:
        """Return how high it is at a width: a refusal is read to its end, on as many lines."""
        needed = self._row.heightForWidth(width_px) if self._row.hasHeightForWidth() else 0
        return max(needed, self._themes.theme.px(_ROW_PX))


class DownloadQueue(QFrame):
    """All downloads, a few of them in sight; hidden while there is none.

    Signals:
        chosen(str, str): key of a download and an action.
    """

    chosen = Signal(str, str)

    def __init__(self, themes: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("card")
        self._themes = themes
        self._rows: dict[str, DownloadRow] = {}
        self._most_rows = 3
        self._title = QLabel(self.tr("Downloads"), self)
        self._title.setProperty("kind", "strong")
        self._summary = ElidedLabel("", self)
        self._summary.setProperty("kind", "dim")
        self._area = QScrollArea(self)
        self._area.setProperty("kind", "plain")
        self._area.setFrameShape(QFrame.Shape.NoFrame)
        self._area.setWidgetResizable(True)
        self._area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._area.viewport().installEventFilter(self)
        inner = QWidget(self._area)
        self._list = QVBoxLayout(inner)
        self._list.setContentsMargins(0, 0, 0, 0)
        self._list.setSpacing(0)
        self._list.addStretch(1)
        self._area.setWidget(inner)
        self._head = QHBoxLayout()
        self._head.addWidget(self._title)
        self._head.addStretch(1)
        self._head.addWidget(self._summary)
        self._column = QVBoxLayout(self)
        self._column.addLayout(self._head)
        self._column.addWidget(self._area)
        themes.changed.connect(self._apply_theme)
        self._apply_theme()
        self.set_downloads(())

    def set_downloads(self, views: tuple[DownloadView, ...], summary: str = "") -> None:
        """Show downloads, in this order."""
        keys = [view.key for view in views]
        for key in [key for key in self._rows if key not in keys]:
            row = self._rows.pop(key)
            self._list.removeWidget(row)
            row.hide()
            row.deleteLater()
        for place, view in enumerate(views):
            row = self._rows.get(view.key) or self._new_row(view)
            if self._list.indexOf(row) != place:
                self._list.removeWidget(row)
                self._list.insertWidget(place, row)
            row.show_view(view)
        self._summary.setText(summary)
        self.setVisible(bool(views))
        self._fit()

    def set_most_rows(self, rows: int) -> None:
        """Show so many downloads at once; the others are scrolled to."""
        self._most_rows = rows
        self._fit()

    def row(self, key: str) -> DownloadRow | None:
        """Return a download's row."""
        return self._rows.get(key)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Give words the lines that they need at another width."""
        if event.type() == QEvent.Type.Resize and watched is self._area.viewport():
            self._fit()
        return super().eventFilter(watched, event)

    def _new_row(self, view: DownloadView) -> DownloadRow:
        row = DownloadRow(self._themes, view, self._area.widget())
        row.chosen.connect(self.chosen)
        self._rows[view.key] = row
        return row

    def _fit(self) -> None:
        rows = sorted(self._rows.values(), key=self._list.indexOf)
        width = self._area.viewport().width()
        heights = [row.height_at(width) for row in rows]
        for row, height in zip(rows, heights, strict=True):
            row.setFixedHeight(height)
        self._area.setFixedHeight(sum(heights[: self._most_rows]))

    @Slot()
    def _apply_theme(self) -> None:
        theme = self._themes.theme
        self._column.setContentsMargins(0, theme.px(10), 0, theme.px(6))
        self._column.setSpacing(theme.px(2))
        self._head.setContentsMargins(theme.px(14), 0, theme.px(14), 0)
        self._fit()
