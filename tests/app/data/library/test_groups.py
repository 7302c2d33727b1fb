"""Variants under their model; projectors and adapters with what they belong to."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from app.data.library.entries import ModelEntry
from app.data.library.groups import arrange
from app.data.library.scan import scan
from tests.app.data.library.conftest import MakeEntry
from tests.helpers.library_files import FilledLibrary, fill_library


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> FilledLibrary:
    """The library of 300 files."""
    return fill_library(tmp_path_factory.mktemp("home"))


@pytest.fixture(scope="module")
def entries(filled: FilledLibrary) -> list[ModelEntry]:
    return list(scan(filled.places, None))


def test_300_files_are_40_models(filled: FilledLibrary, entries: list[ModelEntry]) -> None:
    assert (filled.files, len(filled.models)) == (300, 40)
    library = arrange(entries)
    assert len(library.groups) == 40
    assert sum(len(group.variants) for group in library.groups) == filled.variants
    assert len(library.broken) == filled.broken
    # Nothing is lost and nothing is shown twice.
    shown = [entry for group in library.groups for entry in (*group.variants, *group.parts)]
    shown += [*library.others, *library.broken]
    assert sorted(entry.path for entry in shown) == sorted(entry.path for entry in entries)
    # Variants of one model lie with several programs.
    places = {entry.source for group in library.groups for entry in group.variants}
    assert places == {"LM Studio", "Ollama", "Hugging Face", "GPT4All", "Jan", "llama.cpp"}
    assert any(len({entry.source for entry in group.variants}) > 1 for group in library.groups)


def test_each_group_is_one_model(entries: list[ModelEntry]) -> None:
    for group in arrange(entries).groups:
        parameters = {entry.parameters for entry in group.variants}
        assert len(parameters) == 1, group.title
        sizes = [entry.size_bytes for entry in group.variants]
        assert sizes == sorted(sizes, reverse=True)


def test_titles_are_what_people_know_models_by(entries: list[ModelEntry]) -> None:
    titles = {group.title for group in arrange(entries).groups}
    assert {"Llama-3.1-8B-Instruct", "Qwen2.5-Coder-7B-Instruct", "Codestral 22B v0.1"} <= titles
    assert not any("GGUF" in title or "sha256" in title for title in titles)


def test_parts_are_with_their_models(entries: list[ModelEntry]) -> None:
    library = arrange(entries)
    parts = {group.title: [part.kind for part in group.parts] for group in library.groups}
    assert parts["gemma-3-4b-it"] == ["projector"]
    assert parts["gemma-3-12b-it"] == ["projector"]  # by Ollama's manifest
    assert parts["Llama-3.1-8B-Instruct"] == ["adapter"]
    assert sum(map(len, parts.values())) == 3
    assert sorted(entry.kind for entry in library.others) == ["adapter", "embedding"]


def test_models_of_one_name_and_other_sizes_are_apart(make_entry: MakeEntry) -> None:
    small, large = make_entry(), make_entry("/m/b.gguf", parameters=8_000_000_000)
    close = make_entry("/m/c.gguf", parameters=1_050_000_000)
    unknown = make_entry("/m/d.gguf", parameters=None, base_name="model")
    groups = arrange([large, small, close]).groups
    assert sorted(len(group.variants) for group in groups) == [1, 2]
    assert len(arrange([unknown, replace(unknown, path=Path("/m/e.gguf"))]).groups) == 1


def test_files_of_one_name_are_one_model_whatever_their_metadata_says(
    make_entry: MakeEntry,
) -> None:
    odd = make_entry("/m/x.gguf", title="Tiny Lc100K Mix1", group="llama|lc100k-mix1-tiny")
    (group,) = arrange([odd, make_entry()]).groups
    assert group.title == "tiny-1B"
    # A name without a size does not tell enough.
    vague = replace(odd, base_name="tiny")
    assert len(arrange([vague, make_entry()]).groups) == 2


def test_a_group_keeps_its_key_while_others_come(make_entry: MakeEntry) -> None:
    (before,) = arrange([make_entry()]).groups
    other = make_entry("/m/o.gguf", group="llama|other", base_name="other-2B", size_label="2B")
    after = arrange([other, make_entry(), make_entry("/m/second.gguf")]).groups
    assert before.key in {group.key for group in after}


def part(make_entry: MakeEntry, path: str, kind: str, **values: object) -> ModelEntry:
    given = {"quantization": "F16", "problem": "no model", "bases": (), "parameters": 7}
    return make_entry(path, kind=kind, **(given | values))


def test_a_projector_needs_the_models_width(make_entry: MakeEntry) -> None:
    fits = part(make_entry, "/m/mmproj.gguf", "projector", base_name="mmproj")
    (group,) = arrange([make_entry(), fits]).groups
    assert group.parts == (fits,)
    wide = replace(fits, embedding_length=4096)
    library = arrange([make_entry(), wide])
    assert library.groups[0].parts == ()
    assert library.others == (wide,)


def test_of_two_models_in_a_folder_the_named_one_gets_the_projector(make_entry: MakeEntry) -> None:
    other = make_entry(
        "/m/big-9B.gguf", base_name="big-9B", title="Big 9B", group="llama|9b-big",
        size_label="9B", parameters=9_000_000_000,
    )  # fmt: skip
    named = part(make_entry, "/m/mmproj-tiny.gguf", "projector", base_name="mmproj-tiny-1B")
    groups = {g.title: g.parts for g in arrange([make_entry(), other, named]).groups}
    assert groups == {"tiny-1B": (named,), "big-9B": ()}
    vague = replace(named, base_name="mmproj")
    assert arrange([make_entry(), other, vague]).others == (vague,)


def test_an_adapter_finds_its_base_in_another_folder(make_entry: MakeEntry) -> None:
    adapter = part(
        make_entry, "/elsewhere/a.gguf", "adapter", base_name="pirate", bases=("Tiny 1B",)
    )
    (group,) = arrange([adapter, make_entry()]).groups
    assert group.parts == (adapter,)
    foreign = replace(adapter, architecture="qwen2")
    assert arrange([foreign, make_entry()]).others == (foreign,)


def test_no_files_at_all() -> None:
    library = arrange([])
    assert (library.groups, library.others, library.broken) == ((), (), ())
