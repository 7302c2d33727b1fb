"""What of the library is shown, in which order."""

from __future__ import annotations

from dataclasses import replace

import pytest
from PySide6.QtCore import QModelIndex, Qt
from PySide6.QtTest import QAbstractItemModelTester
from pytestqt.qtbot import QtBot

from app.ui.models.tree_model import COLUMNS, LibraryModel
from tests.app.ui.models.conftest import FITS, LARGE, VIEW


@pytest.fixture
def model(qtbot: QtBot) -> LibraryModel:
    model = LibraryModel()
    QAbstractItemModelTester(model, QAbstractItemModelTester.FailureReportingMode.Fatal, model)
    model.set_view(VIEW)
    return model


def keys(model: LibraryModel) -> list[str]:
    return [variant.key for variant in model.variants()]


def test_a_tree_of_two_levels(model: LibraryModel) -> None:
    assert model.rowCount() == 3
    group = model.index(0, 0)
    assert (group.data(), model.rowCount(group)) == ("gemma-4b", 1)
    child = model.index(0, 3, model.index(1, 0))
    assert child.parent() == model.index(1, 0)
    assert model.rowCount(child) == 0
    assert not model.index(5, 0).isValid()
    assert model.columnCount() == len(COLUMNS)


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("", ["/gemma", "/llama-q8", "/llama-q6", "/llama-q4", "/mmproj", "/cut"]),
        ("llama q6", ["/llama-q6"]),
        ("GEMMA", ["/gemma"]),
        ("llama gemma", []),
        ("cut", ["/cut"]),
    ],
)
def test_a_search_wants_all_words_of_model_or_file(
    model: LibraryModel, query: str, found: list[str]
) -> None:
    model.set_query(query)
    assert keys(model) == found


def test_parts_stand_below_the_variants_and_are_none(model: LibraryModel) -> None:
    (part,) = [row for row in model.variants() if row.is_part]
    assert part.key == "/mmproj"
    assert not part.may_chat
    model.set_sort("bits")
    assert model.index_of("/mmproj").row() == 3


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("fits", ["/gemma", "/llama-q4"]),
        ("tight", ["/gemma", "/llama-q6", "/llama-q4"]),
        ("source:Ollama", ["/llama-q6"]),
        ("hidden", []),
    ],
)
def test_filters(model: LibraryModel, name: str, found: list[str]) -> None:
    model.set_filter(name)
    assert keys(model) == found


def test_what_is_hidden_is_shown_only_when_asked_for(model: LibraryModel) -> None:
    group = VIEW.groups[1]
    hidden = replace(group, variants=(replace(group.variants[0], is_hidden=True),))
    model.set_view(replace(VIEW, groups=(VIEW.groups[0], hidden)))
    assert "/gemma" not in keys(model)
    model.set_filter("hidden")
    assert keys(model) == ["/gemma"]


@pytest.mark.parametrize(
    ("sort", "found"),
    [
        ("size", ["/gemma", "/llama-q4", "/llama-q6", "/llama-q8", "/mmproj", "/cut"]),
        ("bits", ["/llama-q8", "/llama-q6", "/llama-q4", "/mmproj", "/gemma", "/cut"]),
        ("fit", ["/gemma", "/llama-q4", "/llama-q6", "/llama-q8", "/mmproj", "/cut"]),
        ("decode", ["/gemma", "/llama-q4", "/llama-q6", "/llama-q8", "/mmproj", "/cut"]),
    ],
)
def test_orders_put_the_best_first_and_broken_files_last(
    model: LibraryModel, sort: str, found: list[str]
) -> None:
    model.set_sort(sort)  # type: ignore[arg-type]
    assert keys(model) == found


def test_predictions_come_in_place(qtbot: QtBot, model: LibraryModel) -> None:
    better = replace(LARGE, words="Fits now", verdict="fits")
    with (
        qtbot.waitSignal(model.dataChanged) as changed,
        qtbot.assertNotEmitted(model.modelReset),
    ):
        model.set_fits({"/llama-q8": better})
    assert changed.args is not None
    assert changed.args[0].row() == 0
    assert model.variants()[1].fit.words == "Fits now"
    # They stay with their variants when the library is another one.
    model.set_view(VIEW)
    assert model.variants()[1].fit.words == "Fits now"


def test_predictions_move_rows_where_they_decide_the_order(model: LibraryModel) -> None:
    model.set_filter("fits")
    model.set_fits({"/llama-q8": FITS, "/gemma": LARGE})
    assert keys(model) == ["/llama-q8", "/llama-q4"]


def test_what_is_said_of_rows(model: LibraryModel) -> None:
    spoken = int(Qt.ItemDataRole.AccessibleTextRole)
    llama = model.index(1, 0)
    assert llama.data(spoken) == ("Llama-8B, llama, 3 variants · 20.0 GiB · with projector")
    said = model.index(2, 0, llama).data(spoken)
    assert said.startswith(
        "Q4_K_M, loaded, 4.00 GiB, 4.00 bits per weight, context 131,072, Fits, 9 GiB"
    )
    assert "decode about 40 tokens per second" in said
    cut = model.index(0, 0, model.index(2, 0))
    assert cut.data(spoken) == "cut.gguf, The file is incomplete."
    assert "incomplete" in cut.data(int(Qt.ItemDataRole.ToolTipRole))
    tip = model.index(2, COLUMNS.index("fit"), llama).data(int(Qt.ItemDataRole.ToolTipRole))
    assert tip == "Planned."


def test_headings_are_named_and_explained(model: LibraryModel) -> None:
    across = Qt.Orientation.Horizontal
    titles = [model.headerData(section, across) for section in range(len(COLUMNS))]
    assert titles[:5] == ["Model", "Size", "Bits / weight", "Context", "Memory at 8K"]
    tip = int(Qt.ItemDataRole.ToolTipRole)
    assert all(model.headerData(section, across, tip) for section in range(1, len(COLUMNS)))


def test_keys_find_their_rows(model: LibraryModel) -> None:
    index = model.index_of("/llama-q6")
    assert index.data() == "Q6_K"
    assert model.index_of("llama") == model.index(1, 0)
    assert model.index_of("nothing") == QModelIndex()
    assert model.keys_of([index, model.index(0, 0)]) == ["/llama-q6"]
