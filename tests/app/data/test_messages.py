from __future__ import annotations

from pathlib import Path

import pytest

from app.data.conversations import ConversationStore
from app.data.errors import UnknownId
from app.data.records import Attachment
from tests.helpers.store_files import STATS, make_chat, rows_hash


def texts(store: ConversationStore, conversation_id: str) -> list[str]:
    return [message.text for message in store.path(conversation_id)]


def test_a_message_and_its_attachments_come_back(
    store: ConversationStore, store_path: Path
) -> None:
    chat = store.create(draft="look at th")
    sent = store.add_message(
        chat.id, None, "user", "look at this",
        attachments=[Attachment("a.txt", "ä", 3), Attachment("b.csv", "1,2", None, "Read as x.")],
    )  # fmt: skip
    store.close()
    again = ConversationStore(store_path)
    assert again.path(chat.id) == [sent]
    kept = again.get(chat.id)
    again.close()
    assert kept is not None
    assert (kept.draft, kept.leaf_id, kept.title) == ("", sent.id, "look at this")


def test_a_reply_is_stored_as_it_streams(store: ConversationStore, store_path: Path) -> None:
    chat = store.create()
    question = store.add_message(chat.id, None, "user", "hello")
    reply = store.start_reply(chat.id, question.id, model_name="tiny")
    assert store.save_reply(reply.id, "Hi", "thinking")
    other = ConversationStore(store_path, read_only=True)
    seen = other.path(chat.id)[-1]
    other.close()
    assert (seen.text, seen.reasoning, seen.state, seen.model_name) == (
        "Hi", "thinking", "streaming", "tiny",
    )  # fmt: skip
    assert store.search("Hi") == []  # found once it is whole
    store.save_reply(reply.id, "Hi there", "thinking", "complete", "end_of_turn", STATS)
    done = store.path(chat.id)[-1]
    assert (done.text, done.state, done.stop_reason, done.stats) == (
        "Hi there", "complete", "end_of_turn", STATS,
    )  # fmt: skip
    assert [hit.message_id for hit in store.search("there")] == [reply.id]


def test_a_reply_to_a_purged_chat_is_dropped(store: ConversationStore) -> None:
    chat = make_chat(store)
    store.purge(chat.id)
    assert store.save_reply(chat.first_reply, "late") is False


def test_what_a_killed_program_left_is_interrupted(
    store: ConversationStore, store_path: Path
) -> None:
    chat = store.create()
    question = store.add_message(chat.id, None, "user", "hello")
    reply = store.start_reply(chat.id, question.id)
    store.save_reply(reply.id, "Half an ans")
    store.close()
    again = ConversationStore(store_path)
    assert again.close_interrupted() == 1
    assert again.close_interrupted() == 0
    left = again.path(chat.id)[-1]
    assert (left.text, left.state) == ("Half an ans", "interrupted")
    assert [hit.message_id for hit in again.search("Half")] == [reply.id]
    again.close()


def test_an_edit_adds_a_version_and_erases_nothing(store: ConversationStore) -> None:
    chat = make_chat(store)
    edited = store.edit(chat.question, "What is a Plimsoll line?")
    assert texts(store, chat.id) == ["What is a Plimsoll line?"]
    versions = store.siblings(edited.id)
    assert (versions.index, versions.count, versions.ids) == (1, 2, (chat.question, edited.id))
    assert store.select_branch(chat.question) == chat.follow_up
    assert texts(store, chat.id) == ["What is a load line?", "A limit.", "Who invented it?"]
    assert len(store.messages(chat.id)) == 5


def test_branches_of_replies(store: ConversationStore) -> None:
    chat = make_chat(store)
    assert store.siblings(chat.second_reply).ids == (chat.first_reply, chat.second_reply)
    assert store.siblings(chat.question).count == 1
    assert store.select_branch(chat.first_reply) == chat.first_reply
    assert texts(store, chat.id) == ["What is a load line?", "A mark on a hull."]
    forks = store.forks(chat.id)
    assert {key: (s.index, s.count) for key, s in forks.items()} == {chat.first_reply: (0, 2)}


def test_a_message_deleted_alone_is_passed_over(store: ConversationStore) -> None:
    chat = make_chat(store)
    gone = store.delete_message(chat.second_reply)
    assert texts(store, chat.id) == ["What is a load line?", "Who invented it?"]
    # The other reply stays reachable by the arrows, in the place where the deleted one was.
    assert store.siblings(chat.follow_up).ids == (chat.first_reply, chat.follow_up)
    assert [m.parent_id for m in store.messages(chat.id)] == [None, chat.question, chat.question]
    store.undo_delete_message(gone)
    assert texts(store, chat.id) == ["What is a load line?", "A limit.", "Who invented it?"]


