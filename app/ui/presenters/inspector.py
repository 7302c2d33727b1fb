"""The inspector in the window: it is told what happens, and the panel shows what follows.

`InspectorPlan` plans, `InspectorTurns` follows the chat, `MemoryWatch` asks for memory; all three
work on one session, of which the panel gets a view.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from app.data.load_records import LoadRecords
from app.data.state import StateFile
from app.engine.protocol import EngineMessage, Loaded, LoadOptions, ModelInfo, Tuned
from app.engine.qt_client import EngineProcess, EngineState
from app.engine.recording import load_record
from app.engine.threads import performance_cores
from app.paths import Paths
from app.settings import Settings
from app.ui import tasks
from app.ui.chat_controller import ChatController
from app.ui.main_window import MainWindow
from app.ui.presenters.engine import EnginePresenter
from app.ui.presenters.engine_notices import LOSS_NOTICE
from app.ui.presenters.fixes import FixPresenter
from app.ui.presenters.inspector_plan import InspectorPlan
from app.ui.presenters.inspector_turns import InspectorTurns
from app.ui.presenters.memory_watch import MemoryWatch, freed_bytes
from app.ui.presenters.replay import Replay
from app.ui.presenters.status import plan_bandwidth
from app.ui.theme import ThemeManager
from inspector.panel import panel_view
from inspector.records import MemorySample
from inspector.session import Session
from inspector.views import PanelView

__all__ = ["InspectorPresenter"]

_REDRAW_MS = 150
_SAMPLE_MS = 1000


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
        self._before: MemorySample | None = None
        self._status = "stopped"
        self.session = Session()
        self.session.cores = performance_cores()
        self._redraw: tasks.Throttle[[]] = tasks.Throttle(_REDRAW_MS, self._show, self)
        self._memory = MemoryWatch(engine, lambda: self.session.load, self)
        self._memory.arrived.connect(self._on_memory)
        self.replay = Replay(window, self)
        self.replay.changed.connect(self._on_changed)
        self.fixes = FixPresenter(models, settings, window, self)
        self.fixes.probe_wanted.connect(self._probe_again)
        self.plan = InspectorPlan(engine, self.session, state, self)
        self.plan.changed.connect(self._on_plan)
        self.plan.bandwidth_known.connect(self.bandwidth_known)
        self.plan.told.connect(self.fixes.tell)
        self._turns = InspectorTurns(
            engine, controller, self.session, self.plan, self._loads, self.replay, self
        )
        self._turns.changed.connect(self._on_changed)
        controller.runner.judge = self.session.judged_now
        self._timer = QTimer(self)
        self._timer.setInterval(_SAMPLE_MS)
        self._timer.timeout.connect(self._ask_memory)
        engine.state_changed.connect(self._on_state)
        engine.message.connect(self._on_message)
        models.loading.connect(self._on_loading)
        window.chat.notices.shown_changed.connect(self._see_notices)
        # What was told before there was somebody to hear it.
        self._on_state(engine.state)
        if controller.conversation is not None:
            self._turns.look()

    # --- the panel ---

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

    def _show(self) -> None:
        if self._panel is not None:
            self._view = panel_view(self.replay.session or self.session, self._view)
            self._panel.set_view(self._view)

    @Slot()
    def _on_changed(self) -> None:
        self._redraw.call()

    def show_turn(self, message_id: str) -> None:
        """Show a recorded turn of the chat on screen; the panel comes on screen with it."""
        if self._turns.show_turn(message_id):
            self._window.show_inspector()

    @Slot(str, str)
    def _on_fix(self, _finding: str, fix: str) -> None:
        self.fixes.take(fix, () if self._view is None else self._view.findings)

    # --- what others ask and tell ---

    @property
    def probing(self) -> bool:
        """Tell whether main memory is being measured."""
        return self.plan.is_probing

    def freed_bytes(self) -> dict[str, int]:
        """Return what unloading the model would give back, by memory pool; by the plan."""
        return freed_bytes(None if self._engine.state.model is None else self.session.plan)

    @Slot()
    def plan_again(self) -> None:
        """Plan with better figures that another page has measured."""
        self.plan.again()

    @Slot(object, object)
    def show_use(self, tokens: int | None, cached_tokens: int | None) -> None:
        """Take what the chat on screen takes of the window and the cache, as the gauge has it."""
        self.session.chat(tokens, cached_tokens)
        self._redraw.call()

    @Slot(object, object)
    def show_draft(self, new_tokens: int | None, reused_tokens: int | None) -> None:
        """Tell when the draft's first token would come."""
        self._turns.show_draft(new_tokens, reused_tokens)

    # --- loads ---

    @Slot(str, object)
    def _on_loading(self, path: str, options: LoadOptions) -> None:
        self.replay.back()
        self._before = self._memory.sample()
        self.session.loading(self._before)
        self.plan.begin(path, options)

    @Slot()
    def _on_plan(self) -> None:
        self._models.show_bandwidth(plan_bandwidth(self.session.plan))
        self._redraw.call()

    @Slot()
    def _probe_again(self) -> None:
        hello = self._engine.state.hello
        if hello is not None and self._engine.state.status in {"idle", "ready"}:
            self.plan.measure(hello, again=True)
        else:
            self.fixes.tell(self.tr("Memory is measured once the engine is done."), "info")

    # --- what the engine tells ---

    @Slot(object)
    def _on_state(self, state: EngineState) -> None:
        before, self._status = self._status, state.status
        if state.status == "lost" and before != "lost":
            # Settings help neither a model whose file is gone nor against who ends the engine.
            there = state.path is None or Path(state.path).is_file()
            can_mend = there and not state.from_outside
            self.session.engine_lost(state.sentence, state.detail, can_mend=can_mend)
            self._see_notices()
        elif state.status in {"idle", "starting"} and before not in {"idle", "starting"}:
            self.session.unloaded()
        if state.model is not None and not self._timer.isActive():
            self._timer.start()
        elif state.model is None:
            self._timer.stop()
        self._redraw.call()

    @Slot()
    def _see_notices(self) -> None:
        """Why the engine ended is said once: by the notice in the chat while it is there."""
        is_told = LOSS_NOTICE in self._window.chat.notices.notices()
        if is_told != self.session.loss_is_told:
            self.session.loss_is_told = is_told
            self._redraw.call()

    @Slot(object)
    def _on_message(self, message: EngineMessage) -> None:
        if isinstance(message, Loaded | Tuned):
            self._on_loaded(message.model)
        else:
            self._turns.take(message)

    def _on_loaded(self, model: ModelInfo) -> None:
        """Take what was loaded, or runs another way now; either way the cache is empty."""
        hello = self._engine.state.hello
        if hello is None:
            return
        self._turns.cache_emptied()
        self.session.tuned = self._models.is_tuned
        self.plan.loaded(model)
        record = load_record(
            model,
            hello,
            self.plan.live.options,
            plan=self.session.plan,
            before=self._before,
            after=self._memory.sample(),
            at_ms=int(time.time() * 1000),
        )
        self.session.loaded(record)
        self._controller.runner.load_id = self._loads.keep(record)
        self._memory.ask()  # whoever looks: the first answer completes the record
        self.plan.measure(hello)
        self._on_plan()

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
