"""The top of the Models page: search, filter, order, where models come from, and the scan."""

from __future__ import annotations

from typing import Final

from PySide6.QtCore import QPoint, Qt, Signal, Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import (
    QBoxLayout,
    QFrame,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QMenu,
    QProgressBar,
    QPushButton,
    QSizePolicy,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from app.ui.fields import PlainChoice
from app.ui.icons import IconKeeper
from app.ui.models.views import LibraryView, ScanView, SortKey
from app.ui.theme import ThemeManager
from app.ui.wrapping import WrappingRow

__all__ = ["Toolbar"]

_STEPS: Final = 1000
_LINE_PX: Final = 24
_GAP_PX: Final = 10
_KEY = int(Qt.ItemDataRole.UserRole)


class Toolbar(QFrame):
    """Search, filter and order; looking again; counts or the scan.

    Its buttons that add models stand in the head of the page.

    Signals:
        query_changed(str), filter_changed(str), sort_changed(str)
        scan_requested(), cancel_requested(): look for models, or stop looking.
        folder_requested(), files_requested(): something is to be added.
        get_models_requested(): models are to be found on the internet.
        measure_requested(): what predictions rest on is to be measured again.
    """

    query_changed = Signal(str)
    filter_changed = Signal(str)
    sort_changed = Signal(str)
    scan_requested = Signal()
    cancel_requested = Signal()
    folder_requested = Signal()
    files_requested = Signal()
    get_models_requested = Signal()
    measure_requested = Signal()

    def __init__(self, themes: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("card")
        self._themes = themes
        self.search = QLineEdit(self)
        self.search.setPlaceholderText(self.tr("Search models"))
        self.search.setAccessibleName(self.tr("Search models"))
        self.search.textChanged.connect(self.query_changed)
        self.search.setToolTip(self.tr("Words of a model, a type, a place or a file (Ctrl+F)"))
        self.filter = PlainChoice(self)
        self.filter.setAccessibleName(self.tr("Show"))
        self.filter.setToolTip(self.tr("Which models are shown"))
        self.filter.currentIndexChanged.connect(self._on_filter)
        self.sort = PlainChoice(self)
        self.sort.setAccessibleName(self.tr("Order"))
        self.sort.setToolTip(self.tr("What the list is ordered by"))
        self._fill_sort()
        self.sort.currentIndexChanged.connect(self._on_sort)
        self._add = QPushButton(self.tr("Add"), self)
        self._add.setToolTip(self.tr("Add a folder or files to the list; they stay where they are"))
        IconKeeper(self._add, themes, "plus", "dim", 15)
        menu = QMenu(self._add)
        menu.addAction(self.tr("A folder with models…")).triggered.connect(self.folder_requested)
        menu.addAction(self.tr("GGUF files…")).triggered.connect(self.files_requested)
        self._add.clicked.connect(lambda: menu.popup(self._menu_place()))
        self._again = QToolButton(self)
        self._again.setToolTip(self.tr("Look for models again (F5)"))
        self._again.setAccessibleName(self.tr("Look for models again"))
        self._again.setShortcut("F5")
        self._again.setProperty("kind", "flat")
        IconKeeper(self._again, themes, "regenerate", "dim", 16)
        self._again.clicked.connect(self.scan_requested)
        self._get = QPushButton(self.tr("Get models"), self)
        self._get.setProperty("kind", "primary")
        self._get.clicked.connect(self.get_models_requested)
        self._summary = self._line()
        self._basis = self._line()
        self._measure = QPushButton(self.tr("Measure again"), self)
        self._measure.setProperty("kind", "small")
        self._measure.setToolTip(
            self.tr("Other programs slowed the measurement of the memory down; takes a second")
        )
        self._measure.clicked.connect(self.measure_requested)
        self._measuring = False
        self._progress = QProgressBar(self)
        self._progress.setRange(0, _STEPS)
        self._progress.setTextVisible(False)
        self._progress.setAccessibleName(self.tr("Looking for models"))
        self._cancel = QPushButton(self.tr("Stop"), self)
        self._cancel.setProperty("kind", "small")
        self._cancel.clicked.connect(self.cancel_requested)

        others = (self.filter, self.sort, self._again)
        self._top = WrappingRow(self.search, others, self)
        # What predictions rest on goes below the counts where there is no room beside them.
        counts = QWidget(self)
        counts.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        left = QHBoxLayout(counts)
        left.setContentsMargins(0, 0, 0, 0)
        left.addWidget(self._summary, 1)
        right = QWidget(self)
        self._low = QHBoxLayout(right)
        self._low.setContentsMargins(0, 0, 0, 0)
        for widget in (self._basis, self._measure, self._progress, self._cancel):
            self._low.addWidget(widget, 1 if widget is self._basis else 0)
        self._foot = QWidget(self)
        self._lines = QBoxLayout(QBoxLayout.Direction.LeftToRight, self._foot)
        self._lines.setContentsMargins(0, 0, 0, 0)
        self._lines.addWidget(counts, 1)
        self._lines.addWidget(right)
        self._column = QVBoxLayout(self)
        self._column.addWidget(self._top)
        self._column.addWidget(self._foot)
        themes.changed.connect(self._apply_theme)
        self.set_library(LibraryView())
        self.set_scan(None)
        self._apply_theme()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Give the foot one line or more."""
        super().resizeEvent(event)
        self._arrange_foot()

    def _line(self) -> QLabel:
        label = QLabel(self)
        label.setTextFormat(Qt.TextFormat.PlainText)
        label.setProperty("kind", "faint")
        return label

    def _arrange_foot(self) -> None:
        """Set what predictions rest on below the counts where it has no room beside them."""
        theme = self._themes.theme
        sides = self._column.contentsMargins()
        room = self.width() - sides.left() - sides.right()
        words = [item for item in (self._summary, self._basis) if not item.isHidden()]
        needed = sum(item.fontMetrics().horizontalAdvance(item.text()) + 2 for item in words)
        others = (self._measure, self._progress, self._cancel)
        needed += sum(item.sizeHint().width() for item in others if not item.isHidden())
        narrow = needed + 3 * theme.px(_GAP_PX) > room
        across, down = QBoxLayout.Direction.LeftToRight, QBoxLayout.Direction.TopToBottom
        self._lines.setDirection(down if narrow else across)
        self._lines.setSpacing(theme.px(2 if narrow else _GAP_PX))
        for label in (self._summary, self._basis):
            label.setWordWrap(narrow)
        self._foot.setMinimumHeight(theme.px(_LINE_PX))

    @property
    def add_button(self) -> QPushButton:
        """The button that offers folders and files."""
        return self._add

    @property
    def get_button(self) -> QPushButton:
        """The button that leads to models on the internet."""
        return self._get

    def set_library(self, view: LibraryView) -> None:
        """Show counts, what predictions rest on, and the places to choose from."""
        self._library = view
        self._summary.setText(view.summary)
        self._basis.setText(view.basis)
        chosen = self.filter.currentData(_KEY) or "all"
        self.filter.blockSignals(True)
        self.filter.clear()
        for text, key in self._filters(view):
            self.filter.addItem(text, key)
        found = self.filter.findData(chosen, _KEY)
        self.filter.setCurrentIndex(max(found, 0))
        self.filter.blockSignals(False)
        if found < 0:
            self.filter_changed.emit("all")

    def set_measuring(self, measuring: bool) -> None:
        """Show that memory is being measured; the button waits for it."""
        self._measuring = measuring
        self._measure.setEnabled(not measuring)
        self._measure.setText(self.tr("Measuring…") if measuring else self.tr("Measure again"))
        self._arrange_foot()

    def set_scan(self, scan: ScanView | None) -> None:
        """Show how far a scan is, or that none runs."""
        running = scan is not None
        self._progress.setVisible(running)
        self._cancel.setVisible(running)
        self._again.setEnabled(not running)
        self._basis.setVisible(not running)
        self._measure.setVisible(not running and (self._library.is_rough or self._measuring))
        if scan is None:
            self._summary.setText(self._library.summary)
        else:
            self._progress.setValue(round(min(max(scan.share, 0.0), 1.0) * _STEPS))
            self._summary.setText(scan.words)
        self._arrange_foot()

    def set_sort(self, key: SortKey) -> None:
        """Choose an order; tells so like a choice of the user."""
        self.sort.setCurrentIndex(max(self.sort.findData(key, _KEY), 0))

    def _filters(self, view: LibraryView) -> list[tuple[str, str]]:
        found = [
            (self.tr("All models"), "all"),
            (self.tr("Fits"), "fits"),
            (self.tr("Fits or tight"), "tight"),
        ]
        found += [
            (self.tr("From %1").replace("%1", name), f"source:{name}") for name in view.sources
        ]
        if view.hidden:
            text = self.tr("Removed from the list (%1)")
            found.append((text.replace("%1", str(view.hidden)), "hidden"))
        return found

    def _fill_sort(self) -> None:
        orders: tuple[tuple[str, SortKey], ...] = (
            (self.tr("By name"), "name"),
            (self.tr("By size"), "size"),
            (self.tr("By bits per weight"), "bits"),
            (self.tr("By context"), "context"),
            (self.tr("By what fits"), "fit"),
            (self.tr("By decode"), "decode"),
            (self.tr("By prefill"), "prefill"),
        )
        for text, key in orders:
            self.sort.addItem(text, key)

    def _menu_place(self) -> QPoint:
        corner = self._add.rect().bottomLeft()
        return self._add.mapToGlobal(corner)

    @Slot(int)
    def _on_filter(self, _row: int) -> None:
        self.filter_changed.emit(self.filter.currentData(_KEY))

    @Slot(int)
    def _on_sort(self, _row: int) -> None:
        self.sort_changed.emit(self.sort.currentData(_KEY))

    @Slot()
    def _apply_theme(self) -> None:
        theme = self._themes.theme
        self._column.setContentsMargins(theme.px(14), theme.px(12), theme.px(14), theme.px(8))
        self._column.setSpacing(theme.px(6))
        self._low.setSpacing(theme.px(_GAP_PX))
        self.search.setMinimumWidth(theme.px(120))
        self._arrange_foot()
        self._progress.setMinimumWidth(theme.px(48))  # it gives way to words
        self._progress.setMaximumWidth(theme.px(180))
        for widget in (self.search, self.filter, self.sort):
            widget.setFixedHeight(theme.px(34))
        self._again.setFixedSize(theme.px(34), theme.px(34))
        for box in (self.filter, self.sort):
            box.setMinimumWidth(theme.px(112))
            box.setMaximumWidth(theme.px(170))
        self._top.set_sizes(theme.px(8), theme.px(150))
