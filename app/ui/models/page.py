"""The Models page: a list of models and their variants, and what can be done with them.

It knows no library and no engine: a presenter sets what is shown, and wishes leave by signals.
"""

from __future__ import annotations

from dataclasses import replace

from PySide6.QtCore import QEvent, QObject, QPoint, QSize, Qt, Signal, Slot
from PySide6.QtGui import (
    QDragEnterEvent,
    QDragLeaveEvent,
    QDropEvent,
    QKeyEvent,
    QKeySequence,
    QShortcut,
    QShowEvent,
)
from PySide6.QtWidgets import QFrame, QMenu, QSizePolicy, QStackedWidget, QVBoxLayout, QWidget

from app.ui.models.action_bar import ActionBar, Offered
from app.ui.models.files import dropped_paths
from app.ui.models.menu import MOST_COMPARED, variant_menu
from app.ui.models.nothing import NothingPanel
from app.ui.models.toolbar import Toolbar
from app.ui.models.tree import LibraryTree
from app.ui.models.views import FitView, GroupView, LibraryView, ScanView, VariantView
from app.ui.page_area import PageArea
from app.ui.page_head import PageHead
from app.ui.shell.bars import NoticeArea
from app.ui.shell.drop_hint import DropHint
from app.ui.theme import ThemeManager

__all__ = ["ModelsPage"]

_LEAST_PX = 240  # of the card: its head, three variants, and what can be done with them


