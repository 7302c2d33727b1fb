"""Between rows and records. Nothing in a row is trusted: a store may have been repaired."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from app.data.records import (
    MESSAGE_STATES,
    Attachment,
    ContextEvent,
    Conversation,
    DraftFile,
    Message,
)
from inspector.records import TurnStats

__all__ = [
    "CONVERSATION_COLUMNS",
    "DRAFT_FILE_COLUMNS",
    "EVENT_COLUMNS",
    "MESSAGE_COLUMNS",
    "attachments_json",
    "clean_text",
    "conversation_of",
    "conversation_values",
    "draft_file_of",
    "draft_file_values",
    "event_of",
    "event_values",
    "insert",
    "message_of",
    "message_values",
    "sampling_json",
    "stats_json",
]

# Every column but ``seq``, in the order of the tables.
CONVERSATION_COLUMNS = (
    "id", "title", "title_is_auto", "created_ms", "updated_ms", "pinned", "deleted_ms",
    "model_path", "model_name", "system_prompt", "preset", "sampling", "leaf_id", "keep_from",
    "pinned_now", "draft",
)  # fmt: skip
MESSAGE_COLUMNS = (
    "id", "conversation_id", "parent_id", "role", "text", "reasoning", "state", "stop_reason",
    "model_name", "created_ms", "updated_ms", "attachments", "stats", "deleted_ms",
)  # fmt: skip
EVENT_COLUMNS = (
    "id", "conversation_id", "message_id", "created_ms", "dropped", "dropped_tokens", "n_ctx",
)  # fmt: skip
# ``kept_ms`` stands where no other table has a number: rows of a damaged file are told apart so.
DRAFT_FILE_COLUMNS = ("id", "conversation_id", "kept_ms", "name", "text", "path", "note")

_stats_decoder = msgspec.json.Decoder(TurnStats)


def conversation_of(row: tuple[Any, ...]) -> Conversation:
    """Return the record of a row with `CONVERSATION_COLUMNS`."""
    values = dict(zip(CONVERSATION_COLUMNS, row, strict=True))
    values["title_is_auto"] = bool(values["title_is_auto"])
    values["pinned"] = bool(values["pinned"])
    values["sampling"] = _object(values["sampling"])
    return Conversation(**values)


def message_of(row: tuple[Any, ...]) -> Message:
    """Return the record of a row with `MESSAGE_COLUMNS`."""
    values = dict(zip(MESSAGE_COLUMNS, row, strict=True))
    values["attachments"] = _attachments(values["attachments"])
    values["stats"] = _stats(values["stats"])
    if values["state"] not in MESSAGE_STATES:  # of a newer version
        values["state"] = "complete"
    return Message(**values)


def event_of(row: tuple[Any, ...]) -> ContextEvent:
    """Return the record of a row with `EVENT_COLUMNS`."""
    values = dict(zip(EVENT_COLUMNS, row, strict=True))
    dropped = _json(values["dropped"])
    values["dropped"] = tuple(str(item) for item in dropped) if isinstance(dropped, list) else ()
    return ContextEvent(**values)


def draft_file_of(row: tuple[Any, ...]) -> DraftFile:
    """Return the record of a row with `DRAFT_FILE_COLUMNS`."""
    values = dict(zip(DRAFT_FILE_COLUMNS, row, strict=True))
    attachment = Attachment(values["name"], values["text"], note=values["note"])
    return DraftFile(values["id"], attachment, values["path"])


def conversation_values(conversation: Conversation) -> list[Any]:
    """Return the row of a record, in the order of `CONVERSATION_COLUMNS`."""
    values = [getattr(conversation, column) for column in CONVERSATION_COLUMNS]
    values[CONVERSATION_COLUMNS.index("sampling")] = sampling_json(conversation.sampling)
    return _clean(values)


def message_values(message: Message) -> list[Any]:
    """Return the row of a record, in the order of `MESSAGE_COLUMNS`."""
    values = [getattr(message, column) for column in MESSAGE_COLUMNS]
    values[MESSAGE_COLUMNS.index("attachments")] = attachments_json(message.attachments)
    values[MESSAGE_COLUMNS.index("stats")] = stats_json(message.stats)
    return _clean(values)


def event_values(event: ContextEvent) -> list[Any]:
    """Return the row of a record, in the order of `EVENT_COLUMNS`."""
    values = [getattr(event, column) for column in EVENT_COLUMNS]
    values[EVENT_COLUMNS.index("dropped")] = json.dumps(event.dropped)
    return _clean(values)


def draft_file_values(file: DraftFile, conversation_id: str | None, kept_ms: int) -> list[Any]:
    """Return the row of a record, in the order of `DRAFT_FILE_COLUMNS`."""
    of = file.attachment
    # A path may hold bytes that are no text on this system; it is only looked for again.
    return _clean([file.id, conversation_id, kept_ms, of.name, of.text, file.path, of.note])


def _clean(values: list[Any]) -> list[Any]:
    return [clean_text(value) if isinstance(value, str) else value for value in values]


def insert(
    db: sqlite3.Connection, table: str, columns: tuple[str, ...], values: Iterable[object]
) -> int:
    """Insert a row and return its ``seq``."""
    marks = ", ".join("?" * len(columns))
    cursor = db.execute(
        f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks})", tuple(values)
    )
    assert cursor.lastrowid is not None
    return cursor.lastrowid


def clean_text(text: str) -> str:
    """Return text that can be stored: a lone surrogate, as some clipboards give, is replaced."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def attachments_json(attachments: Iterable[Attachment]) -> str:
    """Return attachments as stored; None values are left out."""
    plain = [
        {
            key: clean_text(value) if isinstance(value, str) else value
            for key in ("name", "text", "tokens", "note")
            if (value := getattr(attachment, key)) is not None
        }
        for attachment in attachments
    ]
    return json.dumps(plain, ensure_ascii=False)


def sampling_json(sampling: Mapping[str, Any]) -> str:
    """Return sampling values as stored."""
    return clean_text(json.dumps(dict(sampling), ensure_ascii=False))


def stats_json(stats: TurnStats | None) -> str | None:
    """Return the measurements of a turn as stored."""
    return None if stats is None else msgspec.json.encode(stats).decode()


def _json(text: object) -> Any:
    try:
        return json.loads(text) if isinstance(text, str) else None
    except (ValueError, RecursionError):
        return None


def _object(text: object) -> dict[str, Any]:
    found = _json(text)
    return found if isinstance(found, dict) else {}


def _attachments(text: object) -> tuple[Attachment, ...]:
    found = _json(text) if text != "[]" else None
    if not isinstance(found, list):
        return ()
    return tuple(
        Attachment(
            name=str(item.get("name", "")),
            text=str(item.get("text", "")),
            tokens=item["tokens"] if isinstance(item.get("tokens"), int) else None,
            note=item["note"] if isinstance(item.get("note"), str) else None,
        )
        for item in found
        if isinstance(item, dict)
    )


def _stats(text: object) -> TurnStats | None:
    if not isinstance(text, str):
        return None
    try:
        return _stats_decoder.decode(text)
    except (msgspec.DecodeError, ValueError, RecursionError):
        return None
