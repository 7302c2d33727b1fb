"""How well a model foresees a text, and how far that is from what another variant expects.

Definitions are those of llama.cpp's perplexity tool (tools/perplexity/perplexity.cpp): the text is
cut into chunks, each begins with the BOS token if the vocabulary wants one, and the tokens of its
second half count, so that each has context. Perplexity is e to the mean surprise in nats; the
divergence of a variant from the reference is the mean over those tokens of
``sum(p_ref * (ln p_ref - ln p))`` over the whole vocabulary.

What the reference expects is kept in a file, 16 bits a token of the vocabulary over the range that
matters (to `_RANGE_NATS` below the likeliest), so a step is at most half a thousandth of a nat and
the divergence is right to about 1e-8: unlike f16 logits, whose steps would drown a good variant's.
"""

from __future__ import annotations

import heapq
import itertools
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Final, Self

import msgspec
import numpy as np
import numpy.typing as npt

from app.engine.interface import Aborted, EngineFailure, EngineModel, Vocabulary
from app.engine.protocol import Score, Scored
from gguf_tools.units import counted
from inspector.compare.records import TokenDifference

__all__ = ["expectation_bytes", "score_text"]

_LEAST_TOKENS: Final = 64
_ROWS: Final = 16  # worked on at once: bounds the memory of a large vocabulary
_RANGE_NATS: Final = 32.0  # what is less likely than e^-32 of the likeliest adds nothing
_STEPS: Final = 65535
_WORST: Final = 12
_BEFORE: Final = 24
_AFTER: Final = 8

_Floats = npt.NDArray[np.float64]


class _Kept(msgspec.Struct, frozen=True):
    """What a file of expectations belongs to."""

    n_vocab: int
    chunk_tokens: int
    tokens: list[int]


@dataclass(frozen=True, slots=True)
class _Text:
    """A text as tokens, in ``chunks`` of ``chunk`` tokens each."""

    tokens: list[int]
    chunk: int
    chunks: int
    bos: list[int]

    def of(self, index: int) -> list[int]:
        """Return a chunk as the model gets it."""
        part = self.tokens[index * self.chunk : (index + 1) * self.chunk]
        return self.bos + part[len(self.bos) :]

    @property
    def first(self) -> int:
        """Return the position in a chunk whose successor is the first that counts."""
        return self.chunk // 2

    @property
    def rows(self) -> int:
        """Return the tokens that count in a chunk."""
        return self.chunk - 1 - self.first