def test_a_message_deleted_with_its_replies(store: ConversationStore) -> None:
    chat = make_chat(store)
    gone = store.delete_message(chat.second_reply, with_replies=True)
    assert set(gone.message_ids) == {chat.second_reply, chat.follow_up}
    assert texts(store, chat.id) == ["What is a load line?", "A mark on a hull."]
    all_gone = store.delete_message(chat.question, with_replies=True)
    assert texts(store, chat.id) == []
    assert store.search("hull") == []
    store.undo_delete_message(all_gone)
    store.undo_delete_message(gone)
    assert texts(store, chat.id) == ["What is a load line?", "A limit.", "Who invented it?"]


def test_the_last_message_deleted_alone(store: ConversationStore) -> None:
    chat = make_chat(store)
    gone = store.delete_message(chat.follow_up)
    kept = store.get(chat.id)
    assert kept is not None
    assert kept.leaf_id == chat.second_reply
    store.undo_delete_message(gone)
    assert texts(store, chat.id)[-1] == "Who invented it?"


def test_context_events_are_kept_with_the_place_of_the_cut(store: ConversationStore) -> None:
    chat = make_chat(store)
    event = store.add_context_event(
        chat.id, chat.follow_up, dropped=[chat.question, chat.second_reply],
        dropped_tokens=321, n_ctx=512, keep_from=chat.follow_up,
    )  # fmt: skip
    assert store.context_events(chat.id) == [event]
    kept = store.get(chat.id)
    assert kept is not None
    assert kept.keep_from == chat.follow_up


def test_a_parent_of_another_chat_is_refused(store: ConversationStore) -> None:
    one, two = make_chat(store), make_chat(store)
    with pytest.raises(UnknownId):
        store.add_message(one.id, two.question, "user", "astray")
    with pytest.raises(UnknownId):
        store.add_message("nothing", None, "user", "astray")
    assert len(store.messages(one.id)) == 4


def test_five_thousand_messages_deep(store: ConversationStore) -> None:
    chat = store.create()
    parent: str | None = None
    store._database._db.execute("PRAGMA synchronous = OFF")
    for index in range(2_500):
        question = store.add_message(chat.id, parent, "user", f"question {index}")
        parent = question.id
    for _ in range(2_500):
        parent = store.start_reply(chat.id, parent).id
    shown = store.path(chat.id)
    assert len(shown) == 5_000
    assert shown[0].text == "question 0"
    assert [m.parent_id for m in shown[1:]] == [m.id for m in shown[:-1]]
    assert store.select_branch(shown[0].id) == shown[-1].id
    assert len(store.delete_message(shown[1].id, with_replies=True).message_ids) == 4_999


def test_a48_a_stream_in_one_chat_leaves_another_untouched(
    store: ConversationStore, store_path: Path
) -> None:
    a, b = make_chat(store, "chat A"), make_chat(store, "chat B")
    reply = store.start_reply(a.id, a.follow_up)
    before = rows_hash(store_path, b.id)
    for end in range(1, 20):
        store.save_reply(reply.id, "word " * end)
        assert rows_hash(store_path, b.id) == before
    store.rename(a.id, "renamed while it streams")
    store.delete(a.id)
    assert store.save_reply(reply.id, "word " * 20, "", "stopped", "stopped")
    assert rows_hash(store_path, b.id) == before
    sent = store.add_message(b.id, b.follow_up, "user", "sent to B")
    assert texts(store, a.id)[-1] == "word " * 20
    assert [m.id for m in store.path(b.id)][-1] == sent.id


def test_an_edit_keeps_the_files_unless_others_are_given(store: ConversationStore) -> None:
    chat = store.create()
    files = (Attachment("a.txt", "text", 3),)
    sent = store.add_message(chat.id, None, "user", "look", attachments=files)
    assert store.edit(sent.id, "look here").attachments == files
    other = (Attachment("b.txt", "more", 4),)
    assert store.edit(sent.id, "look there", attachments=other).attachments == other
    assert store.edit(sent.id, "look away", attachments=()).attachments == ()


def test_messages_and_ends_of_replies_are_waited_for_until_the_disk_has_them(
    store: ConversationStore,
) -> None:
    said: list[str] = []
    store._database._db.set_trace_callback(said.append)

    def waited() -> bool:
        found = "PRAGMA synchronous = FULL" in said
        said.clear()
        return found

    chat = store.create()
    assert not waited()
    asked = store.add_message(chat.id, None, "user", "hello")
    assert waited()
    reply = store.start_reply(chat.id, asked.id)
    assert waited()
    store.save_reply(reply.id, "Hi")
    assert not waited()  # several times a second
    store.save_reply(reply.id, "Hi there", state="complete")
    assert waited()