class ModelsPage(QWidget):
    """Signals name a variant by its key, which is its path.

    Signals:
        shown(): the page came on screen.
        chat_requested(str), details_requested(str), plan_requested(str)
        make_requested(str): a variant of this one is to be made.
        compare_requested(tuple of str): two to six variants.
        load_settings_requested(str)
        folder_opened(str), revealed(str): show its folder, or the file in it.
        hide_requested(list of str), put_back_requested(list of str): the list only.
        trash_requested(list of str): after the user is asked.
        scan_requested(), cancel_requested()
        folder_requested(), files_requested(), paths_dropped(list of str)
        get_models_requested()
        measure_requested(): main memory is to be measured again.
    """

    shown = Signal()
    chat_requested = Signal(str)
    details_requested = Signal(str)
    plan_requested = Signal(str)
    make_requested = Signal(str)
    compare_requested = Signal(object)
    load_settings_requested = Signal(str)
    folder_opened = Signal(str)
    revealed = Signal(str)
    hide_requested = Signal(object)
    put_back_requested = Signal(object)
    trash_requested = Signal(object)
    scan_requested = Signal()
    cancel_requested = Signal()
    folder_requested = Signal()
    files_requested = Signal()
    paths_dropped = Signal(object)
    get_models_requested = Signal()
    measure_requested = Signal()

    def __init__(self, themes: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("modelsPage")
        self.setAcceptDrops(True)
        self._themes = themes
        self._view = LibraryView()
        self._scan: ScanView | None = None
        self._looked_in: tuple[str, ...] = ()
        self._content = QWidget()
        self._content.setObjectName("modelsContent")
        self.toolbar = Toolbar(themes, self._content)
        self.notices = NoticeArea(themes, self._content)
        self.notices.hide()
        self.notices.shown_changed.connect(self.notices.setVisible)
        self.tree = LibraryTree(themes, self)
        self.nothing = NothingPanel(themes, self)
        # What is said instead of a list must not make a page with a list larger than its window.
        self.nothing.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Ignored)
        self.actions_bar = ActionBar(themes, self)
        self._stack = QStackedWidget(self)
        self._stack.addWidget(self.tree)
        self._stack.addWidget(self.nothing)
        self._rule = QFrame(self)
        self._rule.setObjectName("rule")
        self._rule.setFixedHeight(1)
        self._card = QFrame(self._content)
        self._card.setObjectName("card")
        self._inner = QVBoxLayout(self._card)
        self._inner.addWidget(self._stack, 1)
        self._inner.addWidget(self._rule)
        self._inner.addWidget(self.actions_bar)
        buttons = (self.toolbar.add_button, self.toolbar.get_button)
        self._head = PageHead(themes, self.tr("Models"), buttons, self)
        self._column = QVBoxLayout(self._content)
        self._column.addWidget(self.toolbar)
        self._column.addWidget(self.notices)
        self._column.addWidget(self._card, 1)
        whole = QVBoxLayout(self)
        whole.setContentsMargins(0, 0, 0, 0)
        whole.setSpacing(0)
        whole.addWidget(self._head)
        whole.addWidget(PageArea(self._content, self), 1)
        self._hint = DropHint(themes, self)
        self._connect()
        themes.changed.connect(self._apply_theme)
        self._apply_theme()
        self._refresh()

    # --- what is shown ---

    def set_library(
        self, view: LibraryView, looked_in: tuple[str, ...] = (), *, with_tree: bool = True
    ) -> None:
        """Show a library.

        Args:
            view: what there is to show.
            looked_in: the places searched, for when nothing was found.
            with_tree: False where the tree shows it already (to spread the work).
        """
        self._view = view
        self._looked_in = looked_in
        if with_tree:
            self.tree.set_view(view)
        self.toolbar.set_library(view)
        self.toolbar.set_scan(self._scan)
        self._refresh()

    def set_fits(self, fits: dict[str, FitView]) -> None:
        """Show predictions of variants by key."""
        self.tree.set_fits(fits)
        self._refresh()

    def set_basis(self, words: str, *, is_rough: bool = False) -> None:
        """Say what predictions rest on, and whether that can be measured better."""
        self._view = replace(self._view, basis=words, is_rough=is_rough)
        self.toolbar.set_library(self._view)
        self.toolbar.set_scan(self._scan)

    def set_scan(self, scan: ScanView | None) -> None:
        """Show how far a scan is, or that none runs."""
        self._scan = scan
        self.toolbar.set_scan(scan)
        self._refresh()

    # --- what is chosen ---

    def chosen(self) -> list[VariantView]:
        """Return the chosen variants."""
        keys = set(self.tree.chosen())
        return [row for row in self.tree.library.variants() if row.key in keys]

    def _group(self) -> GroupView | None:
        key = self.tree.chosen_group()
        return next((group for group in self.tree.library.groups if group.key == key), None)

    def _compared(self) -> list[str]:
        """Return what Compare would compare: the chosen variants, or those of a chosen group."""
        rows = self.chosen()
        if rows:
            return [row.key for row in rows if row.may_chat]
        group = self._group()
        if group is None or group.kind != "model":
            return []
        index = self.tree.library.groups.index(group)
        shown = [row for row in self.tree.library.rows_of(index) if row.may_chat]
        able = [row.key for row in shown if row.fit.verdict != "too_large"]
        return able[:MOST_COMPARED]

    def menu(self) -> QMenu | None:
        """Return the menu of what is chosen; the caller shows it."""
        rows = self.chosen()
        return variant_menu(self, rows, self._compared()) if rows else None

    # --- Qt ---

    def showEvent(self, event: QShowEvent) -> None:
        """Begin in the list, and say that the page is on screen."""
        super().showEvent(event)
        (self.tree if self.tree.library.groups else self.toolbar.search).setFocus()
        self.shown.emit()

    def minimumSizeHint(self) -> QSize:
        """Allow any size: the page scrolls."""
        return QSize(0, 0)

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        """Take model files and folders."""
        if not dropped_paths(event.mimeData()):
            event.ignore()
            return
        event.acceptProposedAction()
        self._hint.show_over(self._card, self.tr("Drop to add to the list"))

    def dragLeaveEvent(self, event: QDragLeaveEvent) -> None:
        """Take the hint away."""
        super().dragLeaveEvent(event)
        self._hint.hide()

    def dropEvent(self, event: QDropEvent) -> None:
        """Add what was dropped."""
        self._hint.hide()
        event.acceptProposedAction()
        self.paths_dropped.emit(dropped_paths(event.mimeData()))

    # --- inner ---

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Go from the search into the list with the arrow keys and Enter."""
        if watched is self.toolbar.search and isinstance(event, QKeyEvent):
            down = event.key() in {Qt.Key.Key_Down, Qt.Key.Key_Return, Qt.Key.Key_Enter}
            if event.type() == QEvent.Type.KeyPress and down and self.tree.library.groups:
                self.tree.setFocus()
                if not self.tree.currentIndex().isValid():
                    self.tree.setCurrentIndex(self.tree.library.index(0, 0))
                return True
        return super().eventFilter(watched, event)

    def _connect(self) -> None:
        find = QShortcut(QKeySequence(QKeySequence.StandardKey.Find), self)
        find.setContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
        find.activated.connect(self.toolbar.search.setFocus)
        find.activated.connect(self.toolbar.search.selectAll)
        self.toolbar.search.installEventFilter(self)
        bar, tree, nothing = self.toolbar, self.tree, self.nothing
        bar.query_changed.connect(self._on_query)
        bar.filter_changed.connect(self._on_filter)
        bar.sort_changed.connect(tree.set_sort)
        bar.scan_requested.connect(self.scan_requested)
        bar.cancel_requested.connect(self.cancel_requested)
        bar.measure_requested.connect(self.measure_requested)
        for source in (bar, nothing):
            source.folder_requested.connect(self.folder_requested)
            source.get_models_requested.connect(self.get_models_requested)
        bar.files_requested.connect(self.files_requested)
        nothing.clear_requested.connect(self._show_all)
        tree.sort_requested.connect(bar.set_sort)
        tree.chosen_changed.connect(self._offer)
        tree.opened.connect(self._on_opened)
        tree.trash_requested.connect(lambda: self.trash_requested.emit(self.tree.chosen()))
        tree.menu_requested.connect(self._pop_up)
        self.actions_bar.chosen.connect(self._on_action)
        self.actions_bar.more_requested.connect(self._on_more)

    @Slot(str)
    def _on_query(self, query: str) -> None:
        self.tree.set_query(query)
        self._refresh()

    @Slot(str)
    def _on_filter(self, key: str) -> None:
        self.tree.set_filter(key)
        self._refresh()

    @Slot()
    def _show_all(self) -> None:
        self.toolbar.search.clear()
        self.toolbar.filter.setCurrentIndex(0)

    def _refresh(self) -> None:
        """Show the list, or say why there is none."""
        has_any = bool(self.tree.library.groups)
        self._stack.setCurrentWidget(self.tree if has_any else self.nothing)
        for widget in (self._rule, self.actions_bar):
            widget.setVisible(has_any)
        if not has_any:
            if self._view.groups:
                self.nothing.say_no_match(self.toolbar.search.text().strip())
            elif self._scan is not None:
                self.nothing.say_scanning(self._scan)
            else:
                self.nothing.say_empty(self._looked_in)
        self._offer()

    @Slot()
    def _offer(self) -> None:
        rows = self.chosen()
        one = rows[0] if len(rows) == 1 else None
        chat = one is not None and one.may_chat
        group = None if rows else self._group()
        words = ""
        if one is not None:
            words = f"{self._title_of(one.key)} · {one.name}"
        elif rows:
            words = self.tr("%1 chosen").replace("%1", str(len(rows)))
        elif group is not None:
            words = group.title
        self.actions_bar.offer(
            Offered(
                words,
                chat=chat,
                details=one is not None,
                plan=chat,
                make=chat,
                compare=len(self._compared()),
                more=bool(rows),
            )
        )

    def _title_of(self, key: str) -> str:
        index = self.tree.library.index_of(key).parent()
        return str(index.data()) if index.isValid() else ""

    @Slot(str)
    def _on_opened(self, key: str) -> None:
        row = next((row for row in self.tree.library.variants() if row.key == key), None)
        if row is not None:
            (self.chat_requested if row.may_chat else self.details_requested).emit(key)

    @Slot(str)
    def _on_action(self, action: str) -> None:
        if action == "compare":
            self.compare_requested.emit(tuple(self._compared()))
            return
        keys = self.tree.chosen()
        signals = {
            "chat": self.chat_requested,
            "details": self.details_requested,
            "plan": self.plan_requested,
            "make": self.make_requested,
        }
        if keys:
            signals[action].emit(keys[0])

    @Slot()
    def _on_more(self) -> None:
        button = self.actions_bar.more
        self._pop_up(button.mapToGlobal(button.rect().bottomLeft()))

    @Slot(QPoint)
    def _pop_up(self, place: QPoint) -> None:
        menu = self.menu()
        if menu is not None:
            menu.popup(place)

    @Slot()
    def _apply_theme(self) -> None:
        theme = self._themes.theme
        self._column.setContentsMargins(theme.px(22), theme.px(6), theme.px(22), theme.px(16))
        self._column.setSpacing(theme.px(14))
        self._inner.setContentsMargins(theme.px(8), theme.px(4), theme.px(4), 0)
        self._inner.setSpacing(0)
        self._card.setMinimumHeight(theme.px(_LEAST_PX))
        ground = theme.css("background")
        self.setStyleSheet(f"#modelsPage, #modelsContent {{ background: {ground}; }}")
