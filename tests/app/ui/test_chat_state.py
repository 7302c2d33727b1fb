from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from app.data.conversations import ConversationStore
from app.settings import Settings
from app.ui.chat_prompt import chat_prompt
from app.ui.chat_state import ConversationReader
from app.ui.chat_views import path_views


@pytest.fixture
def store(qtbot: QtBot, tmp_path: Path) -> Iterator[ConversationStore]:
    made = ConversationStore(tmp_path / "store.db")
    yield made
    made.close()


def _chat(store: ConversationStore, turns: int) -> str:
    chat = store.create("A chat")
    parent = None
    for number in range(turns):
        asked = store.add_message(chat.id, parent, "user", f"question {number}")
        parent = store.add_message(chat.id, asked.id, "assistant", f"answer {number}").id
    return chat.id


def test_unknown_conversation(store: ConversationStore) -> None:
    assert ConversationReader().read(store, "nothing") is None


def test_views_are_those_that_would_be_made_without_it(store: ConversationStore) -> None:
    chat = _chat(store, 5)
    reader = ConversationReader()
    opened = reader.read(store, chat)
    assert opened is not None
    made = path_views(opened.path, opened.forks, opened.events, None, {})
    kept = path_views(opened.path, opened.forks, opened.events, None, {}, still=opened.views)
    assert kept == made
    assert all(opened.views.get(view.id, figures=True) is view for view in kept)


def test_reading_again_keeps_what_has_not_changed(store: ConversationStore) -> None:
    chat = _chat(store, 5)
    reader = ConversationReader()
    first = reader.read(store, chat)
    assert first is not None
    added = store.add_message(chat, first.path[-1].id, "user", "one more")
    second = reader.read(store, chat)
    assert second is not None
    assert all(one is other for one, other in zip(first.path, second.path, strict=False))
    assert second.path[-1].id == added.id
    changed = [
        message.id
        for message in second.path
        if second.views.get(message.id, figures=True)
        is not first.views.get(message.id, figures=True)
    ]
    # The last one before was the last then, and there is a new one.
    assert changed == [first.path[-1].id, added.id]


def test_an_edit_makes_the_views_of_its_versions_anew(store: ConversationStore) -> None:
    chat = _chat(store, 2)
    reader = ConversationReader()
    first = reader.read(store, chat)
    assert first is not None
    store.edit(first.path[0].id, "asked otherwise")
    second = reader.read(store, chat)
    assert second is not None
    view = second.views.get(second.path[0].id, figures=True)
    assert view is not None
    assert (view.text, view.version_index, view.version_count) == ("asked otherwise", 1, 2)


def test_figures_that_are_wanted_or_not_are_made_anew(store: ConversationStore) -> None:
    chat = _chat(store, 1)
    reader = ConversationReader()
    reader.figures = False
    opened = reader.read(store, chat)
    assert opened is not None
    message = opened.path[-1].id
    assert opened.views.get(message, figures=True) is None
    assert opened.views.get(message, figures=False) is not None


def test_the_whole_list_is_made_beforehand_and_not_when_turns_left_the_window(
    store: ConversationStore,
) -> None:
    chat = _chat(store, 5)
    keep_from = store.path(chat)[4].id
    store.update(chat, keep_from=keep_from)
    opened = ConversationReader().read(store, chat)
    assert opened is not None
    assert opened.shown is not None
    made = path_views(opened.path, opened.forks, opened.events, keep_from, {})
    assert list(opened.shown) == made
    assert [view.role for view in opened.shown].count("memory_cut") == 1
    assert opened.trimmed(None, None).shown is None


def test_what_is_asked_is_the_same_as_without_what_was_made_beforehand(
    store: ConversationStore, tmp_path: Path
) -> None:
    settings = Settings(tmp_path / "settings.json")
    chat = _chat(store, 4)
    reader = ConversationReader()
    first = reader.read(store, chat)
    assert first is not None
    asked = store.add_message(chat, first.path[-1].id, "user", "one more")
    store.add_message(chat, asked.id, "assistant", "")  # nothing was said yet
    opened = reader.read(store, chat)
    assert opened is not None
    for path in (opened.path, opened.path[:-1], opened.path[:3]):
        for go_on in (False, True):
            plain = chat_prompt(
                path,
                system=opened.system_prompt(settings),
                keep_from=None,
                now=opened.conversation.pinned_now,
                continue_reply=go_on,
            )
            assert opened.prompt(settings, path, continue_reply=go_on) == plain
    # What was read before is not made again.
    kept = first.path[0].id
    assert opened.asked[kept] is first.asked[kept]
    # A message that was changed since is not taken from what was made of the other text.
    other = replace(opened.path[0], text="asked otherwise")
    prompt = opened.prompt(settings, (other, *opened.path[1:]))
    assert "asked otherwise" in [message.content for message in prompt.messages]
