"""Records of loads, one small file each, named by what they hold.

A turn's statistics name the load it ran under; with the record of that load a turn can be read,
reported and replayed without the model. Losing one loses a report's detail, never a chat.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import msgspec

from app.data.records import Message
from app.settings import atomic_write
from app.small_files import read_small
from inspector.records import LoadRecord, TurnPart, TurnRecord, decode_record, encode_record

__all__ = ["LoadRecords", "parts_of", "turn_records"]

log = logging.getLogger(__name__)

_ID: Final = re.compile(r"[0-9a-f]{16}")
_MAX_BYTES: Final = 4 * 1024 * 1024


class LoadRecords:
    """A folder of records; made when the first one is kept."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._known: dict[str, LoadRecord] = {}

    def keep(self, record: LoadRecord) -> str:
        """Keep a record and return its id. A disk that doesn't take it is logged and no more."""
        record_id = record.id
        self._known[record_id] = record
        path = self._path(record_id)
        try:
            if not path.exists():
                self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
                atomic_write(path, encode_record(record))
        except OSError as error:
            log.warning("record of a load not kept: %s", error)
        return record_id

    def get(self, record_id: str | None) -> LoadRecord | None:
        """Return a record, None if it was never kept or can't be read."""
        if record_id is None or not _ID.fullmatch(record_id):
            return None
        known = self._known.get(record_id)
        if known is not None:
            return known
        path = self._path(record_id)
        try:
            record = decode_record(read_small(path, _MAX_BYTES), LoadRecord)
        except OSError:
            return None
        except ValueError as error:
            log.warning("record %s of a load can't be read: %s", record_id, error)
            return None
        self._known[record_id] = record
        return record

    def _path(self, record_id: str) -> Path:
        return self._folder / f"{record_id}.json"


def turn_records(messages: Iterable[Message], loads: LoadRecords) -> list[TurnRecord]:
    """Return the turns that have figures, with the records of their loads where those are kept.

    A reply that was continued gives one for each of its parts.
    """
    return [
        TurnRecord(
            at_ms=part.at_ms,
            stats=part.stats,
            conversation=message.conversation_id,
            message=message.id,
            model_name=message.model_name or "",
            stop=part.stop,
            load=loads.get(part.stats.load_id),
            part=number,
            parts=len(parts),
        )
        for message in messages
        if message.role == "assistant" and message.stats is not None
        for parts in (parts_of(message),)
        for number, part in enumerate(parts, start=1)
    ]


def parts_of(message: Message) -> tuple[TurnPart, ...]:
    """Return what was measured of a reply's parts, in order; one unless it was continued."""
    stats = message.stats
    if stats is None:
        return ()
    last = TurnPart(
        at_ms=message.updated_ms if stats.earlier else message.created_ms,
        stats=msgspec.structs.replace(stats, earlier=()),
        stop=message.stop_reason,
    )
    return (*stats.earlier, last)
