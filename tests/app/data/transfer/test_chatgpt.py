from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from app.data.conversations import ConversationStore
from app.data.transfer.common import MAX_MESSAGES, Imported
from app.data.transfer.reading import read_file


def node(
    key: str, parent: str | None, role: str = "", text: Any = None, at: float = 0, **more: Any
) -> dict[str, Any]:
    content = text if isinstance(text, dict) else {"content_type": "text", "parts": [text]}
    message = {
        "id": key, "author": {"role": role}, "create_time": at, "content": content,
        "recipient": "all", "weight": 1.0, "metadata": {},
    } | more  # fmt: skip
    return {"id": key, "parent": parent, "children": [], "message": message if role else None}


def chat(*nodes: dict[str, Any], current: str = "", **more: Any) -> dict[str, Any]:
    return {
        "title": "Load lines", "create_time": 1700000000.5, "update_time": 1700000100.0,
        "conversation_id": "6710aaaa-bbbb-4ccc-8ddd-eeeeffff0001",
        "mapping": {n["id"]: n for n in nodes}, "current_node": current,
    } | more  # fmt: skip


def read(tmp_path: Path, data: object) -> Imported:
    path = tmp_path / "conversations.json"
    path.write_text(json.dumps(data), "utf-8")
    return read_file(path)


def test_a_tree_with_everything(store: ConversationStore, tmp_path: Path) -> None:
    imported = read(tmp_path, [chat(
        node("root", None),
        node("sys", "root", "system", "Be brief.", weight=0.0),
        node("ctx", "sys", "user", {"content_type": "user_editable_context", "user_profile": "x"}),
        node("q", "ctx", "user", {"content_type": "multimodal_text", "parts": [
            {"content_type": "image_asset_pointer", "asset_pointer": "file://x"}, "What is this?",
        ]}, 1),
        node("think", "q", "assistant", {"content_type": "thoughts", "thoughts": [
            {"summary": "s", "content": "It is a mark."}, {"content": "On a hull."},
        ]}, 2),
        node("recap", "think", "assistant", {"content_type": "reasoning_recap", "content": "4 s"}),
        node("call", "recap", "assistant", {"content_type": "code", "text": "look()"},
             recipient="python"),
        node("tool", "call", "tool", {"content_type": "execution_output", "text": "42"}),
        node("a", "tool", "assistant", "A load line.", 3, metadata={"model_slug": "gpt-4o"}),
        node("b", "q", "assistant", "Another answer.", 4, status="in_progress"),
        node("hidden", "a", "user", "not shown", 5,
             metadata={"is_visually_hidden_from_conversation": True}),
        node("zero", "hidden", "assistant", "of no weight", 6, weight=0.0),
        node("q2", "zero", "user", "Who invented it?", 7),
        current="q2",
    )])  # fmt: skip
    assert imported.source == "ChatGPT"
    assert imported.skipped == {"messages of tools": 2}
    assert store.add_whole(imported.conversations) == (1, 0)
    (kept,) = store.list_all()
    assert (kept.title, kept.system_prompt, kept.created_ms, kept.updated_ms) == (
        "Load lines", "Be brief.", 1700000000500, 1700000100000,
    )  # fmt: skip
    question, answer, follow_up = store.path(kept.id)
    assert question.text == "[image]\n\nWhat is this?"
    assert (answer.text, answer.reasoning, answer.model_name, answer.created_ms) == (
        "A load line.", "It is a mark.\n\nOn a hull.", "gpt-4o", 3000,
    )  # fmt: skip
    assert follow_up.text == "Who invented it?"
    versions = store.siblings(answer.id)
    assert (versions.index, versions.count) == (0, 2)
    other = store.message(versions.ids[1])
    assert other is not None
    assert (other.text, other.state) == ("Another answer.", "interrupted")


def test_reading_it_twice_adds_it_once(store: ConversationStore, tmp_path: Path) -> None:
    data = [chat(node("q", None, "user", "hello"), current="q")]
    assert store.add_whole(read(tmp_path, data).conversations) == (1, 0)
    assert store.add_whole(read(tmp_path, data).conversations) == (0, 1)


def test_the_same_node_ids_in_two_chats(store: ConversationStore, tmp_path: Path) -> None:
    one = chat(node("q", None, "user", "hello"), current="q", conversation_id="one", title="")
    two = chat(node("q", None, "user", "hello"), current="q", conversation_id="two")
    assert store.add_whole(read(tmp_path, [one, two]).conversations) == (2, 0)
    assert {c.title for c in store.list_all()} == {"hello", "Load lines"}


def test_circles_orphans_and_wrong_types(store: ConversationStore, tmp_path: Path) -> None:
    mapping: dict[str, Any] = {
        "x": node("x", "y", "user", "in a circle"),
        "y": node("y", "x", "assistant", "in a circle"),
        "self": node("self", "self", "user", "own parent"),
        "orphan": node("orphan", "gone", "user", "orphan"),
        "text": "not a node",
        "list": [],
        "null": None,
        "badmessage": {"parent": 7, "message": "text", "children": 9},
        "badauthor": {"parent": None, "message": {"author": "user", "content": {"parts": 3}}},
        "badparts": node("badparts", "orphan", "assistant",
                         {"content_type": "text", "parts": [None, 7, {"text": 1}, "good part"]}),
    }  # fmt: skip
    imported = read(tmp_path, [
        {"mapping": mapping, "title": ["no"], "create_time": "yesterday", "update_time": 1e300},
        {"mapping": {}}, {"mapping": 7}, 7, None, {"mapping": {"n": None}},
    ])  # fmt: skip
    assert store.add_whole(imported.conversations) == (1, 0)
    (kept,) = store.list_all()
    assert [m.text for m in store.messages(kept.id)] == ["orphan", "good part"]
    assert imported.skipped["messages that could not be placed in their chat"] == 3
    assert imported.skipped["entries that are not chats"] == 3
    assert imported.skipped["chats without a message"] == 2


def test_a_million_nodes_are_left_out_in_a_sentence(tmp_path: Path) -> None:
    good = chat(node("q", None, "user", "hello"))
    huge = {"mapping": dict.fromkeys(map(str, range(1_000_000)), None)}
    imported = read(tmp_path, [huge, good])
    assert len(imported.conversations) == 1
    assert imported.skipped == {f"chats with more than {MAX_MESSAGES:,} messages": 1}


def test_fifty_thousand_deep(store: ConversationStore, tmp_path: Path) -> None:
    nodes = [
        node(str(n), str(n - 1) if n else None, "assistant" if n % 2 else "user", f"m{n}", n)
        for n in range(50_000)
    ]
    imported = read(tmp_path, [chat(*nodes, current="49999")])
    store.add_whole(imported.conversations)
    assert len(store.path(store.list_all()[0].id)) == 50_000
