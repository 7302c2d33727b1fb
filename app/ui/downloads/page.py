"""The page Get models: a search, what it found, the files of one repository, and the downloads.

It knows no hub: a presenter sets what is shown, and wishes leave by signals.
"""

from __future__ import annotations

from PySide6.QtCore import QPoint, QSize, Qt, Signal, Slot
from PySide6.QtGui import QResizeEvent, QShowEvent
from PySide6.QtWidgets import (
    QBoxLayout,
    QFrame,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QMenu,
    QPushButton,
    QSizePolicy,
    QStackedWidget,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from app.ui.downloads.file_table import FileTable
from app.ui.downloads.message import MessagePanel
from app.ui.downloads.queue import DownloadQueue
from app.ui.downloads.results import ResultList
from app.ui.downloads.views import FileView, MessageView, PlaceView, RepositoryView, ResultView
from app.ui.elide import ElidedLabel
from app.ui.icons import IconKeeper
from app.ui.page_area import PageArea
from app.ui.page_head import PageHead
from app.ui.shell.bars import NoticeArea
from app.ui.theme import ThemeManager
from app.ui.wrapping import WrappingRow
from gguf_tools.units import format_bytes
from inspector.widgets.flow import FlowLayout

__all__ = ["GetModelsPage"]

_LOW_PX = 740
_CLOSE_PX = 900
_NARROW_PX = 560
_LEAST_FIELD_PX = 190
_LEAST_PX = 216  # three repositories
_LEAST_FILES_PX = 300


class GetModelsPage(QWidget):
    """Signals:
    shown(): the page came on screen.
    back_requested(): the library is wanted.
    search_requested(str): what to look for.
    cancel_requested(): the search, or the look into a repository, is to end.
    repository_requested(str)
    download_requested(str): key of a variant of the repository on screen.
    download_chosen(str, str): key of a download and an action.
    message_chosen(str): key of a message's button.
    token_requested(), settings_requested()
    folder_requested(), folder_change_requested(): open the folder for downloads, choose another.
    web_requested(str): an address to be opened in the browser.
    """

    shown = Signal()
    back_requested = Signal()
    search_requested = Signal(str)
    cancel_requested = Signal()
    repository_requested = Signal(str)
    download_requested = Signal(str)
    download_chosen = Signal(str, str)
    message_chosen = Signal(str)
    token_requested = Signal()
    folder_requested = Signal()
    folder_change_requested = Signal()
    settings_requested = Signal()
    web_requested = Signal(str)

    def __init__(self, themes: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._themes = themes
        self._view: RepositoryView | None = None
        self.setObjectName("getModelsPage")
        self._make_search()
        self._head = PageHead(themes, self.tr("Get models"), (self.more,), self, self.back)
        self._make_results()
        self._make_repository()
        self.queue = DownloadQueue(themes, self)
        self.queue.chosen.connect(self.download_chosen)
        self._middle = QBoxLayout(QBoxLayout.Direction.LeftToRight)
        self._middle.addWidget(self._left, 36)
        self._middle.addWidget(self._right, 64)
        self._content = QWidget()
        self._content.setObjectName("getModelsContent")
        self._column = QVBoxLayout(self._content)
        self.notices = NoticeArea(themes, self._content)
        self.notices.shown_changed.connect(self.notices.setVisible)
        self.notices.hide()
        self._column.addWidget(self._search_card)
        self._column.addWidget(self.notices)
        self._column.addLayout(self._middle, 1)
        self._column.addWidget(self.queue)
        self._area = PageArea(self._content, self)
        whole = QVBoxLayout(self)
        whole.setContentsMargins(0, 0, 0, 0)
        whole.setSpacing(0)
        whole.addWidget(self._head)
        whole.addWidget(self._area, 1)
        themes.changed.connect(self._apply_theme)
        self._apply_theme()
        self.set_place(PlaceView(""))
        self.say_results(MessageView(self.tr("Search for a model")))
        self.say_repository(MessageView(self.tr("Choose a repository"), icon="models"))

    # --- parts ---

    def _make_search(self) -> None:
        self._search_card = QFrame(self)
        self._search_card.setObjectName("card")
        self.back = QToolButton(self)
        self.back.setProperty("kind", "flat")
        self.back.setToolTip(self.tr("Back to the models on this computer"))
        self.back.setAccessibleName(self.tr("Back to the models on this computer"))
        IconKeeper(self.back, self._themes, "chevron-left", "dim", 16)
        self.back.clicked.connect(self.back_requested)
        self.field = QLineEdit(self._search_card)
        self.field.setPlaceholderText(self.tr("A name, owner/repository, or an address"))
        self.field.setAccessibleName(self.tr("Search Hugging Face for models"))
        self.field.setClearButtonEnabled(False)
        self.field.returnPressed.connect(self._on_search)
        self.field.textChanged.connect(self._on_text)
        self.search = QPushButton(self.tr("Search"), self._search_card)
        self.search.setProperty("kind", "primary")
        self.search.clicked.connect(self._on_search)
        self.more = QToolButton(self)
        self.more.setProperty("kind", "flat")
        self.more.setToolTip(self.tr("Access token, folder, settings"))
        self.more.setAccessibleName(self.tr("Access token, folder, settings"))
        IconKeeper(self.more, self._themes, "more", "dim", 16)
        self.more.clicked.connect(self._open_menu)
        self._place = ElidedLabel("", self._search_card, Qt.TextElideMode.ElideMiddle)
        self._place.setProperty("kind", "faint")
        self._search_row = WrappingRow(self.field, (self.search,), self._search_card)
        self._search_column = QVBoxLayout(self._search_card)
        self._search_column.addWidget(self._search_row)
        self._search_column.addWidget(self._place)

    def _make_results(self) -> None:
        self._left = QFrame(self)
        self._left.setObjectName("card")
        self.results = ResultList(self._themes, self._left)
        self.results.opened_changed.connect(self.repository_requested)
        self.results_message = MessagePanel(self._themes, self._left)
        self.results_message.chosen.connect(self.message_chosen)
        self._results_stack = QStackedWidget(self._left)
        self._results_stack.addWidget(self.results)
        self._results_stack.addWidget(self.results_message)
        self._left_column = QVBoxLayout(self._left)
        self._left_column.addWidget(self._results_stack)

    def _make_repository(self) -> None:
        self._right = QFrame(self)
        self._right.setObjectName("card")
        self.files = FileTable(self._themes, self._right)
        self.files.chosen_changed.connect(self._on_chosen)
        self.files.download_requested.connect(self._on_download)
        self.files_message = MessagePanel(self._themes, self._right)
        self.files_message.chosen.connect(self.message_chosen)
        self._name = ElidedLabel("", self._right, Qt.TextElideMode.ElideMiddle)
        self._name.setProperty("kind", "heading")
        self._facts = ElidedLabel("", self._right)
        self._facts.setProperty("kind", "faint")
        for label in (self._name, self._facts):  # all the room beside the button is theirs
            label.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        self.web = QPushButton(self.tr("Open its page"), self._right)
        self.web.setProperty("kind", "small")
        self.web.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.web.clicked.connect(self._on_web)
        self._basis = QLabel(self._right)
        self._basis.setProperty("kind", "faint")
        self._basis.setWordWrap(True)
        self._basis.setTextFormat(Qt.TextFormat.PlainText)
        self.token = QPushButton(self.tr("Access token…"), self._right)
        self.token.clicked.connect(self.token_requested)
        self.download = QPushButton(self.tr("Download"), self._right)
        self.download.setProperty("kind", "primary")
        self.download.clicked.connect(self._on_download_button)
        title = QVBoxLayout()
        title.setSpacing(2)
        title.addWidget(self._name)
        title.addWidget(self._facts)
        self._title_row = QHBoxLayout()
        self._title_row.addLayout(title, 1)
        self._title_row.addWidget(self.web, 0, Qt.AlignmentFlag.AlignTop)
        buttons = QWidget(self._right)
        self._buttons = FlowLayout(buttons)
        self._buttons.addWidget(self.token)
        self._buttons.addWidget(self.download)
        self._foot = QBoxLayout(QBoxLayout.Direction.LeftToRight)
        self._foot.addWidget(self._basis, 1)
        self._foot.addWidget(buttons)
        self._rule = QFrame(self._right)
        self._rule.setObjectName("rule")
        self._rule.setFixedHeight(1)
        whole = QWidget(self._right)
        self._files_column = QVBoxLayout(whole)
        self._files_column.setContentsMargins(0, 0, 0, 0)
        self._files_column.addLayout(self._title_row)
        self._files_column.addWidget(self.files, 1)
        self._files_column.addWidget(self._rule)
        self._files_column.addLayout(self._foot)
        self._files_stack = QStackedWidget(self._right)
        self._files_stack.addWidget(whole)
        self._files_stack.addWidget(self.files_message)
        self._right_column = QVBoxLayout(self._right)
        self._right_column.addWidget(self._files_stack)

    # --- what is shown ---

    def set_place(self, view: PlaceView) -> None:
        """Say where models come from and go to."""
        self._place.setText(view.words)
        self._place.set_hint(view.tip)

    def set_results(self, rows: tuple[ResultView, ...]) -> None:
        """Show what was found."""
        self.results.set_rows(rows)
        self._results_stack.setCurrentWidget(self.results)
        if self.field.hasFocus() or self.search.hasFocus():
            self.results.setFocus(Qt.FocusReason.OtherFocusReason)

    def say_results(self, message: MessageView) -> None:
        """Say something in place of what was found."""
        self.results.set_rows(())
        self.results_message.show_view(message)
        self._results_stack.setCurrentWidget(self.results_message)

    def set_repository(self, view: RepositoryView, chosen: str = "") -> None:
        """Show the files of a repository; ``chosen`` is the one to begin with."""
        fresh = self._view is None or self._view.key != view.key
        self._view = view
        self._name.setText(" · ".join((view.name, *view.tags)))
        self._facts.setText(view.facts)
        self.web.setToolTip(view.address)
        self._basis.setText(view.basis)
        self.token.setVisible(view.needs_token)
        if fresh:
            self.files.clear()
        self.files.set_rows(view.files, chosen)
        was_message = self._files_stack.currentWidget() is self.files_message
        self._files_stack.setCurrentIndex(0)
        if fresh and was_message and self.results.hasFocus():
            self.files.setFocus(Qt.FocusReason.OtherFocusReason)
        self._on_chosen()

    def say_repository(self, message: MessageView) -> None:
        """Say something in place of the files."""
        self._view = None
        self.files_message.show_view(message)
        self._files_stack.setCurrentWidget(self.files_message)

    def search_for(self, text: str) -> None:
        """Type a text and search for it."""
        self.field.setText(text)
        self._on_search()

    # --- Qt ---

    def showEvent(self, event: QShowEvent) -> None:
        """Say that the page came on screen, and begin with the search field."""
        super().showEvent(event)
        if not event.spontaneous():
            self.field.setFocus(Qt.FocusReason.OtherFocusReason)
            self.shown.emit()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Leave the lists their room on a low page, below each other on a narrow one."""
        super().resizeEvent(event)
        self._arrange()

    def _arrange(self) -> None:
        theme = self._themes.theme
        low = self.height() < theme.px(_LOW_PX)
        self.queue.set_most_rows(2 if low else 3)
        narrow = self.width() < theme.px(_NARROW_PX)
        across, down = QBoxLayout.Direction.LeftToRight, QBoxLayout.Direction.TopToBottom
        self._middle.setDirection(down if narrow else across)
        close = self.width() < theme.px(_CLOSE_PX)
        self._foot.setDirection(down if close else across)
        self._left.setMinimumHeight(theme.px(_LEAST_PX))
        self._right.setMinimumHeight(theme.px(_LEAST_FILES_PX if narrow else _LEAST_PX))

    def minimumSizeHint(self) -> QSize:
        """Allow any size: the page scrolls."""
        return QSize(0, 0)

    # --- what the user does ---

    @Slot()
    def _on_search(self) -> None:
        text = self.field.text().strip()
        if text:
            self.search_requested.emit(text)

    @Slot(str)
    def _on_text(self, text: str) -> None:
        self.search.setEnabled(bool(text.strip()))

    @Slot()
    def _open_menu(self) -> None:
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.addAction(self.tr("Access token…"), self.token_requested.emit)
        menu.addAction(self.tr("Folder for downloads…"), self.folder_change_requested.emit)
        menu.addAction(self.tr("Open the folder for downloads"), self.folder_requested.emit)
        menu.addAction(self.tr("Settings…"), self.settings_requested.emit)
        menu.popup(self.more.mapToGlobal(QPoint(0, self.more.height())))

    @Slot()
    def _on_chosen(self) -> None:
        row = self.files.chosen()
        self.download.setEnabled(_may_fetch(row))
        text = self.tr("Download")
        if row is not None and row.state == "here":
            text = self.tr("Downloaded")
        elif row is not None and row.state == "waiting":
            text = self.tr("Downloading…")
        elif row is not None:
            text = self.tr("Download %1").replace("%1", format_bytes(row.size_bytes))
        self.download.setText(text)

    @Slot()
    def _on_download_button(self) -> None:
        self._on_download(self.files.chosen_key())

    @Slot(str)
    def _on_download(self, key: str) -> None:
        if _may_fetch(next((row for row in self.files.rows() if row.key == key), None)):
            self.download_requested.emit(key)

    @Slot()
    def _on_web(self) -> None:
        if self._view is not None:
            self.web_requested.emit(self._view.address)

    @Slot()
    def _apply_theme(self) -> None:
        theme = self._themes.theme
        side, gap = theme.px(22), theme.px(14)
        self._column.setContentsMargins(side, theme.px(6), side, theme.px(16))
        self._column.setSpacing(gap)
        self._middle.setSpacing(gap)
        pad = theme.px(12)
        self._search_column.setContentsMargins(pad, pad, pad, theme.px(9))
        self._search_column.setSpacing(theme.px(7))
        for widget in (self.search, self.field):
            widget.setFixedHeight(theme.px(34))
        for button in (self.back, self.more):
            button.setFixedWidth(theme.px(32))
        self._search_row.set_sizes(theme.px(8), theme.px(_LEAST_FIELD_PX))
        inner = theme.px(6)
        self._left_column.setContentsMargins(inner, inner, inner, inner)
        self._right_column.setContentsMargins(inner, theme.px(12), inner, theme.px(10))
        self._title_row.setContentsMargins(theme.px(8), 0, theme.px(8), 0)
        self._foot.setContentsMargins(theme.px(8), theme.px(8), theme.px(8), 0)
        self._foot.setSpacing(theme.px(8))
        self._buttons.setSpacing(theme.px(8))
        self._files_column.setSpacing(theme.px(4))
        for widget in (self.download, self.token):
            widget.setFixedHeight(theme.px(32))
        self._arrange()
        ground = theme.css("background")
        self.setStyleSheet(f"#getModelsPage, #getModelsContent {{ background: {ground}; }}")


def _may_fetch(row: FileView | None) -> bool:
    return row is not None and row.state == "new" and not row.problem
