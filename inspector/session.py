"""The live state behind the panel: plan before loading, the engine's numbers after, each turn.

A `Session` is told what happens and holds it; it computes nothing that is shown and asks nobody.
`inspector.panel.panel_view` turns it into what the widgets draw. One thread drives it.

How to drive it, in the order of a program's life (bytes, tokens, seconds; times since 1970 in
milliseconds):

1. A model is chosen, a load setting moves: ``session.planned(make_plan(facts, load_settings(values,
   facts), machine))``. Any settings that can't be planned: ``session.planned(None)``.
2. Before the load request: ``session.loading(sample)`` with a `MemorySample` taken just before.
3. ``Loaded``: ``session.loaded(record)``, where ``record`` is `app.engine.recording.load_record`
   of the message, with a sample taken just after. Keep it (`LoadRecords.keep`), and give its
   ``id`` to the statistics of the turns.
4. Every second, and at the end of a prefill: ``session.memory(sample)``.
5. A chat is opened, or another branch of it: ``session.conversation(turns)`` with the `TurnRecord`
   of every reply that has statistics, oldest first. After an edit: the same. What the engine counts
   of all of it, and of that in the cache: ``session.chat(tokens, cached_tokens)``.
6. ``Started``: ``session.turn_started(prompt_tokens=…, reused_tokens=…, new_tokens=…)``;
   ``Progress`` of a prefill: ``session.read(done_tokens)``; ``Chunk``: ``session.tokens(reply
   tokens, rate)``, of another reply at once ``session.branch(number, tokens)``, when no
   token has come for some seconds ``session.held_up()``; ``Done``:
   ``session.turn_finished(TurnRecord(…))``; ``Failed`` in a turn: ``session.turn_ended()``. Of a
   chat that is not on screen just the same, with ``session.turn_is_elsewhere`` set.
7. ``Measured`` of the draft: ``session.draft(new_tokens, reused_tokens)`` (the prompt's less the
   reusable ones, and those); ``session.draft(None)`` when there is no draft.
8. ``session.engine_lost(sentence, detail)`` or ``session.unloaded()``.

A recorded turn is opened with `replayed`, which returns a session of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from statistics import median
from typing import Literal, TypeAlias

import msgspec

from gguf_tools.plan import Plan
from inspector.causes import is_slow, slow_causes
from inspector.judged import Judged, as_judged, judged_by
from inspector.live_turn import LiveTurn
from inspector.plan_record import PlanRecord, SettingsRecord
from inspector.planned import plan_record
from inspector.records import LoadRecord, MemorySample, TurnRecord, TurnStats

__all__ = ["LiveTurn", "Session", "State", "replayed", "spread"]

State: TypeAlias = Literal[
    "empty", "planned", "loading", "ready", "reading", "writing", "lost", "replay"
]
_LEAST_PREFILL_TOKENS = 16  # of fewer, a rate says more about fixed costs than about the machine


def spread(turns: Sequence[TurnRecord], most: int) -> Sequence[TurnRecord]:
    """Return about ``most`` of the turns at most, evenly chosen, the newest among them."""
    step = -(-len(turns) // most)
    return turns if step <= 1 else turns[::-step][::-1]


class Session:
    """See the module's docstring."""

    def __init__(self) -> None:
        self._state: State = "empty"
        self.plan: PlanRecord | None = None
        self.planner: Plan | None = None
        self.load: LoadRecord | None = None
        self.before: MemorySample | None = None
        self.sample: MemorySample | None = None
        self.peak_bytes: int | None = None
        self.turns: tuple[TurnRecord, ...] = ()
        self._comparable: tuple[tuple[TurnRecord, ...], str, tuple[TurnRecord, ...]] = ((), "", ())
        self._alone: TurnRecord | None = None  # the latest; it may stand in another version
        self.turn: LiveTurn | None = None  # that is running, of whichever chat
        self.turn_is_elsewhere = False  # of a chat that is not on screen
        self.chat_tokens: int | None = None  # of the chat on screen by this model, if counted
        self.chat_cached_tokens: int | None = None  # of these in the cache, if not all
        self.draft_tokens: int | None = None
        self.draft_reused_tokens: int | None = None
        self.loss: tuple[str, str] | None = None
        self.cores: int | None = None  # physical performance cores that the engine may use
        # Threads and attention were measured here and are the fastest: no advice against them.
        self.tuned = False
        self.loss_can_mend = True
        self.loss_is_told = False  # beside the panel: why it ended is not to be said twice
        self.measuring = False  # main memory's bandwidth is being measured
        self.busy: str = ""  # what else uses the processors, as a sentence
        self.gpus: tuple[str, ...] = ()  # accelerators that the system has, whatever the engine

    # --- loading ----------------------------------------------------------------------------

    def planned(self, plan: Plan | None, settings: SettingsRecord | None = None) -> None:
        """Take a new plan; ``settings`` adds what a plan doesn't know (threads)."""
        self.planner = plan
        self.plan = None if plan is None else plan_record(plan, settings)
        if self.state in {"empty", "planned", "lost"}:
            self._state = "empty" if plan is None else "planned"
            self.load = None
            self.loss = None

    def loading(self, before: MemorySample | None) -> None:
        """A load begins; ``before`` is what memory looked like."""
        self._state = "loading"
        self.load = None
        self.loss = None
        self.turn = None
        self.chat_tokens = self.chat_cached_tokens = None
        self.peak_bytes = None
        self.before = before
        self.sample = before or self.sample

    def loaded(self, record: LoadRecord) -> None:
        """Take what the engine loaded, with the memory before and after."""
        self.load = record
        self._state = "ready"
        self.loss = None
        if record.after is not None:
            self.memory(record.after)

    def unloaded(self) -> None:
        """The model was freed; the plan stays."""
        self._state = "empty" if self.plan is None else "planned"
        self.load = None
        self.turn = None
        self.chat_tokens = self.chat_cached_tokens = None
        self.peak_bytes = None

    def engine_lost(self, sentence: str, detail: str = "", *, can_mend: bool = True) -> None:
        """The engine's process ended; what it held is free again.

        ``can_mend`` tells that another load of the model may fare better with other settings.
        """
        self.loss_can_mend = can_mend
        self.loss = (sentence, detail)
        self.turn = None
        self._state = "lost"

    # --- memory -----------------------------------------------------------------------------

    def memory(self, sample: MemorySample) -> None:
        """Take a sample of the devices' and the engine's memory.

        The first one with the engine's own memory completes the record of the load.
        """
        self.sample = sample
        load = self.load
        if load is not None and self.turn is None and sample.private_bytes is not None:
            after = load.after
            if after is None or after.private_bytes is None:
                self.load = msgspec.structs.replace(load, after=sample)
        if sample.private_bytes is not None and self.load is not None and self.loss is None:
            self.peak_bytes = max(self.peak_bytes or 0, sample.private_bytes)

    # --- conversation -----------------------------------------------------------------------

    def conversation(self, turns: Sequence[TurnRecord]) -> None:
        """Show another conversation or branch: its turns, oldest first."""
        self.turns = tuple(turns)
        self.draft_tokens = None

    def chat(self, tokens: int | None, cached_tokens: int | None = None) -> None:
        """The chat on screen was counted by the model that is loaded; None: not yet.

        Turns alone don't tell it: an interrupted reply has no statistics, another model's tokens
        are not this one's, and another chat's turn takes the cache: ``cached_tokens`` lie there
        still, None is all of them or not known.
        """
        self.chat_tokens = tokens
        self.chat_cached_tokens = cached_tokens

    def draft(self, new_tokens: int | None, reused_tokens: int | None = None) -> None:
        """The draft would have so many tokens evaluated, None without a draft."""
        self.draft_tokens = new_tokens
        self.draft_reused_tokens = reused_tokens

    def turn_started(
        self,
        *,
        prompt_tokens: int,
        reused_tokens: int,
        new_tokens: int,
        reuse_note: str | None = None,
    ) -> None:
        """A prompt is being read."""
        self._state = "ready"
        if not self.turn_is_elsewhere:
            self.chat_tokens = self.chat_cached_tokens = None
            self.draft_tokens = None
            self.peak_bytes = None
        self.turn = LiveTurn(
            prompt_tokens=prompt_tokens,
            reused_tokens=reused_tokens,
            new_tokens=new_tokens,
            reuse_note=reuse_note,
        )

    def read(self, done_tokens: int) -> None:
        """So many new tokens of the prompt are evaluated."""
        if self.turn is not None:
            self.turn = replace(self.turn, read_tokens=done_tokens)

    def tokens(self, reply_tokens: int, decode_per_s: float | None = None) -> None:
        """The reply has so many tokens by now."""
        if self.turn is not None:
            self.turn = self.turn.written(reply_tokens, decode_per_s)

    def held_up(self) -> None:
        """No token has come for some seconds: the rate so far is not that of now."""
        if self.turn is not None:
            self.turn = replace(self.turn, is_held_up=True)

    def branch(self, number: int, reply_tokens: int | None) -> None:
        """Another reply of the turn has so many tokens; None: it has ended and left the cache."""
        if self.turn is not None:
            self.turn = self.turn.beside(number, reply_tokens)

    def turn_finished(self, turn: TurnRecord) -> None:
        """A reply of the chat on screen ended with its statistics."""
        stats = msgspec.structs.replace(turn.stats, judged=self.judged_now(turn.stats))
        turn = msgspec.structs.replace(turn, stats=stats)
        self.turns = (*self.turns, turn)
        if turn.stats.is_alone:
            self._alone = turn
        self.chat_tokens = self.chat_cached_tokens = None
        self.turn_ended()

    def turn_ended(self) -> None:
        """A turn ended without statistics, or in a chat that is not on screen."""
        self.turn = None

    # --- what follows -----------------------------------------------------------------------

    @property
    def live(self) -> LiveTurn | None:
        """The turn of the chat on screen that is running."""
        return None if self.turn_is_elsewhere else self.turn

    @property
    def state(self) -> State:
        """What the engine does for the chat on screen."""
        live = self.live
        if live is None:
            return self._state
        return "writing" if live.reply_tokens else "reading"

    @property
    def settings(self) -> SettingsRecord | None:
        """The settings in force: the engine's, else the plan's."""
        if self.load is not None:
            return self.load.settings
        return None if self.plan is None else self.plan.settings

    @property
    def used_tokens(self) -> int:
        """Tokens that the chat takes in the window, those of every reply being written."""
        live = self.live
        if live is not None:
            others = sum(live.branch_tokens.values())
            used = live.reused_tokens + live.read_tokens + live.reply_tokens + others
            # The last token that is drawn finds no place in a full window.
            return used if self.settings is None else min(used, self.settings.n_ctx or used)
        if self.chat_tokens is not None:
            return self.chat_tokens
        return self.turns[-1].stats.context_used_tokens if self.turns else 0

    @property
    def is_uncounted(self) -> bool:
        """Whether nobody can say what the chat on screen takes: another one is being answered."""
        elsewhere = self.turn is not None and self.turn_is_elsewhere
        return elsewhere and self.chat_tokens is None and not self.turns

    @property
    def has_evaluated(self) -> bool:
        """Whether the engine that is loaded holds what the conversation takes, all of it.

        It does after a turn of its own, unless that was stopped before all of the prompt was read,
        or the chat has more by now, such as an edited reply, or another chat took its place.
        """
        if self.live is not None or self.state == "replay":
            return True
        if not self.has_begun or self.chat_cached_tokens is not None:
            return False
        stats = self.turns[-1].stats
        return stats.has_read_all and self.used_tokens <= stats.context_used_tokens

    @property
    def has_begun(self) -> bool:
        """Whether the engine that is loaded holds some of it, from its last turn."""
        last = self.turns[-1] if self.turns else None
        if last is None or last.load is None or self.load is None:
            return False
        return last.load.at_ms == self.load.at_ms and self.chat_cached_tokens != 0

    @property
    def comparable(self) -> tuple[TurnRecord, ...]:
        """The turns that this model answered: another one's rates say nothing about this plan."""
        own = "" if self.load is None else self.load.identity.fingerprint
        turns, of, found = self._comparable
        if turns is not self.turns or of != own:  # asked for often, of thousands of turns
            found = tuple(
                turn
                for turn in self.turns
                if turn.load is None
                or not own
                or not turn.load.identity.fingerprint
                or turn.load.identity.fingerprint == own
            )
            self._comparable = (self.turns, own, found)
        return found

    @property
    def comparable_alone(self) -> tuple[TurnRecord, ...]:
        """Those, and the latest that was written alone: several replace it in the branch shown."""
        own = "" if self.load is None else self.load.identity.fingerprint
        found, alone = self.comparable, self._alone
        if alone is None or alone.load is None or alone.load.identity.fingerprint != own:
            return found
        return (*found, alone)

    @property
    def last(self) -> TurnRecord | None:
        """The turn of this model that ended last."""
        turns = self.comparable
        return turns[-1] if turns else None

    @property
    def judging_plan(self) -> PlanRecord | None:
        """The plan that the last turn is held against: the one in force when it ended.

        A bandwidth that is measured later counts for later turns. Where nothing was known of it
        then, what is known now has to do.
        """
        last, now = self.last, self.plan
        judged = None if last is None else last.stats.judged
        if last is None or judged is None or now is None:
            return now
        of_load = None if last.load is None else last.load.plan
        plan = of_load or now
        return as_judged(plan, judged) if plan.model == now.model else now

    def judged_now(self, stats: TurnStats) -> Judged | None:
        """Return what a turn that ends now is held against; it is kept with the turn."""
        begin, end = stats.prompt_tokens, stats.prompt_tokens + stats.reply_tokens
        judged = judged_by(self.plan, (begin, stats.mean_depth_tokens, end))
        if judged is None or self.plan is None:
            return None
        causes = slow_causes(self, self.plan, stats) if is_slow(self.plan, stats) else ()
        return msgspec.structs.replace(judged, causes=tuple(causes))

    @property
    def prefill_per_s(self) -> float | None:
        """The rate at which prompts were read lately, else the planned one."""
        measured = [
            turn.stats.prefill_per_s
            for turn in self.comparable[-5:]
            if turn.stats.evaluated_tokens >= _LEAST_PREFILL_TOKENS and turn.stats.prefill_per_s
        ]
        if measured:
            return median(measured)
        return None if self.plan is None else self.plan.prefill_per_s

    @property
    def first_token_s(self) -> float | None:
        """The time to the first token of the draft, None without a draft or a rate."""
        rate = self.prefill_per_s
        if self.draft_tokens is None or not rate:
            return None
        return self.draft_tokens / rate


def replayed(
    load: LoadRecord, turns: Sequence[TurnRecord], sample: MemorySample | None = None
) -> Session:
    """Return a session as it stood after the last of ``turns``, from records alone."""
    session = Session()
    session.plan = load.plan
    session.load = load
    session.before = load.before
    session.sample = sample or load.after
    session.turns = tuple(turns)
    if turns:
        session.peak_bytes = turns[-1].stats.peak_bytes
    session._state = "replay"
    return session
