"""What is compared, before any engine runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.compare.request import CompareRequest, prepare
from app.engine.client import EngineClient
from app.engine.protocol import Quantize, Quantized
from inspector.compare.records import ComparisonSettings
from tests.helpers.tiny_gguf import TinyModel, write_tiny_model


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A tiny model in F32, the Q4_1 made from it, and the Q8_0 made from that Q4_1."""
    folder = tmp_path_factory.mktemp("made")
    files = {"F32": write_tiny_model(folder / "tiny-F32.gguf", TinyModel())}
    with EngineClient() as client:
        for source, kind in (("F32", "Q4_1"), ("Q4_1", "Q8_0")):
            files[kind] = folder / f"tiny-{kind}.gguf"
            request = Quantize(
                id=client.new_id(),
                source=str(files[source]),
                target=str(files[kind]),
                kind=kind,
                allow_requantize=True,
            )
            client.call(request, Quantized)
    return files


@pytest.mark.parametrize(
    ("kinds", "reference"),
    [
        (("Q8_0", "Q4_1"), "Q4_1"),  # the Q8_0 holds more bytes and no more of the model
        (("Q4_1", "Q8_0"), "Q4_1"),
        (("Q8_0", "Q4_1", "F32"), "F32"),
        (("Q8_0", "F32"), "F32"),
    ],
)
def test_a_variant_made_from_another_is_no_reference(
    made: dict[str, Path], kinds: tuple[str, ...], reference: str
) -> None:
    assert made["Q8_0"].stat().st_size > made["Q4_1"].stat().st_size
    paths = tuple(made[kind] for kind in kinds)
    prepared = prepare(CompareRequest(paths=paths, settings=ComparisonSettings(prompt="Hello")))
    assert kinds[prepared.reference] == reference
    assert {item.label: item.requantized_from for item in prepared.variants}["Q8_0"] == "Q4_1"


def test_a_chosen_reference_counts_all_the_same(made: dict[str, Path]) -> None:
    request = CompareRequest(
        paths=(made["Q4_1"], made["Q8_0"]),
        settings=ComparisonSettings(prompt="Hello"),
        reference=1,
    )
    assert prepare(request).reference == 1
