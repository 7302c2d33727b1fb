from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from app.data.hub.client import Hub
from app.data.hub.errors import HubError
from app.data.hub.heads import HeadReader, head_folder, head_is_kept, prune, read_head
from gguf_tools.facts import read_facts
from tests.helpers.gguf_bytes import GgufBuilder
from tests.helpers.hub_server import HubServer

COMPARED = (
    "parameters",
    "weights_bytes",
    "bits_per_weight",
    "quantization",
    "bytes_read_per_token",
    "kv_bytes_per_token",
    "file_bytes",
    "name",
)
WORDS = [f"word{number}" for number in range(60_000)]


def write_model(path: Path, kind: str, words: list[str] = WORDS) -> Path:
    """Write a model with a vocabulary of about a megabyte and no data behind its tensors."""
    builder = GgufBuilder()
    builder.text("general.architecture", "llama").text("general.name", f"Model {kind}")
    for key, value in {
        "block_count": 1,
        "context_length": 4096,
        "embedding_length": 256,
        "feed_forward_length": 512,
        "attention.head_count": 4,
        "attention.head_count_kv": 2,
    }.items():
        builder.u32(f"llama.{key}", value)
    builder.key("tokenizer.ggml.tokens", "[str]", words)
    builder.text("tokenizer.chat_template", "{{ x }}" * 2000)
    builder.tensor("token_embd.weight", (256, len(words)), kind)
    builder.tensor("blk.0.attn_q.weight", (256, 256), kind)
    builder.tensor("output_norm.weight", (256,), "F32")
    return builder.write(path)


@pytest.fixture
def never() -> Callable[[], bool]:
    return lambda: False


def test_only_headers_are_read_and_the_vocabulary_once(
    server: HubServer, hub: Hub, tmp_path: Path, never: Callable[[], bool]
) -> None:
    kinds = ("Q4_0", "Q5_0", "Q8_0", "F16")
    paths = {kind: write_model(tmp_path / f"M-{kind}.gguf", kind) for kind in kinds}
    server.add("one/M", [(path.name, path) for path in paths.values()])
    listing = hub.listing("one/M")
    reader = HeadReader(hub, listing, tmp_path / "heads", never)
    costs = []
    for variant in listing.variants:
        before = reader.fetched_bytes
        reader.fetch(variant)
        costs.append(reader.fetched_bytes - before)
        here = read_head(tmp_path / "heads", variant)
        there = read_facts(paths[variant.quantization or ""])
        assert here.complete
        assert here.warnings == there.warnings
        for name in COMPARED:
            assert getattr(here, name) == getattr(there, name)
    assert costs[0] < 2.2 * 1024 * 1024
    assert max(costs[1:]) < 64 * 1024


def test_a_vocabulary_of_its_own_is_read_whole(
    server: HubServer, hub: Hub, tmp_path: Path, never: Callable[[], bool]
) -> None:
    first = write_model(tmp_path / "M-Q4_0.gguf", "Q4_0")
    second = write_model(tmp_path / "M-Q8_0.gguf", "Q8_0", [word[::-1] + "x" for word in WORDS])
    server.add("one/M", [(first.name, first), (second.name, second)])
    listing = hub.listing("one/M")
    reader = HeadReader(hub, listing, tmp_path / "heads", never)
    for variant in listing.variants:
        reader.fetch(variant)
    facts = read_head(tmp_path / "heads", listing.variants[1])
    assert facts.header.text_at("tokenizer.ggml.tokens", 0) == "0drowx"
    assert facts.complete


def test_a_header_is_fetched_once(
    server: HubServer, hub: Hub, tmp_path: Path, never: Callable[[], bool]
) -> None:
    path = write_model(tmp_path / "M-Q4_0.gguf", "Q4_0")
    server.add("one/M", [(path.name, path)])
    listing = hub.listing("one/M")
    [variant] = listing.variants
    cache = tmp_path / "heads"
    assert not head_is_kept(cache, variant)
    HeadReader(hub, listing, cache, never).fetch(variant)
    assert head_is_kept(cache, variant)
    server.requests.clear()
    HeadReader(hub, listing, cache, never).fetch(variant)
    assert server.requests == []
    prune(cache, 0)
    assert not head_is_kept(cache, variant)


def test_what_is_no_model_is_said_by_its_name(
    server: HubServer, hub: Hub, tmp_path: Path, blob: Path, never: Callable[[], bool]
) -> None:
    server.add("one/M", [("M-Q4_0.gguf", blob)])
    listing = hub.listing("one/M")
    [variant] = listing.variants
    with pytest.raises(HubError, match=r"^M-Q4_0\.gguf is not a GGUF file") as caught:
        HeadReader(hub, listing, tmp_path / "heads", never).fetch(variant)
    assert caught.value.kind == "header"
    assert list(head_folder(tmp_path / "heads", variant).iterdir()) == []
    # No more than the first piece was asked for.
    assert server.requests[-1].headers["range"] == "bytes=0-1048575"


def test_reading_ends_soon_after_a_cancel(server: HubServer, hub: Hub, tmp_path: Path) -> None:
    path = write_model(tmp_path / "M-Q4_0.gguf", "Q4_0")
    server.add("one/M", [(path.name, path)])
    listing = hub.listing("one/M")
    reader = HeadReader(hub, listing, tmp_path / "heads", lambda: True)
    with pytest.raises(HubError) as caught:
        reader.fetch(listing.variants[0])
    assert caught.value.kind == "stopped"
    assert reader.fetched_bytes == 0
