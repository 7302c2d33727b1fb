"""Which device computes what, what is copied between them, and what memory that takes."""

from __future__ import annotations

from gguf_tools.compute.allocator import buffer_bytes
from gguf_tools.compute.graph import HOST, Graph, Node
from gguf_tools.compute.schedule import assign_devices, schedule

_HALVES = (0, 1)  # layer 0 on the CPU, layer 1 on a GPU


def _chain() -> tuple[Graph, dict[str, Node]]:
    """Return an embedding, and two layers of a product and a sum with what came before."""
    graph = Graph()
    tokens = graph.leaf(8)
    x = graph.make((64, 8), tokens, weights=True)
    named = {"tokens": tokens, "embedded": x}
    for layer in range(2):
        graph.owner = layer
        product = graph.matmul(64, x)
        x = graph.inplace(product, x)
        named |= {f"product {layer}": product, f"sum {layer}": x}
    graph.expand(graph.output(x))
    return graph, named


def test_what_has_no_weights_runs_where_its_neighbours_do() -> None:
    graph, named = _chain()
    assign_devices(graph, _HALVES)
    where = {name: node.device for name, node in named.items()}
    # The sum that ends the CPU's layer has no weights: the GPU takes what lies before it.
    assert where == {
        "tokens": 0,
        "embedded": 0,
        "product 0": 0,
        "sum 0": 1,
        "product 1": 1,
        "sum 1": 1,
    }


def test_what_crosses_is_copied_when_the_split_begins() -> None:
    graph, named = _chain()
    steps = schedule(graph, _HALVES).steps
    copied = [sources[0] for node, sources, _ in steps if node is None]
    assert copied == [named["product 0"], named["embedded"]]
    kinds = [node is None for node, _, _ in steps]
    assert kinds == [False, False, True, False, True, False, False, False, False]


def test_buffers_hold_the_copies() -> None:
    row = 64 * 8 * 4
    graph, _ = _chain()
    assert buffer_bytes(graph, (32, 32)) == (2 * row + 32, 0)
    graph, _ = _chain()
    # CPU: tokens, embedding, product. GPU: both copies; one becomes the sum, and the next product
    # lies where the other was.
    assert buffer_bytes(graph, (32, 128), _HALVES) == (2 * row + 32, 2 * row)
    graph, _ = _chain()
    # Four batches under way: inputs and copies are there four times and never given back.
    assert buffer_bytes(graph, (32, 128), _HALVES, copies=4) == (2 * row + 4 * 32, 10 * row)


def test_a_copy_of_a_part_spans_what_lies_between() -> None:
    graph = Graph()
    tokens = graph.leaf(8)
    whole = graph.make((96, 8), tokens, weights=True)
    part = graph.view(whole, 32, 8)
    assert part.span == (7 * 96 + 32) * 4
    assert graph.view(whole, 96, 4).span == 96 * 4 * 4  # whole rows lie together
    graph.owner = 0
    graph.expand(graph.output(graph.matmul(16, part)))
    assert buffer_bytes(graph, (32, 32), (1,))[1] == part.span + 16 * 8 * 4


def test_a_cache_elsewhere_is_copied_whole() -> None:
    graph = Graph()
    graph.owner = 0
    x = graph.matmul(16, graph.make((16, 8), graph.leaf(8), weights=True))
    cache = graph.outside(HOST, 4096)
    graph.expand(graph.output(graph.make((16, 8), x, cache)))
    on_gpu = buffer_bytes(graph, (32, 32), (1,))[1]
    assert on_gpu == 4096 + 32 + 2 * 16 * 8 * 4  # the cache, the tokens, two results at a time
