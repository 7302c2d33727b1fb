"""Full-text search over titles and messages that works for every script.

SQLite's tokeniser knows words by the spaces between them, which Chinese, Japanese, Thai and others
don't write. So text is folded here before it is indexed: case and accents go, and each character
of such a script becomes a word of its own. A search folds the same way and asks for a phrase of
those characters, which finds any substring, one character long or longer; for scripts with spaces
it finds the beginnings of words. Snippets are cut from the original text.
"""

from __future__ import annotations

import re
import sqlite3
import unicodedata
from typing import Any

from app.data.records import SearchHit

__all__ = [
    "create",
    "find",
    "fold",
    "forget_removed",
    "index_message",
    "index_title",
    "rebuild",
    "remove",
    "snip",
]

_MAX_SNIPPET_SOURCE = 200_000  # characters of a message that are looked at for a snippet
_SNIPPET = 160
_BEFORE = 50
_MAX_TERMS = 16

# Scripts written without spaces: Thai to Myanmar, Khmer, kana, CJK and its extensions, Hangul.
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
)
_UNSPACED_CHARACTER = re.compile(f"([{_UNSPACED}])")
# Marks that searching ignores: Latin, Greek and Cyrillic accents, Hebrew points, Arabic vowels.
# Not every combining mark: in Indic scripts and in kana they are letters of their own.
_IGNORED_MARKS = re.compile(
    "[\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a"
    "\u064b-\u065f\u0670\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]"
)

_TABLES = """
CREATE VIRTUAL TABLE message_search USING fts5 (
    body, prefix='2 3', tokenize="unicode61 remove_diacritics 0 categories 'L* N* Co M*'");
CREATE VIRTUAL TABLE title_search USING fts5 (
    body, prefix='2 3', tokenize="unicode61 remove_diacritics 0 categories 'L* N* Co M*'")
"""


def fold(text: str) -> str:
    """Return text as it is indexed: no case, no accents, unspaced scripts one character a word."""
    if text.isascii():
        return text.lower()
    return _UNSPACED_CHARACTER.sub(r" \1 ", _fold_marks(text))


def _fold_marks(text: str) -> str:
    apart = unicodedata.normalize("NFKD", text)
    return unicodedata.normalize("NFC", _IGNORED_MARKS.sub("", apart)).casefold()


# --- the index ------------------------------------------------------------------------------


def create(db: sqlite3.Connection) -> None:
    """Make the search tables and fill them from the rows there are."""
    for statement in _TABLES.split(";\n"):
        db.execute(statement)
    _fill(db)


def rebuild(db: sqlite3.Connection) -> None:
    """Make the search tables anew; for an index that is damaged while its rows are not."""
    db.execute("DROP TABLE IF EXISTS message_search")
    db.execute("DROP TABLE IF EXISTS title_search")
    create(db)


def _fill(db: sqlite3.Connection) -> None:
    for seq, title in db.execute("SELECT seq, title FROM conversations").fetchall():
        index_title(db, seq, title)
    rows = db.execute("SELECT seq, text FROM messages WHERE state <> 'streaming'")
    for seq, text in rows:
        db.execute("INSERT INTO message_search (rowid, body) VALUES (?, ?)", (seq, fold(text)))


def index_message(db: sqlite3.Connection, seq: int, text: str) -> None:
    """Index a message, in place of what was indexed for it."""
    db.execute("DELETE FROM message_search WHERE rowid = ?", (seq,))
    db.execute("INSERT INTO message_search (rowid, body) VALUES (?, ?)", (seq, fold(text)))


def index_title(db: sqlite3.Connection, seq: int, title: str) -> None:
    """Index a conversation's title, in place of the one before."""
    db.execute("DELETE FROM title_search WHERE rowid = ?", (seq,))
    db.execute("INSERT INTO title_search (rowid, body) VALUES (?, ?)", (seq, fold(title)))


def remove(db: sqlite3.Connection, conversation_seq: int, conversation_id: str) -> None:
    """Take a conversation out of the index, before its rows go."""
    db.execute(
        "DELETE FROM message_search WHERE rowid IN "
        "(SELECT seq FROM messages WHERE conversation_id = ?)",
        (conversation_id,),
    )
    db.execute("DELETE FROM title_search WHERE rowid = ?", (conversation_seq,))


def forget_removed(db: sqlite3.Connection) -> None:
    """Write the index anew without the words of what was removed, which it keeps until then."""
    for table in ("message_search", "title_search"):
        db.execute(f"INSERT INTO {table} ({table}) VALUES ('optimize')")


# --- finding --------------------------------------------------------------------------------


