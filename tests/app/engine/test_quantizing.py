"""Making variants and scoring texts through either client: the protocol is one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from app.engine.protocol import (
    Failed,
    LoadOptions,
    Progress,
    Quantize,
    Quantized,
    Score,
    Scored,
)
from gguf_tools.facts import read_facts
from tests.helpers.engine import Driver
from tests.helpers.tiny_gguf import write_tiny_model

_TEXT = "The ship lay low in the water, and the wind was fair. " * 20


def test_a_variant_is_made_and_scored(make_driver: Callable[[], Driver], tmp_path: Path) -> None:
    driver = make_driver()
    source = write_tiny_model(tmp_path / "tiny.gguf")
    target = tmp_path / "made.gguf"
    asked = Quantize(id=driver.new_id(), source=str(source), target=str(target), kind="Q8_0")
    driver.send(asked)
    *before, last = driver.receive(asked.id)
    assert isinstance(last, Quantized)
    assert last.file_bytes == target.stat().st_size
    shares = [message.fraction for message in before if isinstance(message, Progress)]
    assert all(message.phase == "quantize" for message in before if isinstance(message, Progress))
    assert shares == sorted(shares)
    assert shares[-1] == 1.0

    driver.load(target, LoadOptions(n_ctx=128, outputs=16, threads=1))
    score = Score(id=driver.new_id(), text=_TEXT, chunk_tokens=128, chunks=1)
    driver.send(score)
    *progress, scored = driver.receive(score.id)
    assert isinstance(scored, Scored)
    assert len(scored.nll) == 63
    assert any(isinstance(message, Progress) and message.phase == "score" for message in progress)


@pytest.mark.parametrize(
    ("values", "kind", "part"),
    [
        ({"source": "{folder}/none.gguf"}, "bad_model", "none.gguf"),
        ({"kind": "Q9"}, "bad_request", "Q9"),
        ({"kind": "IQ2_XXS", "source": "{folder}/wide.gguf"}, "bad_request", "importance matrix"),
        ({"imatrix": "{folder}/tiny.gguf"}, "bad_request", "no importance matrix"),
        ({"source": "{folder}/cut.gguf"}, "bad_model", "incomplete"),
    ],
)
def test_refusals(
    make_driver: Callable[[], Driver], tmp_path: Path, values: dict[str, str], kind: str, part: str
) -> None:
    from tests.helpers.tiny_gguf import TinyModel

    tiny = write_tiny_model(tmp_path / "tiny.gguf")
    wide = TinyModel(embedding=256, heads=4, head_length=64, feed_forward=512)
    write_tiny_model(tmp_path / "wide.gguf", wide)
    (tmp_path / "cut.gguf").write_bytes(tiny.read_bytes()[:-4096])
    driver = make_driver()
    filled = {key: value.format(folder=tmp_path) for key, value in values.items()}
    base = {"source": str(tiny), "target": str(tmp_path / "out.gguf"), "kind": "Q8_0"}
    asked = Quantize(id=driver.new_id(), **(base | filled))  # type: ignore[arg-type]
    driver.send(asked)
    *_, last = driver.receive(asked.id)
    assert isinstance(last, Failed)
    assert last.kind == kind
    assert part in last.message
    assert not (tmp_path / "out.gguf").exists()
    # The engine lives on.
    again = Quantize(id=driver.new_id(), **base)  # type: ignore[arg-type]
    driver.send(again)
    *_, last = driver.receive(again.id)
    assert isinstance(last, Quantized)
    assert read_facts(tmp_path / "out.gguf").quantization == "Q8_0"
