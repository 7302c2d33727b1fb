from __future__ import annotations

import pytest

from app.data.conversations import ConversationStore
from app.data.search import fold, snip


def found(store: ConversationStore, query: str) -> list[str]:
    return [hit.snippet for hit in store.search(query)]


@pytest.fixture
def talk(store: ConversationStore) -> ConversationStore:
    chat = store.create("Reisen nach Göteborg")
    for text in (
        "Der Fluß fließt durch Göteborg.",
        "載貨線是什麼？船舶的標記。",
        "プリムソル記号とは何ですか",
        "เส้นโหลดไลน์คืออะไร",
        "Что такое грузовая марка?",
        "भारत में जहाज",
        "Use std::vector<int> or C++ templates -> fast",
        "naïve cafe\u0301 résumé",
        "plimsolls are shoes, too",
    ):
        store.add_message(chat.id, None, "user", text)
    return store


@pytest.mark.parametrize(
    ("query", "start"),
    [
        ("goteborg fluss", "Der Fluß"),
        ("GÖTEBORG durch", "Der Fluß"),
        ("貨線", "載貨線"),
        ("線", "載貨線"),
        ("船舶 標", "載貨線"),
        ("記号", "プリムソル"),
        ("โหลด", "เส้น"),
        ("грузов", "Что"),
        ("भारत", "भारत"),
        ("c++", "Use"),
        ("std::vector", "Use"),
        ("->", "Use"),
        ("naive café", "naïve"),
        ("plims shoe", "plimsolls"),
    ],
)
def test_words_are_found_in_every_script(talk: ConversationStore, query: str, start: str) -> None:
    (hit,) = talk.search(query)
    assert hit.snippet.startswith(start)
    assert hit.marks


@pytest.mark.parametrize("query", ["", "   ", "zebra", "shoes zebra", "limsolls", "か"])
def test_what_is_not_there_is_not_found(talk: ConversationStore, query: str) -> None:
    if query == "か":  # a kana with its sound mark is another letter, not an accented one
        assert [hit.snippet[-1] for hit in talk.search(query)] == ["か"]
    else:
        assert talk.search(query) == []


@pytest.mark.parametrize(
    "query", ['"', "'", '" OR 1', "NEAR(", "a AND", "*", "^", "body:x", "-", "(((", "\x00", "{a}"]
)
def test_no_query_is_an_error(talk: ConversationStore, query: str) -> None:
    talk.search(query)


def test_titles_come_first_then_messages_newest_first(store: ConversationStore) -> None:
    one = store.create("apples")
    two = store.create("pears")
    first = store.add_message(one.id, None, "user", "apples here")
    second = store.add_message(two.id, None, "user", "apples there")
    hits = store.search("apple")
    assert [hit.message_id for hit in hits] == [None, second.id, first.id]
    assert (hits[1].title, hits[1].role, hits[1].created_ms) == ("pears", "user", second.created_ms)
    assert [hit.message_id for hit in store.search("apple", limit=2)] == [None, second.id]


def test_an_edited_title_is_found_by_its_new_words_only(store: ConversationStore) -> None:
    chat = store.create("apples")
    store.rename(chat.id, "pears")
    assert store.search("apples") == []
    assert len(store.search("pears")) == 1


def test_a_snippet_is_one_line_around_the_match_with_its_places() -> None:
    text = "word " * 100 + "\nthe Göteborg\tferry\n" + "word " * 100
    snippet, marks = snip(text, ["goteborg", "FERRY"])
    assert snippet.startswith("…")
    assert snippet.endswith("…")
    assert "\n" not in snippet
    assert [snippet[start : start + length] for start, length in marks] == ["Göteborg", "ferry"]
    assert len(snippet) < 200


def test_a_snippet_without_a_match_is_the_beginning() -> None:
    assert snip("short text", ["zebra"]) == ("short text", ())
    assert snip("", ["x"]) == ("", ())
    assert snip("text", []) == ("text", ())


def test_folding_lengthens_and_places_stay_right() -> None:
    snippet, marks = snip("Straße İstanbul ﬁne", ["fine"])
    assert [snippet[start : start + length] for start, length in marks] == ["ﬁne"]


def test_fold() -> None:
    assert fold("ABC") == "abc"
    assert fold("Ünïcode ẞ") == "unicode ss"
    assert fold("a漢b").split() == ["a", "漢", "b"]