def find(db: sqlite3.Connection, query: str, limit: int) -> list[SearchHit]:
    """Return where all terms of a query occur: titles first, then messages, newest first."""
    condition, values = _condition(query)
    if not condition:
        return []
    terms = query.split()[:_MAX_TERMS]
    # The condition is made of fixed pieces; every value is bound.
    titles = db.execute(
        "SELECT c.id, NULL, c.title, NULL, c.title, c.updated_ms FROM title_search s"
        f" JOIN conversations c ON c.seq = s.rowid WHERE c.deleted_ms IS NULL AND {condition}"
        " ORDER BY s.rowid DESC LIMIT ?",
        (*values, limit),
    ).fetchall()
    messages = db.execute(
        f"SELECT c.id, m.id, c.title, m.role, substr(m.text, 1, {_MAX_SNIPPET_SOURCE}),"
        " m.created_ms FROM message_search s JOIN messages m ON m.seq = s.rowid"
        " JOIN conversations c ON c.id = m.conversation_id"
        f" WHERE c.deleted_ms IS NULL AND m.deleted_ms IS NULL AND {condition}"
        " ORDER BY s.rowid DESC LIMIT ?",
        (*values, limit - len(titles)),
    ).fetchall()
    return [_hit(row, terms) for row in (*titles, *messages)]


def _hit(row: tuple[str, str | None, str, Any, str, int], terms: list[str]) -> SearchHit:
    conversation_id, message_id, title, role, text, created_ms = row
    snippet, marks = snip(text, terms)
    return SearchHit(conversation_id, message_id, title, role, snippet, marks, created_ms)


def _condition(query: str) -> tuple[str, list[str]]:
    """Return SQL and values for a query; empty if there is nothing to look for.

    What is not a letter or digit isn't in the index ("c++", "->"), so a term with such characters
    is looked for in the folded text of those messages as well.
    """
    phrases: list[str] = []
    literals: list[str] = []
    for term in query.split()[:_MAX_TERMS]:
        folded = fold(term)
        words = "".join(c if _in_index(c) else " " for c in folded).split()
        if words:
            phrases.append(f'"{" ".join(words)}"*')
        if "".join(words) != folded and not _UNSPACED_CHARACTER.search(term):
            literals.append(folded)
    conditions = ["s.body MATCH ?"] if phrases else []
    conditions += ["instr(s.body, ?) > 0"] * len(literals)
    return " AND ".join(conditions), ([" ".join(phrases)] if phrases else []) + literals


def _in_index(character: str) -> bool:
    category = unicodedata.category(character)
    return category[0] in "LNM" or category == "Co"  # as the tables' tokeniser is told


def snip(text: str, terms: list[str]) -> tuple[str, tuple[tuple[int, int], ...]]:
    """Cut the part of a text around its first match: one line, with the places of all matches."""
    folded, origin = _fold_with_origin(text[:_MAX_SNIPPET_SOURCE])
    pattern = _pattern(terms)
    first = pattern.search(folded) if pattern else None
    start = origin[first.start()] if first else 0
    start = 0 if start < _BEFORE + 10 else _word_start(text, start - _BEFORE)
    end = min(len(text), start + _SNIPPET)
    head, tail = "…" if start else "", "…" if end < len(text) else ""
    body = "".join(" " if c.isspace() else c for c in text[start:end])
    marks = []
    for match in pattern.finditer(folded) if pattern else ():
        left, right = origin[match.start()], origin[match.end() - 1] + 1
        if right > end:
            break
        if left >= start:
            marks.append((left - start + len(head), right - left))
    return head + body + tail, tuple(marks)


def _word_start(text: str, place: int) -> int:
    space = text.find(" ", place, place + 20)
    return place if space < 0 else space + 1


def _pattern(terms: list[str]) -> re.Pattern[str] | None:
    choices = []
    for term in terms:
        folded = term.lower() if term.isascii() else _fold_marks(term)
        before = "" if _UNSPACED_CHARACTER.match(folded) or not folded[:1].isalnum() else r"\b"
        if folded:
            choices.append(before + re.escape(folded))
    return re.compile("|".join(choices)) if choices else None


def _fold_with_origin(text: str) -> tuple[str, range | list[int]]:
    """Fold without spacing, with the place in ``text`` that each folded character came from."""
    if text.isascii():
        return text.lower(), range(len(text))
    pieces: list[str] = []
    origin: list[int] = []
    for place, character in enumerate(text):
        folded = character.lower() if character.isascii() else _fold_marks(character)
        pieces.append(folded)
        origin.extend([place] * len(folded))
    return "".join(pieces), origin
