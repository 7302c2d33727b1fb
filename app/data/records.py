"""What is kept of a conversation, as values.

The window and the command line see only these; rows and SQL stay inside `app.data`. Times are
milliseconds since 1970 (UTC), kinds are names, never numbers, so that a store can be read by hand
and an enumeration that grows can't change the meaning of an old row.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, TypedDict

from inspector.records import TurnStats

__all__ = [
    "MESSAGE_STATES",
    "Attachment",
    "ContextEvent",
    "Conversation",
    "ConversationFields",
    "Deletion",
    "DraftFile",
    "Message",
    "MessageState",
    "Role",
    "SearchHit",
    "Siblings",
]

Role: TypeAlias = Literal["user", "assistant"]
MessageState: TypeAlias = Literal["complete", "streaming", "interrupted", "stopped", "failed"]
MESSAGE_STATES: tuple[MessageState, ...] = (
    "complete",
    "streaming",
    "interrupted",
    "stopped",
    "failed",
)


@dataclass(frozen=True, slots=True)
class Attachment:
    """Text of a file that goes with a message.

    ``tokens`` is None until an engine has counted them. ``note`` is a sentence about how the text
    was read (an encoding that had to be guessed, pages left out), None if there is nothing to say.
    """

    name: str
    text: str
    tokens: int | None = None
    note: str | None = None


@dataclass(frozen=True, slots=True)
class DraftFile:
    """A file that goes with a message that is not sent yet.

    Its text is kept as it was read; ``path`` says where, None for a text that was pasted.
    """

    id: str
    attachment: Attachment
    path: str | None = None


@dataclass(frozen=True, slots=True)
class Conversation:
    """A chat: what it is called and how it is held; its messages are read apart.

    ``system_prompt`` None means that of new chats; ``sampling`` holds only values that were
    changed. ``leaf_id`` is the last message of the branch that is shown. ``keep_from`` is the
    first message that the last trim of the context kept, ``pinned_now`` the time of day (ISO 8601)
    that its prompts are rendered with. ``deleted_ms`` is set between a deletion and its purge.
    """

    id: str
    title: str
    title_is_auto: bool
    created_ms: int
    updated_ms: int
    pinned: bool = False
    deleted_ms: int | None = None
    model_path: str | None = None
    model_name: str | None = None
    system_prompt: str | None = None
    preset: str | None = None
    sampling: Mapping[str, Any] = field(default_factory=dict)
    leaf_id: str | None = None
    keep_from: str | None = None
    pinned_now: str | None = None
    draft: str = ""


class ConversationFields(TypedDict, total=False):
    """What `ConversationStore.update` changes; a key that is left out stays as it is."""

    model_path: str | None
    model_name: str | None
    system_prompt: str | None
    preset: str | None
    sampling: Mapping[str, Any]
    keep_from: str | None
    pinned_now: str | None
    draft: str


@dataclass(frozen=True, slots=True)
class Message:
    """One message. An edit or a regeneration is a new message with the same parent."""

    id: str
    conversation_id: str
    parent_id: str | None
    role: Role
    text: str
    reasoning: str
    state: MessageState
    stop_reason: str | None
    model_name: str | None
    created_ms: int
    updated_ms: int
    attachments: tuple[Attachment, ...] = ()
    stats: TurnStats | None = None
    deleted_ms: int | None = None


@dataclass(frozen=True, slots=True)
class ContextEvent:
    """Messages left the context window: which, how many tokens, at which message."""

    id: str
    conversation_id: str
    message_id: str
    created_ms: int
    dropped: tuple[str, ...]
    dropped_tokens: int
    n_ctx: int


@dataclass(frozen=True, slots=True)
class SearchHit:
    """A place where a search matched; ``message_id`` None means the title.

    ``marks`` are (start, length) of the matches in ``snippet``, in characters.
    """

    conversation_id: str
    message_id: str | None
    title: str
    role: Role | None
    snippet: str
    marks: tuple[tuple[int, int], ...]
    created_ms: int


@dataclass(frozen=True, slots=True)
class Siblings:
    """Versions at one place of a conversation, oldest first; ``index`` counts from 0."""

    index: int
    count: int
    ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Deletion:
    """What `ConversationStore.undo_delete_message` needs to take a deletion back."""

    conversation_id: str
    message_ids: tuple[str, ...]
    leaf_before: str | None
