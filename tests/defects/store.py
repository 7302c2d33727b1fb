"""Defects of what is kept: chats, replies, files, search."""

from __future__ import annotations

from typing import Final

from tests.defects.defect import Defect

__all__ = ["DEFECTS"]

_MESSAGES: Final = "app/data/messages.py"
_MESSAGE_TESTS: Final = ("tests/app/data/test_messages.py",)

DEFECTS: Final = (
    Defect(
        "undo brings back one message of several",
        _MESSAGES,
        "[(message_id,) for message_id in deletion.message_ids],",
        "[(message_id,) for message_id in deletion.message_ids[:1]],",
        _MESSAGE_TESTS,
    ),
    Defect(
        "undo does not go back to the branch that was shown",
        _MESSAGES,
        "if deletion.leaf_before in deletion.message_ids:",
        "if deletion.leaf_before not in deletion.message_ids:",
        _MESSAGE_TESTS,
    ),
    Defect(
        "deleting a message deletes what follows",
        _MESSAGES,
        "for place in (below if with_replies else [message_id])",
        "for place in below",
        _MESSAGE_TESTS,
    ),
    Defect(
        "a deletion is for good",
        _MESSAGES,
        '"UPDATE messages SET deleted_ms = ? WHERE id = ?", [(now, h) for h in hidden]',
        '"DELETE FROM messages WHERE ? > 0 AND id = ?", [(now, h) for h in hidden]',
        _MESSAGE_TESTS,
    ),
    Defect(
        "an edit takes the place of the old version",
        _MESSAGES,
        "            old.conversation_id,\n            old.parent_id,\n            old.role,",
        "            old.conversation_id,\n            old.id,\n            old.role,",
        _MESSAGE_TESTS,
    ),
    Defect(
        "an edit loses the files of the message",
        _MESSAGES,
        "attachments=old.attachments if attachments is None else attachments,",
        "attachments=() if attachments is None else attachments,",
        _MESSAGE_TESTS,
    ),
    Defect(
        "stored after sending: the disk is not waited for",
        _MESSAGES,
        "self._write(lambda db: _insert(db, message, keeps_draft=keeps_draft), durable=True)",
        "self._write(lambda db: _insert(db, message, keeps_draft=keeps_draft))",
        _MESSAGE_TESTS,
    ),
    Defect(
        "the end of a reply is not waited for",
        _MESSAGES,
        "return self._write(work, durable=final)",
        "return self._write(work)",
        _MESSAGE_TESTS,
    ),
    Defect(
        "replies of a killed program seem to be written for ever",
        _MESSAGES,
        "UPDATE messages SET state = 'interrupted' WHERE state = 'streaming'",
        "UPDATE messages SET state = state WHERE state = 'streaming'",
        _MESSAGE_TESTS,
    ),
    Defect(
        "a sent draft stays",
        _MESSAGES,
        '            draft = ""\n',
        "",
        ("tests/app/data/test_messages.py", "tests/app/data/test_conversations.py"),
    ),
    Defect(
        "files of a sent draft stay",
        _MESSAGES,
        'db.execute("DELETE FROM draft_files WHERE conversation_id = ?", (conversation.id,))',
        "pass",
        ("tests/app/data/test_draft_files.py",),
    ),
    Defect(
        "an edit empties the draft",
        _MESSAGES,
        "            keeps_draft=True,\n",
        "",
        ("tests/app/data/test_draft_files.py",),
    ),
    Defect(
        "the oldest branch is shown instead of the newest",
        "app/data/tree.py",
        "return living[-1] if living else message_id",
        "return living[0] if living else message_id",
        ("tests/app/data/test_tree.py", "tests/app/data/test_messages.py"),
    ),
    Defect(
        "the store can be read by everybody",
        "app/data/files.py",
        '    handle, name = tempfile.mkstemp(dir=path.parent, prefix=path.name, suffix=".new")',
        '    handle, name = tempfile.mkstemp(dir=path.parent, prefix=path.name, suffix=".new")\n'
        "    Path(name).chmod(0o644)",
        ("tests/app/data/test_database.py",),
    ),
    Defect(
        "a copy from before a migration can be read by everybody",
        "app/data/files.py",
        "kept.touch(mode=0o600)",
        "kept.touch(mode=0o644)",
        ("tests/app/data/test_migrations.py", "tests/app/data/test_database.py"),
    ),
    Defect(
        "no copy is kept before a migration",
        "app/data/database.py",
        'files.back_up(db, path, f"before-{version_text(current_version())}")',
        "pass",
        ("tests/app/data/test_migrations.py",),
    ),
    Defect(
        "a store of a newer program is opened",
        "app/data/database.py",
        "    if version // 1000 > current_version() // 1000:\n        raise _TooNewError(",
        "    if version // 1000 > current_version():\n        raise _TooNewError(",
        ("tests/app/data/test_migrations.py", "tests/app/data/test_database.py"),
    ),
    Defect(
        "a damaged store is overwritten",
        "app/data/files.py",
        "    path.replace(aside)\n",
        "    path.unlink()\n    aside.touch()\n",
        ("tests/app/data/test_recovery.py",),
    ),
    Defect(
        "two programs write one store",
        "app/data/lock.py",
        "        while not self._attempt(handle):",
        "        while not self._attempt(handle) and wait_s < 0:",
        ("tests/app/data/test_lock.py", "tests/app/data/test_database.py"),
    ),
    Defect(
        "an access token can be read by everybody",
        "app/data/hub/access.py",
        "token_path(data).chmod(0o600)",
        "token_path(data).chmod(0o644)",
        ("tests/app/data/hub/test_access.py",),
    ),
    Defect(
        "a damaged download is kept",
        "app/data/hub/fetch.py",
        "        if not _is_right(file, part.digest):\n            path.unlink()",
        "        if False:\n            path.unlink()",
        ("tests/app/data/hub/test_fetch.py",),
    ),
    Defect(
        "a download that goes on is checked without its beginning",
        "app/data/hub/fetch.py",
        '                with path.open("rb") as stream:\n'
        "                    self._take_in(stream, part.digest)\n            tries = 0",
        "                pass\n            tries = 0",
        ("tests/app/data/hub/test_fetch.py",),
    ),
    Defect(
        "search finds capitals only where capitals are typed",
        "app/data/search.py",
        "        return text.lower()\n",
        "        return text\n",
        ("tests/app/data/test_search.py",),
    ),
    Defect(
        "an attached file keeps the line ends of Windows",
        "app/data/attachments.py",
        'text.replace("\\r\\n", "\\n").replace("\\r", "\\n")',
        "text",
        ("tests/app/data/test_attachments.py",),
    ),
    Defect(
        "a program's own bytes are attached as text",
        "app/data/attachments.py",
        'if b"\\0" in raw or len(raw)',
        "if len(raw)",
        ("tests/app/data/test_attachments.py",),
    ),
)
