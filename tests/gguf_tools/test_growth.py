"""Buffers worked out from two contexts are those of a graph built for each."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path

import pytest

from gguf_tools.compute.allocator import buffer_bytes
from gguf_tools.compute.build import build_graph
from gguf_tools.compute.graph import Graph
from gguf_tools.compute.growth import ENDLESS_CELLS, Growth
from gguf_tools.facts import ModelFacts, read_facts
from gguf_tools.machine import Machine, cpu_only
from gguf_tools.memory import memory_plan
from gguf_tools.placement import place_layers
from gguf_tools.plan import make_plan
from gguf_tools.settings import LoadSettings, engine_settings
from tests.bench.verify_all import SPLIT
from tests.helpers.families import FAMILIES
from tests.helpers.shape_gguf import ShapeModel

_CONTEXTS = (4096, 512, 1024, 2048, 256, 8192, 131072, 768, 32768, 1280)


def _buffers(facts: ModelFacts, load: LoadSettings, machine: Machine) -> tuple[int, ...]:
    """Return the buffers of a graph built for this one context, with no layer left out."""
    shape = facts.shape
    assert shape is not None
    settings = engine_settings(shape, load)
    layers = place_layers(shape.layers_all, load.gpu_layers, machine, load.split).layers
    alignments = tuple(device.alignment for device in machine.devices)
    return buffer_bytes(build_graph(facts.header, shape, settings), alignments, layers)


@pytest.mark.parametrize("name", FAMILIES)
def test_every_context_is_as_its_own_graph(name: str, tmp_path: Path) -> None:
    facts = read_facts(FAMILIES[name].builder().write(tmp_path / "m.gguf"))
    shape = facts.shape
    assert shape is not None
    wrong = []
    for machine in (cpu_only(), SPLIT):
        for flash, kind in (("on", "f16"), ("off", "f16"), ("on", "q8_0")):
            for sequences in (1, 4):
                for context in _CONTEXTS:
                    load = LoadSettings(
                        context=context,
                        type_k=kind,
                        type_v=kind,
                        gpu_layers=shape.layers_all // 2,
                        flash_attention="on" if flash == "on" else "off",
                        sequences=sequences,
                    )
                    planned = memory_plan(facts, load, machine).compute.by_device
                    if planned != (built := _buffers(facts, load, machine)):
                        wrong.append((load, planned, built))
    assert wrong == []


@pytest.mark.parametrize("layers", range(30, 37))
def test_few_layers_stand_for_any_number(layers: int, tmp_path: Path) -> None:
    # With the logits of a whole batch this model's results lie as they did three layers before.
    model = ShapeModel(
        architecture="gptneox",
        layers=layers,
        embedding=128,
        heads=4,
        kv_heads=4,
        feed_forward=352,
        vocabulary=4000,
        kind="F16",
    )
    facts = read_facts(model.builder().write(tmp_path / "m.gguf"))
    for machine in (cpu_only(), SPLIT):
        for outputs in (None, 0):
            for offloaded in (0, 1, 3, 10, layers, layers + 1):
                load = LoadSettings(context=4096, gpu_layers=offloaded, outputs=outputs)
                planned = memory_plan(facts, load, machine).compute.by_device
                assert planned == _buffers(facts, load, machine), load


def test_a_context_asked_for_again_in_another_way(tmp_path: Path) -> None:
    # A longer batch leaves the graph as it is: the second answer comes from the first one's.
    facts = read_facts(FAMILIES["dense"].builder().write(tmp_path / "m.gguf"))
    short, long = (
        memory_plan(facts, LoadSettings(context=4096, batch=batch), cpu_only()).compute
        for batch in (512, 2048)
    )
    assert long == short
    assert long.trust == "exact"


def test_threads_plan_one_model_at_once(tmp_path: Path) -> None:
    # The library's rows are planned beside the page on screen, and they share a graph.
    facts = read_facts(FAMILIES["uneven"].builder().write(tmp_path / "m.gguf"))
    asked = [
        LoadSettings(context=3072, ubatch=ubatch, gpu_layers=offloaded)
        for ubatch in range(64, 513, 64)
        for offloaded in range(1, 8)
    ]

    def planned(load: LoadSettings) -> tuple[int, ...]:
        return memory_plan(facts, load, SPLIT).compute.by_device

    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as pool:
            found = list(pool.map(planned, asked))
    finally:
        sys.setswitchinterval(usual)
    assert found == [_buffers(facts, load, SPLIT) for load in asked]


def test_more_placements_than_are_kept() -> None:
    growth = Growth(512, _graph(512, 64), (32, 128))
    for layers in product((0, 1), repeat=7):
        expected = buffer_bytes(_graph(512, 64), (32, 128), layers)
        assert growth.at(512, layers) == expected


def _graph(cells: int, width: int) -> Graph:
    """Return a sum of a row of cells and a table of fixed width, where one may hold the result."""
    graph = Graph()
    tokens = graph.leaf(8)
    row = graph.make((width, 8), tokens, weights=True)
    mask = graph.make((cells, 8), tokens, weights=True)
    graph.expand(graph.output(graph.inplace(row, mask)))
    return graph


def test_an_extent_that_equals_the_cells_is_not_taken_for_granted() -> None:
    # At 512 cells both parents have the result's shape, so what is written over may change.
    growth = Growth(512, _graph(512, 512), (32,))
    for cells in (256, 768, 1024, 512):
        expected = buffer_bytes(_graph(cells, 512), (32,))
        assert (growth.at(cells) or growth.learn(cells, _graph(cells, 512))) == expected
    assert growth.at(2048) == buffer_bytes(_graph(2048, 512), (32,))
    assert growth.at(512) is None


def test_graphs_that_grow_in_steps_are_built_each_time() -> None:
    growth = Growth(256, _graph(256, 64), (32,))
    longer = _graph(1024, 64)
    longer.expand(longer.output(longer.make((1024, 1024), longer.nodes[-1])))
    assert growth.learn(1024, longer) == buffer_bytes(longer, (32,))
    assert growth.at(2048) is None


def test_one_graph_that_is_long_enough_tells_the_growth() -> None:
    growth = Growth.endless(_graph(ENDLESS_CELLS, 512), (32,))
    assert growth is not None
    for cells in (256, 768, 1024, 131072):
        assert growth.at(cells) == buffer_bytes(_graph(cells, 512), (32,))
    assert growth.at(512) is None  # an extent equals the cells there
    assert growth.learn(512, _graph(512, 512)) == buffer_bytes(_graph(512, 512), (32,))
    assert growth.at(256) == buffer_bytes(_graph(256, 512), (32,))


def test_a_square_of_the_cells_is_no_even_growth() -> None:
    graph = _graph(ENDLESS_CELLS, 64)
    graph.expand(graph.output(graph.make((ENDLESS_CELLS, ENDLESS_CELLS), graph.nodes[-1])))
    assert Growth.endless(graph, (32,)) is None


def test_figures_do_not_depend_on_what_was_planned_before(tmp_path: Path) -> None:
    # What a slider has left behind in the caches is what a fresh read of the file comes to.
    path = ShapeModel(layers=9, tied=True).builder().write(tmp_path / "m.gguf")
    loads = [
        LoadSettings(context=context, gpu_layers=layers, sequences=sequences)
        for sequences in (1, 3)
        for context in (512, 4096, 3072, 100_000)
        for layers in (0, 4, 10)
    ]
    warm = read_facts(path)
    for load in (*loads, *reversed(loads)):
        make_plan(warm, load, SPLIT)
    for load in loads:
        after, fresh = make_plan(warm, load, SPLIT), make_plan(read_facts(path), load, SPLIT)
        assert after.memory == fresh.memory
        assert (after.decode, after.prefill) == (fresh.decode, fresh.prefill)
        assert (after.ttft_s, after.max_context) == (fresh.ttft_s, fresh.max_context)
