"""The planner's page: form, table, two charts, and what operations per byte mean."""

from __future__ import annotations

from typing import Final

from PySide6.QtCore import QPoint, QSize, Qt, Signal, Slot
from PySide6.QtGui import QPixmap, QResizeEvent
from PySide6.QtWidgets import (
    QBoxLayout,
    QFrame,
    QLabel,
    QMenu,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from app.ui.chart import Chart
from app.ui.elide import ElidedLabel
from app.ui.icons import IconKeeper, icon_at_end
from app.ui.page_area import PageArea
from app.ui.page_head import PageHead
from app.ui.planner.batching_chart import BatchingChart
from app.ui.planner.form import PlannerForm
from app.ui.planner.growth_chart import GrowthChart
from app.ui.planner.model_popup import ModelPopup
from app.ui.planner.table import PlannerTable
from app.ui.planner.views import ExampleView
from app.ui.save_file import choose_report, file_stem, today
from app.ui.shell.bars import NoticeArea
from app.ui.theme import ThemeManager
from app.ui.wrapping import WrappingRow

__all__ = ["PlannerPage"]

_NARROW_PX: Final = 620


class _ChartCard(QFrame):
    """A chart below its title, and a sentence or two below it."""

    def __init__(
        self, themes: ThemeManager, title: str, chart: Chart, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.setObjectName("card")
        self._themes = themes
        heading = QLabel(title, self)
        heading.setProperty("kind", "strong")
        self.about = ElidedLabel("", self)
        self.about.setProperty("kind", "dim")
        self.chart = chart
        self.caption = QLabel(self)
        self.caption.setProperty("kind", "small")
        self.caption.setWordWrap(True)
        self.caption.setTextFormat(Qt.TextFormat.PlainText)
        self.caption.setAlignment(Qt.AlignmentFlag.AlignTop)
        self._heading = heading
        self._head = WrappingRow(heading, (self.about,), self)
        self._column = QVBoxLayout(self)
        self._column.addWidget(self._head)
        self._column.addWidget(chart, 1)
        self._column.addWidget(self.caption)
        themes.changed.connect(self._space)
        self._space()

    def set_words(self, about: str, caption: str) -> None:
        """Say whose chart it is, and what follows from it."""
        self.about.setText(about)
        self.caption.setText(caption)

    @Slot()
    def _space(self) -> None:
        theme = self._themes.theme
        side = theme.px(16)
        self._column.setContentsMargins(side, theme.px(12), side, theme.px(12))
        self._column.setSpacing(theme.px(8))
        self._head.set_sizes(theme.px(6), self._heading.sizeHint().width() + theme.px(4))


class PlannerPage(QWidget):
    """Holds the parts; each has its own setters and signals.

    Signals:
        machine_wanted(): a machine is to be added.
        example_wanted(str): key of an example.
        rows_wanted_back(): the rows from before the example are wanted.
        row_command(str command, str key): change, duplicate, own, remove, up, down.
        report_wanted(str path): the report is to be written there.
    """

    machine_wanted = Signal()
    example_wanted = Signal(str)
    rows_wanted_back = Signal()
    row_command = Signal(str, str)
    report_wanted = Signal(str)

    undoes_itself = True  # Ctrl+Z brings rows and settings back

    def __init__(self, themes: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("plannerPage")
        self._themes = themes
        self._examples: tuple[ExampleView, ...] = ()
        self._can_go_back = False
        self.form = PlannerForm(themes)
        self.table = PlannerTable(themes)
        self.growth = _ChartCard(themes, self.tr("What breaks first"), GrowthChart(themes))
        self.batching = _ChartCard(
            themes, self.tr("More users, same weights"), BatchingChart(themes)
        )
        self.models = ModelPopup(themes, self)
        self.notices = NoticeArea(themes)
        self.notices.hide()
        self.notices.shown_changed.connect(self.notices.setVisible)
        self.note = QLabel(
            self.tr(
                "Predicted from the model's figures and the hardware table; bars of other "
                "machines are not measured."
            )
        )
        self.note.setProperty("kind", "faint")
        self.note.setWordWrap(True)
        self._content = QWidget()
        self._content.setObjectName("plannerContent")
        self._head = self._make_head()
        self._charts = QBoxLayout(QBoxLayout.Direction.LeftToRight)
        self._charts.addWidget(self.growth, 1)
        self._charts.addWidget(self.batching, 1)
        self._column = QVBoxLayout(self._content)
        self._column.addWidget(self.notices)
        self._column.addWidget(self.form)
        self._column.addWidget(self.table)
        self._column.addLayout(self._charts, 1)
        self._rest = QWidget()  # takes the charts' room
        self._rest.hide()
        self._column.addWidget(self._rest, 1)
        self._column.addWidget(self.note)
        self._area = PageArea(self._content, self)
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.setSpacing(0)
        outer.addWidget(self._head)
        outer.addWidget(self._area, 1)
        self.table.menu_wanted.connect(self._open_menu)
        self.table.removed.connect(lambda key: self.row_command.emit("remove", key))
        self.table.edited.connect(lambda key: self.row_command.emit("change", key))
        themes.changed.connect(self._space)
        self._space()

    @property
    def growth_chart(self) -> GrowthChart:
        """The chart at the left."""
        assert isinstance(self.growth.chart, GrowthChart)
        return self.growth.chart

    @property
    def batching_chart(self) -> BatchingChart:
        """The chart at the right."""
        assert isinstance(self.batching.chart, BatchingChart)
        return self.batching.chart

    def set_examples(self, examples: tuple[ExampleView, ...], *, can_go_back: bool) -> None:
        """Offer examples, and the way back to the rows from before."""
        self._examples = examples
        self._can_go_back = can_go_back

    def open_models(self) -> None:
        """Show the models that can be chosen."""
        self.models.open_below(self.form.model)

    def picture(self) -> QPixmap:
        """Return the page as a picture, what is scrolled away included."""
        return self._content.grab()

    def set_has_rows(self, has_rows: bool) -> None:
        """Leave the charts out where there is no machine to draw them for."""
        for card in (self.growth, self.batching):
            card.setVisible(has_rows)
        self._rest.setVisible(not has_rows)

    def say(self, sentence: str) -> None:
        """Say that something was done, or could not be."""
        self._head.say(sentence)

    def said(self) -> str:
        """Return what was said last."""
        return self._head.said()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Set the charts beside or below each other."""
        super().resizeEvent(event)
        narrow = self.width() < _NARROW_PX * self._themes.theme.scale
        self._charts.setDirection(
            QBoxLayout.Direction.TopToBottom if narrow else QBoxLayout.Direction.LeftToRight
        )

    def minimumSizeHint(self) -> QSize:
        """Allow any size: the page scrolls."""
        return QSize(0, 0)

    # --- inner

    def _make_head(self) -> PageHead:
        self.examples = QPushButton(self.tr("Examples"), self)
        IconKeeper(self.examples, self._themes, "chevron-down", "dim", 14)
        icon_at_end(self.examples)
        self.examples.clicked.connect(self._open_examples)
        self.add = QPushButton(self.tr("Add machine"), self)
        IconKeeper(self.add, self._themes, "plus", "dim", 14)
        self.add.clicked.connect(self.machine_wanted)
        self.save = QPushButton(self.tr("Save report"), self)
        IconKeeper(self.save, self._themes, "import", "dim", 14)
        self.save.clicked.connect(self._choose_report)
        buttons = (self.examples, self.add, self.save)
        head = PageHead(self._themes, self.tr("Planner"), buttons, self)
        head.set_tag(self.tr("What fits, how fast, and what breaks first"), only_whole=True)
        return head

    @Slot()
    def _open_examples(self) -> None:
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        for example in self._examples:
            action = menu.addAction(example.title)
            action.triggered.connect(
                lambda _checked=False, key=example.key: self.example_wanted.emit(key)
            )
        if self._can_go_back:
            menu.addSeparator()
            menu.addAction(self.tr("Back to my rows")).triggered.connect(self.rows_wanted_back)
        menu.popup(self.examples.mapToGlobal(self.examples.rect().bottomLeft()))

    @Slot(str, QPoint)
    def _open_menu(self, key: str, at: QPoint) -> None:
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        keys = [row.key for row in self.table.rows]
        commands = (
            ("change", self.tr("Change machine…"), True),
            ("duplicate", self.tr("Duplicate"), True),
            ("up", self.tr("Move up"), keys.index(key) > 0),
            ("down", self.tr("Move down"), keys.index(key) < len(keys) - 1),
            ("remove", self.tr("Remove"), True),
        )
        for command, text, enabled in commands:
            action = menu.addAction(text)
            action.setEnabled(enabled)
            action.triggered.connect(
                lambda _checked=False, name=command: self.row_command.emit(name, key)
            )
        menu.popup(at)

    @Slot()
    def _choose_report(self) -> None:
        stem = file_stem(f"Plan {self.form.model.currentText()}", today())
        choose_report(self, stem, self.report_wanted.emit)

    @Slot()
    def _space(self) -> None:
        theme = self._themes.theme
        side = theme.px(22)
        self._column.setContentsMargins(side, theme.px(6), side, theme.px(8))
        self._column.setSpacing(theme.px(12))
        self._charts.setSpacing(theme.px(14))
        self.setStyleSheet(
            f"#plannerPage, #plannerContent {{ background: {theme.css('background')}; }}"
        )
