from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from app.data.conversations import ConversationStore
from app.data.transfer.common import Imported
from app.data.transfer.reading import read_file


def read(tmp_path: Path, data: object, name: str = "1700000000000.conversation.json") -> Imported:
    path = tmp_path / name
    path.write_text(json.dumps(data), "utf-8")
    return read_file(path)


def user(text: str, *more: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "singleStep",
        "role": "user",
        "content": [{"type": "text", "text": text}, *more],
    }


def reply(*steps: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "multiStep", "role": "assistant", "steps": list(steps)} | more


def block(text: str, **more: Any) -> dict[str, Any]:
    return {"type": "contentBlock", "content": [{"type": "text", "text": text}]} | more


def at(selected: int, *versions: Any) -> dict[str, Any]:
    return {"versions": list(versions), "currentlySelected": selected}


CHAT: dict[str, Any] = {
    "name": "Load lines",
    "pinned": True,
    "createdAt": 1700000000000,
    "systemPrompt": "",
    "clientInput": "half a dra",
    "lastUsedModel": {"identifier": "smollm2-135m"},
    "perChatPredictionConfig": {"fields": [
        {"key": "llm.prediction.systemPrompt", "value": "Be brief."},
        {"key": "llm.prediction.temperature", "value": 0.3},
        {"key": "llm.prediction.topKSampling", "value": 20},
        {"key": "llm.prediction.topPSampling", "value": {"checked": True, "value": 0.9}},
        {"key": "llm.prediction.minPSampling", "value": {"checked": False, "value": 0.1}},
    ]},
    "messages": [
        at(0, user("What is this?", {"type": "file", "fileIdentifier": "ship.png"})),
        at(1,
           reply(block("First answer.")),
           reply(
               block("It is a mark.", style={"type": "thinking", "ended": True}),
               {"type": "toolCallRequest", "name": "look"},
               block("Second answer.", genInfo={"indexedModelIdentifier": "tiny/model.gguf"}),
               {"type": "debugInfoBlock", "debugInfo": "x"},
           ),
           reply(block("Third answer."), senderInfo={"senderName": "other"})),
        at(0, user("And then?")),
    ],
}  # fmt: skip


def test_versions_become_branches(store: ConversationStore, tmp_path: Path) -> None:
    imported = read(tmp_path, CHAT)
    assert imported.source == "LM Studio"
    assert not imported.skipped
    assert store.add_whole(imported.conversations) == (1, 0)
    (kept,) = store.list_all()
    assert (kept.title, kept.system_prompt, kept.draft, kept.pinned, kept.model_name) == (
        "Load lines", "Be brief.", "half a dra", True, "smollm2-135m",
    )  # fmt: skip
    assert dict(kept.sampling) == {"temperature": 0.3, "top_k": 20, "top_p": 0.9}
    question, answer, follow_up = store.path(kept.id)
    assert question.attachments[0].name == "ship.png"
    assert (answer.text, answer.reasoning, answer.model_name) == (
        "Second answer.", "It is a mark.", "tiny/model.gguf",
    )  # fmt: skip
    assert follow_up.text == "And then?"
    versions = store.siblings(answer.id)
    assert (versions.index, versions.count) == (1, 3)
    third = store.message(versions.ids[2])
    assert third is not None
    assert third.model_name == "other"


def test_reading_it_twice_adds_it_once(store: ConversationStore, tmp_path: Path) -> None:
    assert store.add_whole(read(tmp_path, CHAT).conversations) == (1, 0)
    assert store.add_whole(read(tmp_path, CHAT).conversations) == (0, 1)


def test_older_and_plainer_files(store: ConversationStore, tmp_path: Path) -> None:
    imported = read(tmp_path, {"name": "old", "messages": [
        {"role": "system", "content": "Be old."},
        {"role": "user", "content": "hello"},
        {"role": "assistant", "content": [{"type": "text", "text": "hi"}]},
    ]})  # fmt: skip
    store.add_whole(imported.conversations)
    (kept,) = store.list_all()
    assert kept.system_prompt == "Be old."
    assert [(m.role, m.text) for m in store.path(kept.id)] == [
        ("user", "hello"),
        ("assistant", "hi"),
    ]


def test_wrong_types_are_left_out(store: ConversationStore, tmp_path: Path) -> None:
    imported = read(tmp_path, {
        "name": 7, "createdAt": "now", "pinned": "no", "perChatPredictionConfig": [1],
        "messages": [
            at(99, user("good")), at(0), at(0, 7, None), {"versions": 3}, 7, None, [],
            {"versions": [{"role": "assistant", "steps": [1, {"content": 3}, {"content": [7]}]}]},
            {"versions": [reply(block("good too"))], "currentlySelected": "x"},
        ],
    })  # fmt: skip
    store.add_whole(imported.conversations)
    (kept,) = store.list_all()
    assert [m.text for m in store.path(kept.id)] == ["good", "good too"]
    assert imported.skipped == {"messages without text": 7}