def expectation_bytes(n_vocab: int, chunk_tokens: int, chunks: int) -> int:
    """Return the size of a file that keeps what a model expects at each token that counts."""
    return _row_type(n_vocab).itemsize * (chunk_tokens - 1 - chunk_tokens // 2) * chunks


def score_text(
    model: EngineModel,
    request: Score,
    stopped: Callable[[], bool],
    on_progress: Callable[[int, int], None],
) -> Scored:
    """Evaluate a text; ``on_progress`` gets tokens done and to be done.

    Raises:
        Aborted: ``stopped`` turned true.
        EngineFailure: the text is too short, or the engine failed.
    """
    started = time.monotonic()
    text = _cut(model, request)
    reference = None if request.against is None else _Reference(Path(request.against))
    comparable = reference is None or reference.fits(text, model.info.n_vocab)
    if not comparable:
        reference = None
    tally = _Tally(model.vocab)
    total = text.chunk * text.chunks
    with _writer(request.write, model.info.n_vocab) as writer:
        for index in range(text.chunks):
            tokens = text.of(index)
            for at, logits in _logits(model, tokens, text.first, stopped):
                rows = range(at, min(at + len(logits), text.chunk - 1))
                for start in range(0, len(rows), _ROWS):
                    part = rows[start : start + _ROWS]
                    expected = _log_softmax(logits[start : start + len(part)])
                    following = [tokens[row + 1] for row in part]
                    writer.add(expected)
                    there = None
                    if reference is not None:
                        first = index * text.rows + part[0] - text.first
                        there = reference.rows(first, len(part))
                    base = index * text.chunk
                    tally.add(base + part[0] + 1, expected, following, there)
                on_progress(index * text.chunk + at + len(logits), total)
        writer.finish(_Kept(model.info.n_vocab, text.chunk, text.tokens))
    model.clear()
    pieces = model.vocab.piece
    counted = itertools.chain.from_iterable(
        text.of(index)[text.first + 1 :] for index in range(text.chunks)
    )
    return Scored(
        id=request.id,
        text_tokens=len(text.tokens),
        chunk_tokens=text.chunk,
        chunks=text.chunks,
        nll=tuple(tally.nll),
        kl=tuple(tally.kl),
        same_top=tuple(tally.same_top),
        comparable=comparable,
        text_bytes=sum(len(pieces(token)) for token in counted),
        worst=tally.worst(text.tokens),
        seconds=time.monotonic() - started,
    )


def _cut(model: EngineModel, request: Score) -> _Text:
    vocab = model.vocab
    tokens = vocab.with_bos(vocab.tokenize(request.text, parse_special=False))
    chunk = min(request.chunk_tokens, model.info.n_ctx, len(tokens))
    if chunk < _LEAST_TOKENS:
        raise EngineFailure(
            "bad_request",
            f"The text has {counted(len(tokens), 'token')}; at least {_LEAST_TOKENS} are needed "
            "to tell how well it is foreseen.",
        )
    chunks = max(1, min(request.chunks, len(tokens) // chunk))
    return _Text(tokens[: chunk * chunks], chunk, chunks, vocab.with_bos([]))


def _logits(
    model: EngineModel, tokens: Sequence[int], first: int, stopped: Callable[[], bool]
) -> Any:
    """Yield (position, logits) of a chunk from ``first`` on, as many rows as a step can give."""
    model.clear()
    for start in range(0, first, model.info.n_ubatch):
        if stopped():
            raise Aborted
        model.decode(tokens[start : min(first, start + model.info.n_ubatch)], start)
    step = max(1, min(model.outputs, model.info.n_ubatch))
    for start in range(first, len(tokens), step):
        if stopped():
            raise Aborted
        yield start, model.logits(tokens[start : start + step], start)


def _log_softmax(logits: npt.NDArray[np.float32]) -> _Floats:
    """Return natural logarithms of probabilities, by row."""
    values = logits.astype(np.float64)
    values -= values.max(axis=1, keepdims=True)
    values -= np.log(np.exp(values).sum(axis=1, keepdims=True))
    return values


class _Tally:
    """Adds up what each token tells."""

    def __init__(self, vocab: Vocabulary) -> None:
        self.nll: list[float] = []
        self.kl: list[float] = []
        self.same_top: list[bool] = []
        self._vocab = vocab
        self._worst: list[tuple[float, int, dict[str, Any]]] = []

    def add(
        self,
        position: int,
        expected: _Floats,
        following: Sequence[int],
        reference: tuple[_Floats, npt.NDArray[np.int32]] | None,
    ) -> None:
        """Take rows of log-probabilities, the tokens that came, and the reference's rows."""
        rows = np.arange(len(following))
        came = expected[rows, following]
        self.nll.extend((-came).tolist())
        if reference is None:
            return
        there, tops = reference
        probabilities = np.exp(there)
        # Never negative but for rounding, which is of the order of the kept steps.
        kl = np.maximum((probabilities * (there - expected)).sum(axis=1), 0.0)
        own = expected.argmax(axis=1)
        self.kl.extend(kl.tolist())
        self.same_top.extend((own == tops).tolist())
        for row in range(len(following)):
            entry = (
                float(kl[row]),
                -(position + row),
                {
                    "token": following[row],
                    "reference_p": float(probabilities[row, following[row]]),
                    "p": float(np.exp(came[row])),
                    "reference_top": int(tops[row]),
                    "reference_top_p": float(probabilities[row, tops[row]]),
                    "top": int(own[row]),
                    "top_p": float(np.exp(expected[row, own[row]])),
                },
            )
            if len(self._worst) < _WORST:
                heapq.heappush(self._worst, entry)
            elif entry[:2] > self._worst[0][:2]:
                heapq.heapreplace(self._worst, entry)

    def worst(self, tokens: Sequence[int]) -> tuple[TokenDifference, ...]:
        """Return the places that differ most, in context, the worst first."""
        found = []
        for kl, minus, entry in sorted(self._worst, key=lambda item: (-item[0], -item[1])):
            at = -minus
            found.append(
                TokenDifference(
                    position=at,
                    before=self._text(tokens[max(0, at - _BEFORE) : at]),
                    token=self._text([entry["token"]]),
                    after=self._text(tokens[at + 1 : at + 1 + _AFTER]),
                    kl=kl,
                    reference_p=entry["reference_p"],
                    p=entry["p"],
                    reference_top=self._text([entry["reference_top"]]),
                    reference_top_p=entry["reference_top_p"],
                    top=self._text([entry["top"]]),
                    top_p=entry["top_p"],
                )
            )
        return tuple(found)

    def _text(self, tokens: Sequence[int]) -> str:
        data = b"".join(self._vocab.piece(token) for token in tokens)
        return data.decode("utf-8", "replace")


# --- the file of expectations


def _row_type(n_vocab: int) -> np.dtype[Any]:
    return np.dtype(
        [("low", "<f4"), ("step", "<f4"), ("top", "<i4"), ("values", "<u2", (n_vocab,))]
    )


def _meta(path: Path) -> Path:
    return path.with_name(path.name + ".json")


class _Writer:
    """Writes rows of expectations, and at the end what they belong to."""

    def __init__(self, path: Path, n_vocab: int) -> None:
        self._path = path
        self._row = _row_type(n_vocab)
        self._file: BinaryIO = path.open("wb")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            self._file.close()
        except OSError as failure:
            if kind is None:
                raise _unwritable(self._path, failure) from failure

    def add(self, expected: _Floats) -> None:
        """Keep rows of log-probabilities."""
        rows = np.zeros(len(expected), dtype=self._row)
        top = expected.max(axis=1)
        low = np.maximum(expected.min(axis=1), top - _RANGE_NATS).astype(np.float32)
        step = ((top - low) / _STEPS).astype(np.float32)
        scale = np.where(step > 0, step, 1.0).astype(np.float64)[:, None]
        values = np.rint((expected - low.astype(np.float64)[:, None]) / scale)
        rows["low"], rows["step"], rows["top"] = low, step, expected.argmax(axis=1)
        rows["values"] = np.clip(values, 0, _STEPS).astype(np.uint16)
        try:
            self._file.write(rows.tobytes())
        except OSError as error:
            raise _unwritable(self._path, error) from error

    def finish(self, kept: _Kept) -> None:
        """Write what the rows belong to."""
        try:
            self._file.flush()
            _meta(self._path).write_bytes(msgspec.json.encode(kept))
        except OSError as error:
            raise _unwritable(self._path, error) from error


class _NoWriter:
    """Takes rows and forgets them."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        return

    def add(self, expected: _Floats) -> None:
        """Forget rows."""

    def finish(self, kept: _Kept) -> None:
        """Write nothing."""


def _writer(path: str | None, n_vocab: int) -> _Writer | _NoWriter:
    if path is None:
        return _NoWriter()
    try:
        return _Writer(Path(path), n_vocab)
    except OSError as error:
        raise _unwritable(Path(path), error) from error


def _unwritable(path: Path, error: OSError) -> EngineFailure:
    return EngineFailure(
        "engine",
        f"What the reference expects can't be kept in {path.parent}: {error.strerror}.",
        ("Make room on that disk", "Use a shorter text"),
    )


class _Reference:
    """Reads rows of expectations."""

    def __init__(self, path: Path) -> None:
        try:
            self._kept = msgspec.json.decode(_meta(path).read_bytes(), type=_Kept)
            self._rows = np.memmap(path, dtype=_row_type(self._kept.n_vocab), mode="r")
        except (OSError, ValueError, msgspec.DecodeError) as error:
            raise EngineFailure(
                "bad_request", f"What the reference expected can't be read: {error}"
            ) from error

    def fits(self, text: _Text, n_vocab: int) -> bool:
        """Tell whether the reference saw the same tokens of a vocabulary of the same size."""
        kept = self._kept
        return (kept.n_vocab, kept.chunk_tokens, kept.tokens) == (n_vocab, text.chunk, text.tokens)

    def rows(self, first: int, count: int) -> tuple[_Floats, npt.NDArray[np.int32]]:
        """Return log-probabilities (count, vocabulary) and the likeliest token of each row."""
        part = self._rows[first : first + count]
        low = part["low"].astype(np.float64)[:, None]
        there = part["values"] * part["step"].astype(np.float64)[:, None] + low
        there -= np.log(np.exp(there).sum(axis=1, keepdims=True))
        return there, np.asarray(part["top"])
