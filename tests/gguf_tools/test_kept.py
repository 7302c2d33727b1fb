import gc
import weakref
from pathlib import Path

import pytest

from gguf_tools.facts import read_facts
from gguf_tools.header import Header, open_header
from gguf_tools.kept import KeptResults, kept_with_header
from gguf_tools.machine import cpu_only
from gguf_tools.memory import memory_plan
from gguf_tools.rates import layer_reads
from gguf_tools.settings import LoadSettings
from tests.helpers.tiny_gguf import write_tiny_model


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return write_tiny_model(tmp_path / "tiny.gguf")


def test_a_result_is_kept_for_its_header_and_key_alone(path: Path) -> None:
    header, same_file = open_header(path), open_header(path)
    results: KeptResults[str] = KeptResults(2)
    assert results.get(header, "a") is None
    results.put(header, "a", "first")
    assert results.get(header, "a") == "first"
    assert results.get(header, "b") is None
    assert results.get(same_file, "a") is None


def test_the_result_that_was_not_asked_for_longest_gives_way(path: Path) -> None:
    header = open_header(path)
    results: KeptResults[int] = KeptResults(2)
    results.put(header, "a", 1)
    results.put(header, "b", 2)
    assert results.get(header, "a") == 1
    results.put(header, "c", 3)
    assert [results.get(header, key) for key in "abc"] == [1, None, 3]


def test_a_function_is_called_once_for_equal_arguments(path: Path) -> None:
    header = open_header(path)
    calls = []

    @kept_with_header(2)
    def doubled(header: Header, number: int, more: int = 0) -> int:
        calls.append((header.path, number, more))
        return 2 * number + more

    assert [doubled(header, 3), doubled(header, 3), doubled(header, 3, more=1)] == [6, 6, 7]
    assert doubled(header, 3, more=1) == 7
    assert calls == [(path, 3, 0), (path, 3, 1)]


def test_a_header_goes_when_nobody_uses_it_whatever_was_worked_out_of_it(path: Path) -> None:
    facts = read_facts(path)
    assert facts.shape is not None
    machine = cpu_only(8 << 30, 6 << 30, 20e9, 96e9)
    first = memory_plan(facts, LoadSettings(context=512), machine)
    second = memory_plan(facts, LoadSettings(context=1024), machine)
    assert second.kv_bytes == 2 * first.kv_bytes
    layer_reads(facts.header, facts.shape)
    gone = weakref.ref(facts.header)
    del facts, first, second
    gc.collect()
    assert gone() is None
