from __future__ import annotations

from datetime import date, datetime, time, timedelta

from PySide6.QtCore import QModelIndex, Qt
from pytestqt.qtbot import QtBot

from app.ui.shell.chat_list_model import ENTRY_ROLE, ChatListModel, group_chats
from app.ui.shell.views import ChatEntry

TODAY = date(2026, 3, 15)


def entry(key: str, days: int, *, pinned: bool = False, answering: bool = False) -> ChatEntry:
    noon = datetime.combine(TODAY - timedelta(days=days), time(12)).astimezone()
    return ChatEntry(key, f"Chat {key}", noon, pinned, answering)


def titles(entries: list[ChatEntry]) -> list[str]:
    return [row.title for row in group_chats(entries, TODAY)]


def test_chats_are_grouped_by_day_newest_first() -> None:
    entries = [entry("e", 30), entry("c", 3), entry("b", 1), entry("a", 0), entry("d", 7)]
    assert titles(entries) == [
        "Today",
        "Chat a",
        "Yesterday",
        "Chat b",
        "Previous 7 days",
        "Chat c",
        "Chat d",
        "Earlier",
        "Chat e",
    ]


def test_pinned_chats_come_first_whatever_their_day() -> None:
    assert titles([entry("a", 0), entry("old", 90, pinned=True)]) == [
        "Pinned",
        "Chat old",
        "Today",
        "Chat a",
    ]


def test_a_clock_that_was_wrong_does_not_lose_a_chat() -> None:
    assert titles([entry("future", -3)]) == ["Today", "Chat future"]
    assert titles([]) == []


def test_a_repainted_row_does_not_reset_the_list(qtbot: QtBot) -> None:
    model = ChatListModel()
    model.set_entries([entry("a", 0), entry("b", 1)], TODAY)
    resets: list[bool] = []
    changed: list[int] = []
    model.modelReset.connect(lambda: resets.append(True))
    model.dataChanged.connect(lambda top, _bottom: changed.append(top.row()))
    model.set_entries([entry("a", 0, answering=True), entry("b", 1)], TODAY)
    assert (resets, changed) == ([], [1])
    model.set_entries([entry("a", 0, answering=True), entry("b", 1)], TODAY)
    assert changed == [1]
    model.set_entries([entry("b", 1)], TODAY)
    assert resets == [True]


def test_groups_can_not_be_chosen_and_chats_can(qtbot: QtBot) -> None:
    model = ChatListModel()
    model.set_entries([entry("a", 0)], TODAY)
    assert model.flags(model.index(0)) == Qt.ItemFlag.NoItemFlags
    assert model.flags(model.index_of("a")) & Qt.ItemFlag.ItemIsSelectable
    assert model.index(0).data(ENTRY_ROLE) is None
    assert model.index_of("a").data(ENTRY_ROLE) == entry("a", 0)
    assert not model.index_of("gone").isValid()
    assert model.keys() == ["a"]


def test_a_new_title_is_asked_for_once_and_cleaned(qtbot: QtBot) -> None:
    model = ChatListModel()
    model.set_entries([entry("a", 0)], TODAY)
    asked: list[tuple[str, str]] = []
    model.renamed.connect(lambda key, title: asked.append((key, title)))
    index = model.index_of("a")
    assert model.setData(index, "  A new\n title ")
    assert not model.setData(index, "   ")
    assert model.setData(index, "Chat a")  # as it was: nothing to ask for
    assert not model.setData(QModelIndex(), "x")
    assert asked == [("a", "A new title")]
    assert index.data() == "Chat a"  # until the controller sets it


def test_screen_readers_hear_the_state(qtbot: QtBot) -> None:
    model = ChatListModel()
    model.set_entries([entry("a", 0, pinned=True, answering=True)], TODAY)
    spoken = model.index_of("a").data(int(Qt.ItemDataRole.AccessibleTextRole))
    assert spoken == "Chat a, pinned, being answered"
