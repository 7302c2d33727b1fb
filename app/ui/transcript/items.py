"""What a conversation looks like to the transcript: plain values that a controller hands over.

Nothing here knows Qt, so a controller and its tests can make and compare these freely. The
transcript never changes one; it answers with a `MessageAction` and waits for the next value.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

__all__ = [
    "ActionKind",
    "AttachmentView",
    "Figure",
    "MessageAction",
    "MessageView",
    "NoticeAction",
    "Role",
    "State",
    "lines_of",
]

_LINE_LENGTH: Final = 90

Role: TypeAlias = Literal["user", "assistant", "memory_cut", "notice"]
State: TypeAlias = Literal["complete", "streaming", "waiting", "interrupted", "stopped", "failed"]

ActionKind: TypeAlias = str
"""One of "edit", "regenerate", "regenerate_with", "regenerate_several", "continue",
"previous_version", "next_version", "delete", "open_link", or the ``kind`` of a `NoticeAction`."""


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure of the line below a reply, read as ``label value unit note``.

    ``Figure("first token", "0.24", "s")``, ``Figure("", "142", "tokens")``. ``bold_value`` makes
    value and a short unit stand out; ``tip`` explains where the figure comes from.
    """

    label: str
    value: str
    unit: str = ""
    note: str = ""
    bold_value: bool = True
    tip: str = ""


@dataclass(frozen=True, slots=True)
class AttachmentView:
    """A file that went with a message; ``tokens`` is None while it is not counted yet."""

    name: str
    tokens: int | None = None


@dataclass(frozen=True, slots=True)
class NoticeAction:
    """Something a row offers to do; choosing it emits a `MessageAction` of this ``kind``."""

    label: str
    kind: ActionKind


@dataclass(frozen=True, slots=True)
class MessageView:
    """One message as it is to be shown.

    Attributes:
        id: unique in the conversation and stable across updates.
        text: Markdown of an answer, plain text of a user, one sentence of a notice or cut.
        reasoning: what the model thought before it answered; folded.
        reasoning_tokens: its length, 0 when it is not counted.
        note: sentence below the message, for instance why it stopped.
        figures: line of figures below a reply, in order.
        version_index: which version is shown, from 0.
        version_count: how many versions there are.
        versions_live: several versions are being written, so the others can be looked at.
        is_last: nothing follows it.
        progress: prompt tokens read and to be read, while ``state`` is "waiting".
        actions: what a notice, a cut or a note offers to do.
        lines: about how many lines the text takes (`lines_of`), where that was found out
            beforehand; None where it was not.
    """

    id: str
    role: Role
    text: str
    reasoning: str = ""
    reasoning_tokens: int = 0
    state: State = "complete"
    note: str = ""
    figures: tuple[Figure, ...] = ()
    model: str = ""
    version_index: int = 0
    version_count: int = 1
    attachments: tuple[AttachmentView, ...] = ()
    progress: tuple[int, int] | None = None
    versions_live: bool = False
    is_last: bool = False
    actions: tuple[NoticeAction, ...] = ()
    lines: int | None = field(default=None, compare=False)


def lines_of(text: str) -> int:
    """Return about how many lines a text takes on the screen."""
    return text.count("\n") + len(text) // _LINE_LENGTH + 1


@dataclass(frozen=True, slots=True)
class MessageAction:
    """What the user wants done with a message.

    ``payload`` is the new text of an "edit", the address of an "open_link" (emitted only after
    the user has seen and confirmed it), and None otherwise.
    """

    kind: ActionKind
    message_id: str
    payload: str | None = None
