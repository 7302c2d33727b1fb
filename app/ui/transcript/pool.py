"""Row widgets: made for what is near the view, used again for other rows, few kept."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Final, TypeAlias

from PySide6.QtWidgets import QWidget

from app.ui.transcript.entry import Entry
from app.ui.transcript.host import RowHost, RowWidget
from app.ui.transcript.rows import Row, RowKind

__all__ = ["WidgetPool"]

_SPARE: Final = 12

_Maker: TypeAlias = Callable[[RowHost, QWidget], RowWidget]


@lru_cache(maxsize=1)
def _makers() -> dict[RowKind, _Maker]:
    """Return what makes the rows, imported with the first message that is shown."""
    from app.ui.transcript.bubble_row import BubbleRow
    from app.ui.transcript.code_row import CodeRow
    from app.ui.transcript.editor_row import EditorRow
    from app.ui.transcript.formula_row import FormulaRow
    from app.ui.transcript.meta_row import MetaRow
    from app.ui.transcript.state_rows import CutRow, NoteRow, ReasoningRow, WaitingRow
    from app.ui.transcript.table_row import TableRow
    from app.ui.transcript.text_row import TextRow

    return {
        RowKind.BUBBLE: BubbleRow,
        RowKind.TEXT: TextRow,
        RowKind.CODE: CodeRow,
        RowKind.TABLE: TableRow,
        RowKind.FORMULA: FormulaRow,
        RowKind.REASONING: ReasoningRow,
        RowKind.WAITING: WaitingRow,
        RowKind.NOTE: NoteRow,
        RowKind.META: MetaRow,
        RowKind.CUT: CutRow,
        RowKind.EDITOR: EditorRow,
    }


class WidgetPool:
    """Gives rows their widgets and takes them back.

    Attributes:
        used: rows that have a widget, with their entries.
    """

    def __init__(self, host: RowHost, parent: QWidget) -> None:
        self._host = host
        self._parent = parent
        self._spare: dict[RowKind, list[RowWidget]] = {}
        self._stale: set[int] = set()
        self.used: dict[Row, Entry] = {}

    def acquire(self, row: Row, entry: Entry) -> RowWidget:
        """Return the widget of a row, binding one if it has none."""
        found: RowWidget | None = row.widget
        if found is not None:
            self._refresh(found)
            return found
        spare = self._spare.setdefault(row.kind, [])
        made = spare.pop() if spare else _makers()[row.kind](self._host, self._parent)
        self._refresh(made)
        row.widget = made
        self.used[row] = entry
        made.bind(row, entry)
        return made

    def release(self, row: Row) -> None:
        """Take the widget of a row back."""
        widget: RowWidget | None = row.widget
        self.used.pop(row, None)
        if widget is None:
            return
        row.widget = None
        shown = widget.widget()
        focus = shown.window().focusWidget()
        if focus is not None and (focus is shown or shown.isAncestorOf(focus)):
            # Hidden with the focus it would hand that on to some button of another message.
            self._host.take_focus()
        widget.unbind()
        shown.hide()
        spare = self._spare.setdefault(row.kind, [])
        if len(spare) < _SPARE:
            spare.append(widget)
        else:
            self._stale.discard(id(widget))
            widget.widget().deleteLater()

    def release_all(self) -> None:
        """Take all widgets back."""
        for row in list(self.used):
            self.release(row)

    def restyle(self) -> None:
        """Give widgets on screen the style in force; others when they are measured or used again.

        Rows beside the view are measured anew in any case, a few at a time.
        """
        self._stale = {id(widget) for spare in self._spare.values() for widget in spare}
        self._stale.update(id(row.widget) for row in self.used)
        for row in self.used:
            if not row.widget.widget().isHidden():
                self._refresh(row.widget)

    def _refresh(self, widget: RowWidget) -> None:
        if id(widget) in self._stale:
            self._stale.discard(id(widget))
            widget.restyle()

    def formula_ready(self, latex: str) -> None:
        """Give a formula that was drawn to the widgets that wait for it."""
        for row in list(self.used):
            if hasattr(row.widget, "formula_ready"):
                row.widget.formula_ready(latex)

    @property
    def count(self) -> int:
        """How many widgets exist."""
        return len(self.used) + sum(len(spare) for spare in self._spare.values())
