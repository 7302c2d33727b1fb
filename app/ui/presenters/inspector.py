"""The inspector in the window: it is told what happens, and the panel shows what follows.

What is planned is planned again whenever something it rests on is known better: the model's file,
the devices of the engine, the measured bandwidth of main memory.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
from PySide6.QtCore import QObject, QTimer, Signal, Slot

from app.data.load_records import LoadRecords, turn_records
from app.data.probe import busy_sentence
from app.data.records import Message
from app.data.state import StateFile
from app.engine.protocol import (
    Chunk,
    Done,
    EngineMessage,
    Hello,
    Loaded,
    LoadOptions,
    ModelInfo,
    Tuned,
)
from app.engine.qt_client import EngineProcess, EngineState
from app.engine.recording import load_record
from app.engine.threads import performance_cores
from app.paths import Paths
from app.settings import Settings
from app.ui import tasks
from app.ui.chat_controller import ChatController
from app.ui.main_window import MainWindow
from app.ui.presenters.bandwidth_probe import BandwidthProbe, outcome_words
from app.ui.presenters.engine import EnginePresenter
from app.ui.presenters.fixes import FixPresenter
from app.ui.presenters.live_plan import LivePlan
from app.ui.presenters.memory_watch import MemoryWatch, freed_bytes
from app.ui.presenters.replay import Replay
from app.ui.presenters.status import plan_bandwidth
from app.ui.presenters.turn_events import follow_turn
from app.ui.theme import ThemeManager
from gguf_tools.facts import ModelFacts, read_facts
from gguf_tools.header import HeaderError
from inspector.panel import panel_view
from inspector.records import BandwidthRecord, MemorySample, TurnRecord
from inspector.session import Session
from inspector.views import PanelView

__all__ = ["InspectorPresenter"]

_REDRAW_MS = 150
_SAMPLE_MS = 1000
_WATCH_S = 20.0
_WATCHING_S = 0.3


def _now_ms() -> int:
    return int(time.time() * 1000)


class InspectorPresenter(QObject):
    """Drives a `Session` and hands its view to the panel, which is made after the window stands.

    Signals:
        explains_wanted(bool): the panel's menu has switched its lessons; a setting, to be kept.
        bandwidth_known(): main memory was measured; other pages predict with it as well.
    """

    explains_wanted = Signal(bool)
    bandwidth_known = Signal()

    def __init__(
        self,
        engine: EngineProcess,
        controller: ChatController,
        models: EnginePresenter,
        settings: Settings,
        state: StateFile,
        paths: Paths,
        window: MainWindow,
        themes: ThemeManager,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._engine = engine
        self._controller = controller
        self._models = models
        self._settings = settings
        self._state = state
        self._window = window
        self._themes = themes
        self._loads = LoadRecords(paths.load_records)
        self._panel: Any = None
        self._view: PanelView | None = None
        self._planner = LivePlan(state)
        self._probe = BandwidthProbe(state, self)
        self._probe.known.connect(self._on_probed)
        self._probe.began.connect(self._on_probing)
        self._probe.ended.connect(self._on_probing)
        self._is_probe_asked = False  # by the user, who waits for an answer
        self._before: MemorySample | None = None
        self._status = "stopped"
        self._watched_s = -_WATCH_S
        self._path: tuple[Message, ...] = ()  # what `_turns` were made of
        self._turns: tuple[TurnRecord, ...] = ()
        self._chat: str | None = None
        self._cached_chat: str | None = None  # whose tokens lie in the cache
        self._may_replay = False
        self.session = Session()
        self._memory = MemoryWatch(engine, lambda: self.session.load, self)
        self._memory.arrived.connect(self._on_memory)
        self.replay = Replay(window, self)
        self.replay.changed.connect(self._on_replay)
        self.fixes = FixPresenter(models, settings, window, self)
        self.fixes.probe_wanted.connect(self._probe_again)
        self.session.cores = performance_cores()
        self._redraw: tasks.Throttle[[]] = tasks.Throttle(_REDRAW_MS, self._show, self)
        self._timer = QTimer(self)
        self._timer.setInterval(_SAMPLE_MS)
        self._timer.timeout.connect(self._ask_memory)
        engine.state_changed.connect(self._on_state)
        engine.message.connect(self._on_message)
        models.loading.connect(self._on_loading)
        # Told twice of each change; followed once, when the chat itself has been laid out.
        self._follow = QTimer(self)
        self._follow.setSingleShot(True)
        self._follow.setInterval(0)
        self._follow.timeout.connect(self._on_conversation)
        controller.conversation_changed.connect(self._follow.start)
        controller.views_changed.connect(self._follow.start)
        # What was told before there was somebody to hear it.
        self._on_state(engine.state)
        if controller.conversation is not None:
            self._on_conversation()

    def build(self) -> None:
        """Make the panel; called once the window stands, since its plots are slow to import."""
        from inspector.widgets.panel import InspectorPanel

        panel = InspectorPanel(self._themes)
        panel.fix_requested.connect(self._on_fix)
        panel.metadata_requested.connect(panel.show_metadata)
        panel.folded_changed.connect(self._keep_folded)
        panel.live_requested.connect(self.replay.back)
        panel.explains_changed.connect(self.explains_wanted)
        panel.set_explains(self._settings.get("explain_panel"))
        folded = self._state.blob("folded")
        if folded:
            panel.set_folded(folded.decode("utf-8", "replace").split(","))
        self._panel = panel
        self._window.set_inspector(panel)
        self._show()

    @Slot(str)
    def apply_setting(self, key: str) -> None:
        """Follow a setting that was changed elsewhere."""
        if key == "explain_panel" and self._panel is not None:
            self._panel.set_explains(self._settings.get(key))

    @Slot(object)
    def _keep_folded(self, keys: tuple[str, ...]) -> None:
        self._state.set_blob("folded", ",".join(keys).encode())

    def freed_bytes(self) -> dict[str, int]:
        """Return what unloading the model would give back, by memory pool; by the plan."""
        return freed_bytes(None if self._engine.state.model is None else self.session.plan)

    def _show(self) -> None:
        if self._panel is not None:
            self._view = panel_view(self.replay.session or self.session, self._view)
            self._panel.set_view(self._view)

    # --- planning ---

    @Slot(str, object)
    def _on_loading(self, path: str, options: LoadOptions) -> None:
        self.replay.back()
        self._before = self._memory.sample()
        self.session.loading(self._before)
        if self._planner.begin(path, options):
            tasks.run(
                lambda: read_facts(path), lambda facts: self._on_facts(path, facts),
                self._on_unreadable, self,
            )  # fmt: skip
        else:
            self._plan()
        self._redraw.call()

    def _on_facts(self, path: str, facts: ModelFacts) -> None:
        if path == self._planner.path:
            self._planner.facts = facts
            self._plan()
            self._redraw.call()

    def _on_unreadable(self, error: Exception) -> None:
        if not isinstance(error, HeaderError | OSError):
            raise error
        self.session.planned(None)
        self._redraw.call()

    def _plan(self) -> None:
        hello, facts = self._engine.state.hello, self._planner.facts
        if hello is not None and facts is not None and facts.loadable:
            self.session.planned(self._planner.plan(hello), self._planner.asked)
            self._models.show_bandwidth(plan_bandwidth(self.session.plan))

    def _measure_bandwidth(self, hello: Hello, *, again: bool = False) -> None:
        """Probe main memory once for this computer, while the engine is idle.

        ``again``: the user wants it, whatever is known.
        """
        facts = self._planner.facts
        known = self._planner.probe(hello)
        if facts is None or (known is not None and known.steady and not again):
            return
        size = facts.bytes_read_per_token or 0
        self._probe.measure(hello, self._planner.threads, size, again=again)

    @property
    def probing(self) -> bool:
        """Tell whether main memory is being measured."""
        return self._probe.is_running

    @Slot()
    @Slot(object)
    def _on_probing(self, record: BandwidthRecord | None = None) -> None:
        """A measurement began or ended; who asked for it is told what came of it."""
        self.session.measuring = self._probe.is_running
        if self._is_probe_asked and not self._probe.is_running:
            self._is_probe_asked = False
            self.fixes.tell(*outcome_words(record))
        self._redraw.call()

    @Slot()
    def _on_probed(self) -> None:
        self.plan_again()
        self.bandwidth_known.emit()

    @Slot()
    def plan_again(self) -> None:
        """Plan with better figures; the record of the load keeps the engine's numbers."""
        self._plan()
        load, plan = self.session.load, self.session.plan
        if load is not None and plan is not None:
            self.session.load = msgspec.structs.replace(load, plan=plan)
        self._redraw.call()

    # --- what the engine tells ---

    @Slot(object)
    def _on_state(self, state: EngineState) -> None:
        before, self._status = self._status, state.status
        if state.status == "lost" and before != "lost":
            # Settings help neither a model whose file is gone nor against who ends the engine.
            there = state.path is None or Path(state.path).is_file()
            can_mend = there and not state.from_outside
            self.session.engine_lost(state.sentence, state.detail, can_mend=can_mend)
        elif state.status in {"idle", "starting"} and before not in {"idle", "starting"}:
            self.session.unloaded()
        if state.model is not None and not self._timer.isActive():
            self._timer.start()
        elif state.model is None:
            self._timer.stop()
        self._redraw.call()

    @Slot(object)
    def _on_message(self, message: EngineMessage) -> None:
        if isinstance(message, Loaded | Tuned):
            self._on_loaded(message.model)
        elif self._concerns_the_screen(message):
            self._follow_turn(message)
        else:
            return
        self._redraw.call()

    def _concerns_the_screen(self, message: EngineMessage) -> bool:
        here = self._controller.conversation
        chat = getattr(message, "conversation", None)
        if chat is not None:
            return here is not None and here.id == chat
        return self._controller.answering_here

    def _follow_turn(self, message: EngineMessage) -> None:
        if isinstance(message, Chunk) and message.reply == 0:
            self._watch_others()
        follow_turn(self.session, message, _now_ms())
        if isinstance(message, Done):
            self._cached_chat = message.conversation
            hello = self._engine.state.hello
            # A rate that another program disturbed says nothing about this computer.
            if hello is None or self.session.busy:
                return
            if self._planner.learn(hello, message.stats):
                self.plan_again()

    @Slot(object)
    def show_use(self, tokens: int | None) -> None:
        """Take what the chat on screen takes of the window, as the gauge has it."""
        self.session.chat(tokens)
        self._redraw.call()

    @Slot(object, object)
    def show_draft(self, new_tokens: int | None, reused_tokens: int | None) -> None:
        """Tell when the draft's first token would come.

        Where the prompt was only counted, what is reused is the chat that was answered last.
        """
        session = self.session
        if new_tokens is not None and reused_tokens is None:
            used = session.used_tokens
            reused_tokens = used if self._cached_chat == self._chat else 0
            new_tokens += used - reused_tokens
        session.draft(new_tokens, reused_tokens)
        self._redraw.call()

    def _watch_others(self) -> None:
        """Look once in a while, in a thread, whether other programs use the processors."""
        now, pid = time.monotonic(), self._engine.state.pid
        if now < self._watched_s + _WATCH_S or pid is None:
            return
        self._watched_s = now

        def done(sentence: str) -> None:
            self.session.busy = sentence

        tasks.run(lambda: busy_sentence([pid], _WATCHING_S), done, None, self)

    def _on_loaded(self, model: ModelInfo) -> None:
        """Take what was loaded, or runs another way now; either way the cache is empty."""
        hello = self._engine.state.hello
        if hello is None:
            return
        self._cached_chat = None
        self.session.tuned = self._models.is_tuned
        self._planner.loaded(model)
        self._plan()
        record = load_record(
            model,
            hello,
            self._planner.options,
            plan=self.session.plan,
            before=self._before,
            after=self._memory.sample(),
            at_ms=_now_ms(),
        )
        self.session.loaded(record)
        self._controller.runner.load_id = self._loads.keep(record)
        self._ask_memory()
        self._measure_bandwidth(hello)

    # --- memory ---

    @Slot()
    def _ask_memory(self) -> None:
        visible = self._panel is not None and self._panel.isVisible()
        if visible and self._engine.state.hello is not None:
            drivers = self._memory.drivers
            self._memory.ask()
            self.session.gpus = drivers.names
            self.session.busy = self.session.busy or drivers.crowded

    @Slot(object)
    def _on_memory(self, sample: MemorySample) -> None:
        self.session.memory(sample)
        self._redraw.call()

    # --- the chat on screen, and fixes ---

    @Slot()
    def _on_conversation(self) -> None:
        path = self._controller.path
        if path is not self._path:
            self._path = path
            self._turns = tuple(turn_records(path, self._loads))
        turns = self._turns
        if self.session.live is None:
            self.session.conversation(turns)
            self._redraw.call()
        self._replay_of(turns)

    def _replay_of(self, turns: Sequence[TurnRecord]) -> None:
        """Leave a record that is not of this chat; show the last one where no model is loaded."""
        chat = self._controller.conversation
        key = None if chat is None else chat.id
        if key != self._chat:
            self._chat = key
            self._may_replay = self._is_idle
            self.replay.back()
        # Once a chat, so that going back to what is live is not undone by its next change.
        if self._may_replay and self._is_idle and self.replay.show_last(turns):
            self._may_replay = False

    @property
    def _is_idle(self) -> bool:
        return self._engine.state.model is None and self._engine.state.status != "loading"

    def show_turn(self, message_id: str) -> None:
        """Show a recorded turn of the chat on screen; the panel comes on screen with it."""
        turns = turn_records(self._controller.path, self._loads)
        if self.replay.show_turn(turns, message_id):
            self._window.show_inspector()

    @Slot()
    def _on_replay(self) -> None:
        self._redraw.call()

    @Slot(str, str)
    def _on_fix(self, _finding: str, fix: str) -> None:
        self.fixes.take(fix, () if self._view is None else self._view.findings)

    @Slot()
    def _probe_again(self) -> None:
        hello = self._engine.state.hello
        if hello is not None and self._engine.state.status in {"idle", "ready"}:
            self._is_probe_asked = True
            self._measure_bandwidth(hello, again=True)
        else:
            self.fixes.tell(self.tr("Memory is measured once the engine is done."), "info")
