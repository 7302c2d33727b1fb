"""What the panel plans with: the model's file, the engine's devices, the rate of main memory.

What is planned is planned again whenever something it rests on is known better.
"""

from __future__ import annotations

import msgspec
from PySide6.QtCore import QObject, Signal, Slot

from app.data.state import StateFile
from app.engine.protocol import Hello, LoadOptions, ModelInfo
from app.engine.qt_client import EngineProcess
from app.ui import tasks
from app.ui.presenters.bandwidth_probe import BandwidthProbe, outcome_words
from app.ui.presenters.live_plan import LivePlan
from gguf_tools.facts import ModelFacts, read_facts
from gguf_tools.header import HeaderError
from inspector.records import BandwidthRecord, TurnStats
from inspector.session import Session

__all__ = ["InspectorPlan"]


class InspectorPlan(QObject):
    """Keeps the plan of a session up to date, and has main memory measured for it.

    Signals:
        changed(): the session's plan is another one, or a measurement began or ended.
        bandwidth_known(): main memory was measured; other pages predict with it as well.
        told(str, Severity): what a measurement that the user asked for came to.
    """

    changed = Signal()
    bandwidth_known = Signal()
    told = Signal(str, str)

    def __init__(
        self,
        engine: EngineProcess,
        session: Session,
        state: StateFile,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._engine = engine
        self._session = session
        self.live = LivePlan(state)
        self._probe = BandwidthProbe(state, self)
        self._probe.known.connect(self._on_probed)
        self._probe.began.connect(self._on_probing)
        self._probe.ended.connect(self._on_probing)
        self._is_probe_asked = False  # by the user, who waits for an answer

    # --- planning ---

    def begin(self, path: str, options: LoadOptions) -> None:
        """A load was asked for: plan it, after its file was read in a thread if that is new."""
        if self.live.begin(path, options):
            self._session.planned(None)  # the model's before this one has nothing to say of it
            tasks.run(
                lambda: read_facts(path), lambda facts: self._on_facts(path, facts),
                self._on_unreadable, self,
            )  # fmt: skip
        else:
            self._plan()
        self.changed.emit()

    def loaded(self, model: ModelInfo) -> None:
        """Plan with what the engine made of the options."""
        self.live.loaded(model)
        self._plan()

    @Slot()
    def again(self) -> None:
        """Plan with better figures; the record of the load keeps the engine's numbers."""
        self._plan()
        load, plan = self._session.load, self._session.plan
        if load is not None and plan is not None:
            self._session.load = msgspec.structs.replace(load, plan=plan)
        self.changed.emit()

    def learn(self, hello: Hello, stats: TurnStats, *, busy: bool = False) -> None:
        """Keep the rates of a turn, and predict with them; ``busy``: other programs ran then."""
        if self.live.learn(hello, stats, busy=busy):
            self.again()

    def _on_facts(self, path: str, facts: ModelFacts) -> None:
        if path == self.live.path:
            self.live.facts = facts
            self._plan()
            self.changed.emit()

    def _on_unreadable(self, error: Exception) -> None:
        if not isinstance(error, HeaderError | OSError):
            raise error
        self._session.planned(None)
        self.changed.emit()

    def _plan(self) -> None:
        hello, facts = self._engine.state.hello, self.live.facts
        if hello is not None and facts is not None and facts.loadable:
            self._session.planned(self.live.plan(hello), self.live.asked)

    # --- main memory ---

    @property
    def is_probing(self) -> bool:
        """Tell whether main memory is being measured."""
        return self._probe.is_running

    def measure(self, hello: Hello, *, again: bool = False) -> None:
        """Probe main memory once for this computer, while the engine is idle.

        ``again``: the user wants it, whatever is known, and is told what came of it.
        """
        self._is_probe_asked = self._is_probe_asked or again
        facts = self.live.facts
        known = self.live.probe(hello)
        if facts is None or (known is not None and known.steady and not again):
            return
        size = facts.bytes_read_per_token or 0
        self._probe.measure(hello, self.live.threads, size, again=again)

    @Slot()
    @Slot(object)
    def _on_probing(self, record: BandwidthRecord | None = None) -> None:
        """A measurement began or ended; who asked for it is told what came of it."""
        self._session.measuring = self._probe.is_running
        if self._is_probe_asked and not self._probe.is_running:
            self._is_probe_asked = False
            self.told.emit(*outcome_words(record))
        self.changed.emit()

    @Slot()
    def _on_probed(self) -> None:
        self.again()
        self.bandwidth_known.emit()
