"""A message in the transcript: its view, its rows, and when its text is parsed.

Entries are made for every message of a conversation, so making one costs next to nothing: the
text is parsed when `open` is called, in steps that keep within a time. Only then is the parser
imported, so that an empty window does not wait for it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from app.ui.transcript.blocks import plain_text
from app.ui.transcript.bubble_slices import bubble_slices
from app.ui.transcript.items import MessageView, lines_of
from app.ui.transcript.rows import BlockRows, Row, RowKind

__all__ = ["Entry", "estimated_height"]

_LIVE: Final = ("streaming", "waiting")
_LONG: Final = 8000


def estimated_height(view: MessageView) -> int:
    """Return about how high a message will be, in pixels."""
    lines = view.lines
    if lines is None:
        lines = lines_of(view.text)
    if view.role == "assistant":
        return 21 * lines + 26 + (26 if view.reasoning else 0)
    return 21 * min(lines, 30) + 18 if view.role == "user" else 28


def _body(text: str) -> BlockRows:
    from app.ui.transcript.stream_markdown import StreamMarkdown

    stream = StreamMarkdown()
    stream.feed(text)
    return BlockRows(stream)


class Entry:
    """One message.

    Attributes:
        view: what is shown.
        rows: its rows, one `PENDING` row before it is opened.
        unfolded: whether the reasoning is shown.
        whole: whether all of a long message of the user is shown.
        editing: whether an editor stands in its place.
        draft: what has been typed into that editor.
        table_scroll: how far sideways tables are scrolled, by their headers.
    """

    def __init__(self, view: MessageView) -> None:
        self.view = view
        self.unfolded = False
        self.whole = False
        self.editing = False
        self.draft: str | None = None
        self.is_open = False
        self.table_scroll: dict[object, int] = {}
        self._answer: BlockRows | None = None
        self._thought: BlockRows | None = None
        self._extra: dict[RowKind, Row] = {}
        self._bubbles: list[Row] = []
        self._bubble_of: tuple[MessageView, bool] | None = None  # what they were made of
        self._caret_row: Row | None = None
        self.rows: list[Row] = [Row(RowKind.PENDING, view, height=estimated_height(view))]

    @property
    def is_live(self) -> bool:
        """Whether the message is still being written."""
        return self.view.state in _LIVE

    def open(self, late: Callable[[], bool] | None = None) -> list[Row] | None:
        """Parse the text and make the rows; return the rows that are gone.

        The work stops after a step when ``late`` says so; None then says that some is left, and
        the rows are still what they were.
        """
        if self.is_open:
            return []
        if self.view.role == "assistant" and not self._parse(late):
            return None
        self.is_open = True
        gone = self.rows
        self.rows = []
        return gone + self.sync()[1]

    def _parse(self, late: Callable[[], bool] | None) -> bool:
        if self._answer is None:
            self._answer = _body(self.view.text)
        while self._answer.stream.advance():
            if late is not None and late():
                return False
        if not self.is_live:
            self._answer.stream.finish()
        return True

    def append(self, answer: str, reasoning: str) -> None:
        """Take more text of a message that is being written; nothing is parsed yet."""
        view = self.view
        self.view = replace(
            view,
            text=view.text + answer,
            reasoning=view.reasoning + reasoning,
            state="streaming" if view.state == "waiting" else view.state,
            progress=None,
            lines=None,
        )
        if answer and self._answer is not None:
            self._answer.stream.feed(answer)
        if reasoning and self._thought is not None:
            self._thought.stream.feed(reasoning)

    def set_view(self, view: MessageView) -> tuple[list[Row], list[Row]]:
        """Show another value; return the rows that changed and those that are gone.

        What was parsed is kept when the text only grew. A long text that is another one waits
        to be opened again, so that switching versions never parses all of it at once.
        """
        before, self.view = self.view, view
        live = self.is_live
        if self._answer is not None:
            grown = view.text.startswith(before.text)
            if not grown and len(view.text) > _LONG:
                return [], self._close()
            self._answer = self._carried(self._answer, before.text, view.text, live)
        if self._thought is not None:
            self._thought = self._carried(self._thought, before.reasoning, view.reasoning, live)
        if not self.is_open:
            self.rows[0].content = view
            self.rows[0].height = estimated_height(view)
        return self.sync()

    def _close(self) -> list[Row]:
        """Forget what was parsed; return the rows that are gone."""
        gone = self.rows
        self._answer = self._thought = None
        self._extra.clear()
        self._bubbles, self._bubble_of = [], None
        self._caret_row = None
        self.is_open = False
        self.rows = [Row(RowKind.PENDING, self.view, height=estimated_height(self.view))]
        return gone

    @staticmethod
    def _carried(part: BlockRows, before: str, after: str, live: bool) -> BlockRows:
        finished = part.stream.is_finished
        if after == before and (finished or not live):
            part.stream.finish()
        elif after.startswith(before) and not finished:
            part.stream.feed(after[len(before) :])
            if not live:
                part.stream.finish()
        else:
            other = _body(after)
            if not live:
                other.stream.finish()
            part.move_to(other.stream)
        return part

    def sync(self) -> tuple[list[Row], list[Row]]:
        """Bring the rows up to date; return those that changed and those that are gone."""
        if not self.is_open:
            return [self.rows[0]], []
        before = self.rows
        changed: list[Row] = []
        if self.editing:
            self.rows = [self._row(RowKind.EDITOR, 0, changed)]
        elif self.view.role == "user":
            self.rows = self._bubble_rows(changed)
        elif self.view.role == "assistant":
            self.rows = self._assistant_rows(changed)
        else:
            kind = RowKind.CUT if self.view.role == "memory_cut" else RowKind.NOTE
            self.rows = [self._row(kind, 0, changed)]
        kept = {id(row) for row in self.rows}
        return changed, [row for row in before if id(row) not in kept]

    def _row(self, kind: RowKind, gap: int, changed: list[Row]) -> Row:
        """Return the row of a kind that a message has once, showing the present view."""
        row = self._extra.get(kind)
        if row is None:
            row = self._extra[kind] = Row(kind, self.view, gap)
            changed.append(row)
        elif row.content is not self.view:
            row.content = self.view
            row.invalidate()
            changed.append(row)
        row.gap = gap
        return row

    def _bubble_rows(self, changed: list[Row]) -> list[Row]:
        """Return the rows of a user's message: one, or many where all of a long one is shown."""
        of = (self.view, self.whole)
        if of == self._bubble_of:
            return self._bubbles
        self._bubble_of = of
        slices = bubble_slices(self.view, whole=self.whole)
        for number, content in enumerate(slices):
            if number == len(self._bubbles):
                lines = len(content.pieces) + len(content.text) // 60
                self._bubbles.append(Row(RowKind.BUBBLE, content, height=21 * lines))
            elif self._bubbles[number].content == content:
                continue
            row = self._bubbles[number]
            row.content = content
            row.invalidate()
            changed.append(row)
        self._bubbles = self._bubbles[: len(slices)]
        return self._bubbles

    def _assistant_rows(self, changed: list[Row]) -> list[Row]:
        view = self.view
        rows: list[Row] = []
        if view.reasoning:
            rows.append(self._row(RowKind.REASONING, 0, changed))
            if self.unfolded:
                rows.extend(self._thought_rows(changed))
        answer = self._answer
        if answer is not None:
            answer.stream.update()
            updated, _ = answer.sync(live=self.is_live)
            changed.extend(updated)
            if answer.rows:
                above = 14 if self.unfolded else 10
                answer.rows[0].gap = above if rows else 0
            rows.extend(answer.rows)
            self._mark_caret(answer.rows, changed)
        if view.state == "waiting":
            rows.append(self._row(RowKind.WAITING, 8 if rows else 0, changed))
        if view.note or view.state in ("interrupted", "stopped", "failed"):
            rows.append(self._row(RowKind.NOTE, 10 if rows else 0, changed))
        rows.append(self._row(RowKind.META, 6 if rows else 0, changed))
        return rows

    def _thought_rows(self, changed: list[Row]) -> list[Row]:
        if self._thought is None:
            self._thought = _body(self.view.reasoning)
            self._thought.reasoning = True
        thought = self._thought
        if not self.is_live:
            thought.stream.finish()
        thought.stream.update()
        updated, _ = thought.sync(live=self.is_live)
        changed.extend(updated)
        if thought.rows:
            thought.rows[0].gap = 6
        return thought.rows

    def _mark_caret(self, rows: list[Row], changed: list[Row]) -> None:
        """Let the caret stand at the end of the text that is being written."""
        last = rows[-1] if rows and self.view.state == "streaming" else None
        if last is not None and last.kind is not RowKind.TEXT:
            last = None
        # Many rows may have come since the caret stood in one of them.
        for row in (self._caret_row, last):
            if row is not None and row.caret != (row is last):
                row.caret = row is last
                if row not in changed:
                    changed.append(row)
        self._caret_row = last

    def plain_text(self) -> str:
        """Return the message without Markdown's marks."""
        if self.view.role != "assistant":
            return self.view.text
        if self._answer is None or not self.is_open:
            from app.ui.transcript.stream_markdown import parse_markdown

            return plain_text(parse_markdown(self.view.text))
        return plain_text(self._answer.stream.blocks)

    def height(self, px: float) -> int:
        """Return the height of all rows and the gaps between them; ``px`` scales the gaps."""
        return sum(row.height + round(row.gap * px) for row in self.rows)
