"""Perplexity and divergence of the worker against a direct computation from raw logits."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from app.engine.client import EngineClient, RequestFailed
from app.engine.protocol import Failed, LoadOptions, Progress, Score, Scored
from inspector.compare.statistics import quality_of
from resources.loader import read_text
from tests.helpers.raw_logits import raw_logits
from tests.helpers.tiny_gguf import TinyModel, write_tiny_model

_CHUNK = 128
_CHUNKS = 2


@pytest.fixture
def client() -> Iterator[EngineClient]:
    with EngineClient() as client:
        yield client


def _options(rows: int) -> LoadOptions:
    """Without flash attention, whose rounding depends on the batch: on the starter it moves single
    logits so far that a divergence of 0.003 nats is between the engine and itself.
    """
    return LoadOptions(
        flash_attention="off",
        n_ctx=_CHUNK,
        outputs=rows,
        threads=1,
        threads_batch=1,
        compatibility=True,
    )


def _score(client: EngineClient, text: str, **values: object) -> Scored:
    request = Score(
        id=client.new_id(),
        text=text,
        chunk_tokens=_CHUNK,
        chunks=_CHUNKS,
        **values,  # type: ignore[arg-type]
    )
    return client.call(request, Scored)


@dataclass(frozen=True)
class _Direct:
    """What follows from raw logits by the definitions, in plain numpy."""

    log_probabilities: npt.NDArray[np.float64]
    following: npt.NDArray[np.int32]

    @property
    def nll(self) -> npt.NDArray[np.float64]:
        rows = np.arange(len(self.following))
        return -self.log_probabilities[rows, self.following]

    def kl(self, other: _Direct) -> npt.NDArray[np.float64]:
        own = np.exp(self.log_probabilities)
        difference: npt.NDArray[np.float64] = self.log_probabilities - other.log_probabilities
        return np.asarray((own * difference).sum(axis=1))


def _direct(model: Path, text: str, scratch: Path) -> _Direct:
    raw = raw_logits(model, text, _CHUNK, _CHUNKS, scratch)
    first = _CHUNK // 2
    logits = raw.logits[:, first : _CHUNK - 1].astype(np.float64)
    following = raw.tokens[:, first + 1 :]
    values = logits.reshape(-1, logits.shape[-1])
    top = values.max(axis=1, keepdims=True)
    values = values - top - np.log(np.exp(values - top).sum(axis=1, keepdims=True))
    return _Direct(values, following.reshape(-1))


def test_figures_of_the_starter_within_a_percent_of_a_direct_computation(
    client: EngineClient, starter: Path, tmp_path: Path
) -> None:
    """The reference is the starter, the variant the starter made Q4_0; the text is the built-in."""
    from app.compare.opener import opener
    from app.data.state import StateFile
    from app.variants import VariantMaker
    from gguf_tools.quantize import QuantizeRequest, quant_type

    target = tmp_path / "variant.gguf"
    request = QuantizeRequest(
        source=starter, target=target, kind=quant_type("Q4_0"), allow_requantize=True
    )
    open_client = opener(StateFile(None))
    VariantMaker(request, lambda: open_client(lambda _: None)).run()
    text = read_text("texts/slocum.txt")[:3000]
    kept = str(tmp_path / "kept")
    client.load(str(starter), _options(32))
    reference = _score(client, text, write=kept)
    client.load(str(target), _options(32))
    variant = _score(client, text, against=kept)

    direct = _direct(starter, text, tmp_path)
    other = _direct(target, text, tmp_path)
    assert len(reference.nll) == len(direct.nll) == (_CHUNK - 1 - _CHUNK // 2) * _CHUNKS
    found = quality_of(
        variant.nll,
        kl=variant.kl,
        same_top=variant.same_top,
        reference_nll=reference.nll,
        text_bytes=variant.text_bytes,
    )
    assert found.perplexity.value == pytest.approx(math.exp(other.nll.mean()), rel=0.01)
    assert math.exp(np.mean(reference.nll)) == pytest.approx(math.exp(direct.nll.mean()), rel=0.01)
    kl = direct.kl(other)
    assert kl.mean() > 0.01  # there is something to measure
    assert found.mean_kl is not None
    assert found.mean_kl.value == pytest.approx(kl.mean(), rel=0.01)
    error = math.sqrt(kl.var() / (len(kl) - 1))
    assert found.mean_kl.error == pytest.approx(error, rel=0.02)
    same = (
        direct.log_probabilities.argmax(axis=1) == other.log_probabilities.argmax(axis=1)
    ).mean()
    assert found.same_top is not None
    assert found.same_top.value == pytest.approx(same, abs=1.5 / len(kl))
    ratio = other.nll.mean() - direct.nll.mean()
    assert found.ln_ratio is not None
    assert found.ln_ratio.value == pytest.approx(ratio, abs=0.01)

    assert len(variant.worst) == 12
    worst = variant.worst[0]
    assert worst.kl == max(variant.kl) == pytest.approx(kl.max(), rel=0.02)
    assert worst.before.strip()
    assert worst.token in text
    assert (worst.before + worst.token + worst.after) in text
    assert [item.kl for item in variant.worst] == sorted(variant.kl, reverse=True)[:12]


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    return write_tiny_model(tmp_path / "tiny.gguf")


_TEXT = "The ship lay low in the water, and the wind was fair. " * 40


def test_a_variant_does_not_differ_from_itself(
    client: EngineClient, tiny: Path, tmp_path: Path
) -> None:
    """What is kept of the reference is rounded, by less than a good variant differs."""
    kept = str(tmp_path / "kept")
    client.load(str(tiny), _options(16))
    first = _score(client, _TEXT, write=kept)
    again = _score(client, _TEXT, against=kept)
    assert again.nll == first.nll
    assert max(again.kl) < 1e-6
    assert all(again.same_top)
    assert first.kl == ()


def test_rows_at_once_do_not_change_the_figures(client: EngineClient, tiny: Path) -> None:
    found = []
    for rows in (1, 7, 64):
        client.load(str(tiny), _options(rows))
        found.append(_score(client, _TEXT).nll)
    assert found[0] == pytest.approx(found[1], abs=1e-3)
    assert found[0] == pytest.approx(found[2], abs=1e-3)


@pytest.mark.parametrize("architecture", ["gemma3", "mamba", "lfm2"])
def test_other_memories(client: EngineClient, tmp_path: Path, architecture: str) -> None:
    """Sliding windows and states begin anew with each chunk."""
    model = TinyModel(architecture=architecture)  # type: ignore[arg-type]
    path = write_tiny_model(tmp_path / "tiny.gguf", model)
    client.load(str(path), _options(16))
    first, second = _score(client, _TEXT), _score(client, _TEXT)
    assert first.nll == pytest.approx(second.nll, abs=1e-3)
    direct = _direct(path, _TEXT, tmp_path)
    assert first.nll == pytest.approx(direct.nll.tolist(), abs=0.02)


def test_another_vocabulary_is_told(client: EngineClient, tiny: Path, tmp_path: Path) -> None:
    kept = str(tmp_path / "kept")
    client.load(str(tiny), _options(16))
    _score(client, _TEXT, write=kept)
    larger = write_tiny_model(tmp_path / "larger.gguf", TinyModel(extra_tokens=("ship", "wind")))
    client.load(str(larger), _options(16))
    found = _score(client, _TEXT, against=kept)
    assert not found.comparable
    assert found.kl == ()
    assert found.nll


def test_a_short_text_makes_one_chunk_and_a_shorter_one_is_refused(
    client: EngineClient, tiny: Path
) -> None:
    client.load(str(tiny), _options(16))
    tokens = _score(client, _TEXT).text_tokens
    assert tokens == _CHUNK * _CHUNKS
    part = _score(client, _TEXT[:400])
    assert part.chunks >= 1
    with pytest.raises(RequestFailed, match="at least 64"):
        _score(client, "Too short.")


def test_a_reference_that_is_gone_is_told(client: EngineClient, tiny: Path, tmp_path: Path) -> None:
    client.load(str(tiny), _options(16))
    with pytest.raises(RequestFailed, match="can't be read"):
        _score(client, _TEXT, against=str(tmp_path / "nothing"))
    with pytest.raises(RequestFailed, match="can't be kept"):
        _score(client, _TEXT, write=str(tmp_path / "no folder" / "kept"))


def test_it_stops_when_asked(client: EngineClient, starter: Path) -> None:
    client.load(str(starter), _options(8))
    request = Score(
        id=client.new_id(), text=read_text("texts/slocum.txt"), chunk_tokens=_CHUNK, chunks=28
    )
    client.send(request)
    messages = []
    for message in client.messages(request.id):
        messages.append(message)
        if isinstance(message, Progress) and message.done_tokens:
            client.cancel(request.id)
    last = messages[-1]
    assert isinstance(last, Failed)
    assert last.kind == "cancelled"


def test_without_a_model_it_is_refused(client: EngineClient) -> None:
    with pytest.raises(RequestFailed) as failure:
        _score(client, _TEXT)
    assert failure.value.failed.kind == "no_model"
