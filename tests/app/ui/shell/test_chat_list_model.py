from __future__ import annotations

from datetime import date, datetime, time, timedelta

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, Qt
from PySide6.QtTest import QAbstractItemModelTester
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
    assert (resets, changed) == ([], [1])


def test_a_chat_that_moves_comes_or_goes_does_not_reset_the_list(qtbot: QtBot) -> None:
    model = ChatListModel()
    # Qt's own check of what a model tells against what it holds.
    QAbstractItemModelTester(model, QAbstractItemModelTester.FailureReportingMode.Fatal, model)
    resets: list[bool] = []
    model.modelReset.connect(lambda: resets.append(True))
    many = [entry(f"m{number}", 1 + number) for number in range(40)]
    model.set_entries(many, TODAY)
    assert resets == [True]

    def shown(entries: list[ChatEntry]) -> None:
        model.set_entries(entries, TODAY)
        rows = [model.index(row).data() for row in range(model.rowCount())]
        assert rows == titles(entries)
        assert model.keys() == [e.key for e in entries if e.pinned] + [
            e.key for e in entries if not e.pinned
        ]

    place = QPersistentModelIndex(model.index_of("m20"))
    answered = [entry("m20", 0, answering=True), *many[:20], *many[21:]]
    shown(answered)  # "Today" comes with it
    assert place.row() == model.index_of("m20").row() == 1  # the selection goes along
    shown([entry("new", 0), *answered])
    shown(answered)
    pinned = [*many[:20], entry("m20", 20, pinned=True), *many[21:]]
    shown(pinned)
    shown(many)
    shown(many[1:])  # with "Yesterday"
    assert resets == [True]
    shown([entry(f"n{number}", 0) for number in range(40)])
    assert resets == [True, True]  # another list altogether


def test_rows_are_used_again_where_their_entry_is_the_same(qtbot: QtBot) -> None:
    first, second = entry("a", 0), entry("b", 1)
    rows = group_chats([first, second], TODAY)
    again = group_chats([first, entry("b", 1, answering=True)], TODAY, known=rows)
    assert again[1] is rows[1]
    assert again[3] is not rows[3]
    assert again[3].entry == entry("b", 1, answering=True)


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
