"""The inspector: the panel at the window's right, its cards in one column.

It is given a whole `PanelView`, up to ten times a second while a reply is written, and hands each
card its part; a card whose part is the same is not touched, and a card draws only what a reader
could see change. It knows no engine and no store: what a button asks for, it says in a signal.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from PySide6.QtCore import QCoreApplication, QEvent, Qt, Signal, Slot
from PySide6.QtGui import QContextMenuEvent, QFont, QGuiApplication, QShowEvent
from PySide6.QtWidgets import QFrame, QMenu, QScrollArea, QVBoxLayout, QWidget

from inspector.panel_text import panel_as_markdown
from inspector.views import LayersView, PanelView
from inspector.widgets.budget_card import BudgetCard
from inspector.widgets.card import Card
from inspector.widgets.finding_card import FindingsCard
from inspector.widgets.focus_ring import FocusRing
from inspector.widgets.growth_card import GrowthCard
from inspector.widgets.metadata_dialog import MetadataDialog
from inspector.widgets.model_card import ModelCard
from inspector.widgets.palette import Palette
from inspector.widgets.plot_slot import PlotLoader
from inspector.widgets.recorded_bar import RecordedBar
from inspector.widgets.speed_card import SpeedCard
from inspector.widgets.wrapped import WrappedText

__all__ = ["InspectorPanel"]

_NOTICE_TOKENS = {"lost": "danger"}
_LEVELS = 4  # of layouts within each other


class InspectorPanel(QScrollArea):
    """All cards, scrolled together.

    Signals:
        fix_requested(str finding, str fix): a finding's button was pressed.
        metadata_requested(): all metadata is wanted; `show_metadata` shows it.
        folded_changed(object keys): the tuple of folded cards' keys, to be kept.
        live_requested(): a recorded turn is shown, and what is live is wanted.
        explains_changed(bool explains): the menu has switched the cards' lessons.
    """

    fix_requested = Signal(str, str)
    metadata_requested = Signal()
    folded_changed = Signal(object)
    live_requested = Signal()
    explains_changed = Signal(bool)

    def __init__(self, palette: Palette, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._palette = palette
        self._view: PanelView | None = None
        self._explains = False
        self._findings_first = False
        self._loader = PlotLoader(self)
        self.setObjectName("inspectorPanel")
        self.ground = "panel"  # of the window's right column; see `Pictured`
        self.setProperty("kind", "plain")
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setWidgetResizable(True)
        self.setAccessibleName(self.tr("Inspector"))
        # Tab goes to the cards' parts, which come into sight; keys that they don't take scroll.
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        content = QWidget(self)
        self._column = QVBoxLayout(content)
        self.recorded = RecordedBar(palette, content)
        self.recorded.live_requested.connect(self.live_requested)
        self.notice = WrappedText(palette, content, size_px=12.5, weight=QFont.Weight.Medium)
        self.empty = WrappedText(palette, content, size_px=13, token="dim")
        self.budget = BudgetCard(palette, content)
        self.findings = FindingsCard(palette, content)
        # What is only worth knowing does not push the figures out of sight.
        self.notes = FindingsCard(palette, content, "notes")
        self.growth = GrowthCard(palette, self._loader, content)
        self.speed = SpeedCard(palette, self._loader, content)
        self.model = ModelCard(palette, content)
        self._column.addWidget(self.recorded)
        self._column.addWidget(self.notice)
        self._column.addWidget(self.empty)
        for card in self.cards:
            self._column.addWidget(card)
            card.folded.connect(self._on_folded)
        self._column.addStretch(1)
        self.setWidget(content)
        self.focus_ring = FocusRing(palette, content)
        for found in (self.findings, self.notes):
            found.fix_requested.connect(self.fix_requested)
        self.model.metadata_requested.connect(self.metadata_requested)
        palette.changed.connect(self._apply_theme)
        self.verticalScrollBar().rangeChanged.connect(self._on_range_changed)
        self._apply_theme()
        self.set_view(PanelView())

    @property
    def cards(self) -> tuple[Card, ...]:
        """The cards from the top."""
        head = (
            (self.findings, self.budget) if self._findings_first else (self.budget, self.findings)
        )
        return (*head, self.growth, self.speed, self.notes, self.model)

    @property
    def folded(self) -> tuple[str, ...]:
        """Keys of the folded cards."""
        return tuple(card.key for card in self.cards if card.is_folded)

    def set_folded(self, keys: Iterable[str]) -> None:
        """Fold the cards that were folded before; keys that are not known are left alone."""
        wanted = set(keys)
        for card in self.cards:
            card.set_folded(card.key in wanted)

    def set_explains(self, explains: bool) -> None:
        """Say in each card what it is about, or leave that out."""
        self._explains = explains
        for card in self.cards:
            card.set_explains(explains)

    def set_view(self, view: PanelView) -> None:
        """Show a view. Cheap: what is the same as before is not drawn again."""
        if view == self._view:
            return
        self._view = view
        self.notice.set_token(_NOTICE_TOKENS.get(view.state, "dim"))
        self.recorded.show_record(view.recorded, view.notice if view.recorded else "")
        self.notice.show_text("" if view.recorded else view.notice)
        is_empty = not (view.budgets or view.growth or view.speed or view.model)
        self.empty.show_text(
            self.tr(
                "Choose a model: its memory, its growth and its speed on this computer are "
                "planned here before it is loaded."
            )
            if is_empty and view.state == "none"
            else ""
        )
        self.budget.set_views(view.budgets, _layers_apart(view))
        self.budget.setVisible(bool(view.budgets))
        self.findings.set_views(tuple(f for f in view.findings if f.severity != "note"))
        self.notes.set_views(tuple(f for f in view.findings if f.severity == "note"))
        if view.growth is not None:
            self.growth.set_view(view.growth)
        if view.speed is not None:
            self.speed.set_view(view.speed)
        if view.model is not None:
            self.model.set_view(view.model)
        self.growth.setVisible(view.growth is not None)
        self.speed.setVisible(view.speed is not None)
        self.model.setVisible(view.model is not None)
        self._place_findings(first=len(view.budgets) > 1)
        shown = [card for card in self.cards if not card.isHidden()]
        for card in shown:
            card.set_last(card is shown[-1])
        self._lay_out()

    def _lay_out(self) -> None:
        """Lay out now what has other rows or lines than before; nothing, if there are none.

        Qt would do so level by level, and draw in between: rows set into the room of others, one
        on top of the other.
        """
        if self.isVisible():
            for _ in range(_LEVELS):
                QCoreApplication.sendPostedEvents(None, QEvent.Type.LayoutRequest.value)

    def _place_findings(self, *, first: bool) -> None:
        """Set what is found above several devices' budgets, which would push it out of sight."""
        if first != self._findings_first:
            self._findings_first = first
            above, below = self.cards[:2]
            self._column.removeWidget(above)
            self._column.insertWidget(self._column.indexOf(below), above)

    def full_height(self) -> int:
        """Return the height at which all cards show without scrolling, at the present width."""
        content = self.widget()
        return content.heightForWidth(content.width()) if content is not None else 0

    def show_metadata(self) -> MetadataDialog:
        """Open the table of the shown model's metadata; it closes and goes by itself."""
        model = self._view.model if self._view is not None else None
        rows = model.metadata if model is not None else ()
        title = model.title if model is not None else ""
        dialog = MetadataDialog(self._palette, title, rows, self.window())
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()
        return dialog

    def showEvent(self, event: QShowEvent) -> None:
        """Fetch the plots when the panel is first seen."""
        super().showEvent(event)
        self._loader.start()

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        """Offer what concerns all cards."""
        self.menu().popup(event.globalPos())

    def menu(self) -> QMenu:
        """Return the panel's menu; it deletes itself when it closes."""
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        explain = menu.addAction(self.tr("Explain the figures"))
        explain.setCheckable(True)
        explain.setChecked(self._explains)
        explain.toggled.connect(self._on_explain)
        menu.addSeparator()
        shown = [card for card in self.cards if not card.isHidden() and card.folds]
        fold = menu.addAction(self.tr("Fold all"), partial(self._fold_all, is_folded=True))
        fold.setEnabled(any(not card.is_folded for card in shown))
        unfold = menu.addAction(self.tr("Unfold all"), partial(self._fold_all, is_folded=False))
        unfold.setEnabled(any(card.is_folded for card in shown))
        menu.addSeparator()
        copy = menu.addAction(self.tr("Copy the figures"), self._copy)
        copy.setEnabled(bool(shown))
        return menu

    @Slot(bool)
    def _on_explain(self, explains: bool) -> None:
        self.set_explains(explains)
        self.explains_changed.emit(explains)

    def _fold_all(self, *, is_folded: bool) -> None:
        for card in self.cards:
            if card.folds:
                card.set_folded(is_folded)
        self.folded_changed.emit(self.folded)

    def _copy(self) -> None:
        if self._view is not None:
            QGuiApplication.clipboard().setText(panel_as_markdown(self._view))

    @Slot(str, bool)
    def _on_folded(self, _key: str, _is_folded: bool) -> None:
        self.folded_changed.emit(self.folded)

    @Slot()
    def _on_range_changed(self) -> None:
        self._set_margins()

    def _set_margins(self) -> None:
        """Let the scroll bar take the place of the margin, so that nothing moves when it comes."""
        theme = self._palette.theme
        side, end = theme.px(14), theme.px(12)
        bar = self.verticalScrollBar()
        rest = side - bar.sizeHint().width() if bar.maximum() > 0 else side
        far = max(rest, theme.px(4))
        is_mirrored = self.layoutDirection() == Qt.LayoutDirection.RightToLeft
        left, right = (far, side) if is_mirrored else (side, far)
        self._column.setContentsMargins(left, end, right, end)

    @Slot()
    def _apply_theme(self) -> None:
        theme = self._palette.theme
        self._set_margins()
        self._column.setSpacing(theme.px(12))
        self.verticalScrollBar().setSingleStep(theme.px(24))


def _layers_apart(view: PanelView) -> LayersView | None:
    """Return the layers if they lie on several devices and no finding shows them."""
    if view.layers is None or any(finding.layers is not None for finding in view.findings):
        return None
    is_shared = len({layer.device for layer in view.layers.layers}) > 1
    return view.layers if is_shared else None
