"""Files that go with drafts: kept until the message is sent, as those of sent messages are.

They have a table of their own. A list of chats, or a message that is added, reads whole rows of
conversations, and a file's text may be as long as a book.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from app.data import rows
from app.data.messages import MessageStore
from app.data.records import DraftFile

__all__ = ["DraftFileStore"]

_COLUMNS = ", ".join(rows.DRAFT_FILE_COLUMNS)


class DraftFileStore(MessageStore):
    """The files of drafts. A ``conversation_id`` of None means the chat that is not stored yet."""

    def draft_files(self, conversation_id: str | None) -> list[DraftFile]:
        """Return the files that go with a draft, in the order in which they were kept."""
        return self._read(
            lambda db: [
                rows.draft_file_of(row)
                for row in db.execute(
                    f"SELECT {_COLUMNS} FROM draft_files WHERE conversation_id IS ? ORDER BY seq",
                    (conversation_id,),
                )
            ]
        )

    def keep_draft_files(self, conversation_id: str | None, files: Sequence[DraftFile]) -> None:
        """Keep these files with a draft and no others; only new ones are written.

        A conversation that was purged meanwhile keeps none.
        """
        now = self._now()

        def work(db: sqlite3.Connection) -> None:
            known = {
                row[0]
                for row in db.execute(
                    "SELECT id FROM draft_files WHERE conversation_id IS ?", (conversation_id,)
                )
            }
            gone = known.difference(file.id for file in files)
            db.executemany("DELETE FROM draft_files WHERE id = ?", [(key,) for key in gone])
            new = [file for file in files if file.id not in known]
            if new and (conversation_id is None or _exists(db, conversation_id)):
                for file in new:
                    values = rows.draft_file_values(file, conversation_id, now)
                    # One that was another draft's: an empty chat got its id meanwhile.
                    db.execute("DELETE FROM draft_files WHERE id = ?", (file.id,))
                    rows.insert(db, "draft_files", rows.DRAFT_FILE_COLUMNS, values)

        self._write(work)


def _exists(db: sqlite3.Connection, conversation_id: str) -> bool:
    found = db.execute("SELECT 1 FROM conversations WHERE id = ?", (conversation_id,))
    return found.fetchone() is not None
