"""One variant in an engine of its own: loaded, asked, measured, scored, unloaded.

What was learnt so far is kept by `app.compare.variant`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import msgspec

from app.compare.events import Event
from app.compare.learning import learn_decode
from app.compare.request import Prepared, load_options, plan_of
from app.compare.variant import VariantState, host_sample, now_ms
from app.data.probe import host_memory
from app.data.state import StateFile
from app.engine.client import EngineClient, EngineError, RequestFailed
from app.engine.protocol import (
    Bench,
    Benched,
    ChatMessage,
    ChatPrompt,
    Chunk,
    Done,
    Failed,
    Generate,
    LoadOptions,
    MemoryNow,
    ModelInfo,
    Progress,
    QueryMemory,
    Score,
    Scored,
    Started,
    Unload,
    Unloaded,
)
from app.engine.recording import load_record, memory_sample
from app.machine import machine_for
from gguf_tools.plan import Plan
from inspector.compare.records import MemoryStep, Stage
from inspector.compare.statistics import quality_of
from inspector.plan_record import SettingsRecord
from inspector.planned import plan_record, prefill_point, step_point
from inspector.records import BandwidthRecord, BenchRow, MemorySample

__all__ = ["Against", "OpenClient", "VariantRun"]

OpenClient: TypeAlias = Callable[[Callable[[str], None]], EngineClient]
"""Makes a client that is not yet started; its notices go to the function given."""

_PREFILL_TOKENS: Final = 256
_PREFILL_REPEATS: Final = 2
_DECODE_TOKENS: Final = 32
_DECODE_REPEATS: Final = 3
_OUTPUT_ROWS: Final = 256
_OUTPUT_BYTES: Final = 64 << 20  # of logits at once


@dataclass(frozen=True, slots=True)
class Against:
    """What quality is measured with: the file of expectations to write, or to hold against.

    ``reference_nll`` is the reference's surprise at each token that counts.
    """

    write: str | None = None
    against: str | None = None
    reference_nll: tuple[float, ...] = ()


class VariantRun(VariantState):
    """Drives one variant's engine; `record` is what is known of it, at any time."""

    def __init__(
        self,
        prepared: Prepared,
        index: int,
        tell: Callable[[Event], None],
        bandwidth: BandwidthRecord | None,
    ) -> None:
        super().__init__(index, prepared.variants[index], tell)
        self.scored: Scored | None = None
        self.engine = ""
        self.machine = ""
        self.client: EngineClient | None = None
        self._prepared = prepared
        self._facts = prepared.facts[index]
        self._settings = prepared.request.settings
        self._options = load_options(prepared.request)
        self._bandwidth = bandwidth
        self._plan: Plan | None = None
        self._info: ModelInfo | None = None

    # --- steps, in their order

    def start(self, client: EngineClient) -> None:
        """Start the engine and look at its memory.

        Raises:
            EngineError: it doesn't start.
        """
        self.phase("starting")
        self.client = client
        hello = client.start()
        self.engine = hello.engine
        machine = machine_for(hello, self._bandwidth, self._options)
        options = self._asked(self._options)
        self._plan = plan_of(self._facts, options, machine)
        if self._plan is not None:
            planned = sum(item.total_bytes for item in self._plan.memory.devices)
            self.set(planned_bytes=planned)
        self.look("before")

    def load(self) -> None:
        """Load the model as a chat would.

        Raises:
            EngineError: it can't be loaded.
        """
        client = self._running()
        self.phase("loading", 0.0)
        before = self.memory[-1].sample if self.memory else None
        info = client.load(
            self.record.path, self._options, lambda part: self.phase("loading", part)
        )
        self._info = info
        after = self.look("loaded")
        hello = client.hello
        assert hello is not None
        plan = self._plan
        record = load_record(
            info,
            hello,
            self._asked(self._options),
            plan=None if plan is None else plan_record(plan, _settings_of(info)),
            before=before,
            after=after,
            at_ms=now_ms(),
        )
        self.machine = record.identity.machine
        self.set(
            load=record,
            fingerprint=record.identity.fingerprint,
            engine_bytes=_engine_bytes(info, self._facts.weights_bytes),
            notices=(*self.record.notices, *info.notices),
        )

    def answer(self) -> None:
        """Answer the prompt; pieces are told as they come.

        Raises:
            EngineError: the engine refused or died; the answer so far is kept.
        """
        settings = self._settings
        if not settings.prompt.strip():
            return
        self.phase("reading", 0.0)
        messages = [ChatMessage(id="user", role="user", content=settings.prompt)]
        if settings.system:
            messages.insert(0, ChatMessage(id="system", role="system", content=settings.system))
        client = self._running()
        request = Generate(
            id=client.new_id(),
            conversation="compare",
            chat=ChatPrompt(messages=tuple(messages), trim=False),
            sampling=msgspec.structs.replace(
                self._prepared.request.sampling,
                temperature=settings.temperature,
                seed=settings.seed,
                max_tokens=settings.max_tokens,
            ),
        )
        for message in client.generate(request):
            if isinstance(message, Progress):
                self.phase("reading", message.fraction, message.done_tokens, message.total_tokens)
            elif isinstance(message, Started):
                self.set(answer="", reasoning="")  # a repeat in compatibility mode begins anew
            elif isinstance(message, Chunk):
                self.piece(message)
            elif isinstance(message, Failed):
                raise RequestFailed(message)
            elif isinstance(message, Done):
                self.set(stats=message.stats, stop=message.stop)
        self.look("answered")

    def measure(self) -> None:
        """Measure prefill and decode by tests of their own, alike for all variants.

        Raises:
            EngineError: the engine died.
        """
        info, plan = self._info, self._plan
        if info is None or plan is None:
            return
        self.phase("measuring")
        prefill_tokens = min(_PREFILL_TOKENS, info.n_ctx // 2)
        prefill = self._bench("prefill", prefill_tokens, _PREFILL_REPEATS)
        expected, ceiling = prefill_point(plan, 0, prefill_tokens)
        decode = self._bench("decode", _DECODE_TOKENS, _DECODE_REPEATS)
        point = step_point(plan, _DECODE_TOKENS // 2)
        self.set(
            prefill=BenchRow(
                test="prefill",
                depth=0,
                sequences=1,
                tokens=prefill_tokens,
                samples=prefill,
                predicted=expected,
                predicted_high=expected,
                ceiling=ceiling,
            ),
            decode=BenchRow(
                test="decode",
                depth=0,
                sequences=1,
                tokens=_DECODE_TOKENS,
                samples=decode,
                predicted=point.low,
                predicted_high=point.high,
                ceiling=point.ceiling,
                bytes_per_token=point.bytes_per_token,
            ),
        )

    def learn(self, state: StateFile, *, busy: bool) -> None:
        """Keep the decode rate that was measured, for later predictions.

        ``busy``: something else ran meanwhile, so it counts only if it is faster than is known.
        """
        client, info, row = self.client, self._info, self.record.decode
        if client is not None and client.hello is not None and info is not None and row is not None:
            asked = self._asked(self._options)
            machine = machine_for(client.hello, self._bandwidth, asked)
            learn_decode(state, client.hello, asked, info, self._facts, machine, row, busy=busy)

    def _bench(self, test: Any, tokens: int, repeat: int) -> tuple[float, ...]:
        client = self._running()
        request = Bench(id=client.new_id(), test=test, depth=0, tokens=tokens, repeat=repeat)
        seconds = client.call(request, Benched).seconds
        return tuple(tokens / item for item in seconds if item > 0)

    def score(self, against: Against) -> None:
        """Measure quality on the text, with the model loaded for many rows of logits.

        Raises:
            EngineError: the engine refused or died.
        """
        settings = self._settings
        client = self._running()
        vocabulary = max(self._facts.vocab_size or 1, 1)
        rows = max(16, min(_OUTPUT_ROWS, _OUTPUT_BYTES // (4 * vocabulary)))
        self.phase("scoring", 0.0)
        client.load(
            self.record.path,
            msgspec.structs.replace(
                self._options, n_ctx=settings.chunk_tokens, outputs=rows, template=None
            ),
        )
        request = Score(
            id=client.new_id(),
            text=self._prepared.request.text,
            chunk_tokens=settings.chunk_tokens,
            chunks=max(1, settings.text_tokens // settings.chunk_tokens),
            write=against.write,
            against=against.against,
        )
        client.send(request)
        for message in client.messages(request.id):
            if isinstance(message, Progress):
                self.phase("scoring", message.fraction, message.done_tokens, message.total_tokens)
            elif isinstance(message, Failed):
                raise RequestFailed(message)
            elif isinstance(message, Scored):
                self._take_score(message, against)
        self.look("scored")

    def _take_score(self, scored: Scored, against: Against) -> None:
        self.scored = scored
        self.set(
            quality=quality_of(
                scored.nll,
                kl=scored.kl,
                same_top=scored.same_top,
                reference_nll=against.reference_nll if scored.comparable else (),
                chunk_tokens=scored.chunk_tokens,
                chunks=scored.chunks,
                text_bytes=scored.text_bytes,
                worst=scored.worst,
                seconds=scored.seconds,
            )
        )
        if not scored.comparable:
            self.note_quality(
                "its tokens are not the reference's, so only the perplexity is given, and that is "
                "of its own tokens."
            )

    def unload(self) -> None:
        """Free the model and look at the memory of what is left.

        Raises:
            EngineError: the engine died.
        """
        self.phase("unloading")
        client = self._running()
        client.call(Unload(id=client.new_id()), Unloaded)
        self.look("unloaded")

    def end(self) -> None:
        """End the engine, however it is, and look at what the computer has then."""
        client, self.client = self.client, None
        if client is not None:
            client.close()
        self.memory.append(MemoryStep(stage="ended", sample=host_sample(), variant=self.index))

    # --- its engine

    def look(self, stage: Stage) -> MemorySample:
        """Sample the engine's memory."""
        client = self._running()
        now = client.call(QueryMemory(id=client.new_id()), MemoryNow)
        host = host_memory()
        sample = memory_sample(now, (host.total_bytes, host.free_bytes), at_ms=now_ms())
        self.memory.append(MemoryStep(stage=stage, sample=sample, variant=self.index))
        if stage in {"loaded", "answered"} and now.private_bytes is not None:
            held = now.private_bytes + (now.mapped_bytes or 0)
            self.set(peak_bytes=max(held, self.record.peak_bytes or 0))
        return sample

    def _asked(self, options: LoadOptions) -> LoadOptions:
        client = self.client
        compatible = client is not None and client.compatibility
        return msgspec.structs.replace(options, compatibility=True) if compatible else options

    def _running(self) -> EngineClient:
        if self.client is None:
            raise EngineError("The engine is not running.")
        return self.client


def _engine_bytes(info: ModelInfo, weights_bytes: int) -> int | None:
    """Return the engine's buffers together, by its log.

    A mapped file counts as far as no other buffer holds a copy of its weights in another layout.
    """
    mapped = own = others = 0
    for item in info.buffers:
        if item.what != "weights":
            others += item.size_bytes
        elif "_Mapped" in item.device:
            mapped += item.size_bytes
        else:
            own += item.size_bytes
    return (min(mapped, max(weights_bytes - own, 0)) + own + others) or None


def _settings_of(info: ModelInfo) -> SettingsRecord:
    return SettingsRecord(n_ctx=info.n_ctx, threads=info.threads, threads_batch=info.threads_batch)
