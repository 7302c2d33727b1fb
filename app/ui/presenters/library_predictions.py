"""What the Models page predicts: rounds of planning, what they rest on, and measuring it anew."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from PySide6.QtCore import QObject, Signal, Slot

from app.data.bandwidths import disturbed_probes
from app.data.library.entries import ModelEntry
from app.data.library.fit import VariantFit
from app.data.state import StateFile
from app.engine.bandwidth import LARGE_BYTES
from app.engine.protocol import Hello
from app.engine.qt_client import EngineProcess
from app.engine.threads import clamp_threads
from app.machine import bandwidth_for
from app.settings import Settings
from app.ui import tasks
from app.ui.models.page import ModelsPage
from app.ui.models.views import FitView
from app.ui.presenters.bandwidth_probe import outcome_words
from app.ui.presenters.library_basis import basis_line
from app.ui.presenters.library_plans import LibraryPlanner, PlanRequest
from app.ui.presenters.library_views import fit_view
from gguf_tools.machine import MEASURED_BUSY, OF_LARGER, Machine
from inspector.records import BandwidthRecord

__all__ = ["LibraryPredictions"]

_STALE_S = 30.0
_QUIET = frozenset({"idle", "ready"})


class LibraryPredictions(QObject):
    """Plans what is listed while somebody looks, and says on the page what that rests on.

    Signals:
        told(str sentence, str severity): what came of measuring.
        bandwidth_known(): main memory was measured; others predict with it as well.
    """

    told = Signal(str, str)
    bandwidth_known = Signal()

    def __init__(
        self,
        page: ModelsPage,
        entries: Callable[[], Sequence[ModelEntry]],
        settings: Settings,
        state: StateFile,
        engine: EngineProcess,
        freed_bytes: Callable[[], dict[str, int]],
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._page = page
        self._entries = entries
        self._settings = settings
        self._state = state
        self._engine = engine
        self._freed_bytes = freed_bytes
        self._planner = LibraryPlanner(state, self)
        self.fits: dict[str, FitView] = {}
        self._notes: dict[str, str] = {}  # what is special about the bandwidth, by path
        self._planned: dict[str, str] = {}  # stamps of what was planned, by path
        self._asked: dict[str, str] = {}
        self._planned_at = 0.0
        self._machine: Machine | None = None
        self._fastest_bytes_per_s = 0.0  # the most that a row's prediction rests on
        self._planner.planned.connect(self._on_planned)
        self._planner.finished.connect(self.plan)
        self._planner.machine_known.connect(self._on_machine)
        engine.state_changed.connect(self._on_engine)
        page.measure_requested.connect(self.measure_again)
        self._on_engine()

    @property
    def is_planning(self) -> bool:
        """Tell whether predictions are being made."""
        return self._planner.is_planning

    def close(self) -> None:
        """End what runs in the background."""
        self._planner.cancel()

    # --- what they rest on ---

    @property
    def basis(self) -> str:
        """What predictions rest on, in words; empty without models."""
        if not self._entries():
            return ""
        notes = self._notes.values()
        if self._machine is None and self._engine.state.hello is not None:
            return self.tr("Predictions come in a moment")
        return basis_line(
            self._machine,
            self._fastest_bytes_per_s,
            is_lower=any(OF_LARGER in note for note in notes),
            is_rough=any(MEASURED_BUSY in note for note in notes),
        )

    @property
    def is_rough(self) -> bool:
        """Tell whether predictions rest on a bandwidth that was measured while busy."""
        machine = self._machine
        if not self._entries() or machine is None or machine.accelerators:
            return False
        notes = self._notes.values()
        return machine.cpu.measured_busy or any(MEASURED_BUSY in note for note in notes)

    def show_basis(self) -> None:
        """Say on the page what predictions rest on."""
        self._page.set_basis(self.basis, is_rough=self.is_rough)

    @Slot()
    def measure_again(self) -> None:
        """Measure main memory anew and plan with it; not beside a reply, which would disturb it."""
        hello = self._engine.state.hello
        if hello is None or self._engine.state.status not in _QUIET:
            self.told.emit(self.tr("Memory is measured once the engine is done."), "info")
            return
        state = self._state

        def done(record: BandwidthRecord | None) -> None:
            self._page.toolbar.set_measuring(False)
            self.told.emit(*outcome_words(record))
            self.refresh()
            self.bandwidth_known.emit()

        def failed(error: Exception) -> None:
            done(None)
            if not isinstance(error, MemoryError):
                raise error

        self._page.toolbar.set_measuring(True)
        tasks.run(lambda: _measure(state, hello), done, failed, self)

    # --- rounds ---

    @Slot()
    def refresh(self) -> None:
        """Plan anew: what predictions rest on was measured better."""
        self.forget()
        self.plan()

    def forget(self) -> None:
        """Forget what was planned; figures stay on screen until there are new ones."""
        self._fastest_bytes_per_s = 0.0
        self._planned.clear()
        self._planner.cancel()

    def forget_stale(self) -> None:
        """Forget what was planned some time ago: other programs take other memory now."""
        if time.monotonic() - self._planned_at > _STALE_S:
            self.forget()

    @Slot()
    def _on_engine(self) -> None:
        self._planner.set_quiet(self._engine.state.status in _QUIET)
        if self._machine is None:
            self.show_basis()

    @Slot()
    def plan(self) -> None:
        """Plan what is not planned yet, if anybody looks; after the round that runs, if any."""
        state = self._engine.state
        hello = state.hello
        if hello is None or state.status in {"stopped", "starting", "lost"}:
            return
        if not self._page.isVisible() or self._planner.is_planning:
            return
        wanted = [
            entry
            for entry in self._entries()
            if entry.usable and self._planned.get(str(entry.path)) != entry.stamp
        ]
        if not wanted:
            return
        self._asked = {str(entry.path): entry.stamp for entry in wanted}
        self._planned_at = time.monotonic()
        self._planner.plan(
            PlanRequest(
                hello=hello,
                entries=wanted,
                values={
                    str(entry.path): self._settings.load_values(str(entry.path)) for entry in wanted
                },
                freed_bytes=self._freed_bytes(),
                may_measure=state.status in _QUIET,
                tuned=bool(self._settings.get("tune")),
            )
        )

    @Slot(object)
    def _on_planned(self, fits: dict[str, VariantFit]) -> None:
        views = {key: fit_view(fit) for key, fit in fits.items()}
        self.fits.update(views)
        self._planned.update({key: self._asked[key] for key in fits})
        self._page.set_fits(views)
        self._notes.update({key: fit.bandwidth_note for key, fit in fits.items()})
        fastest = max((fit.bandwidth_bytes_per_s or 0.0 for fit in fits.values()), default=0.0)
        self._fastest_bytes_per_s = max(self._fastest_bytes_per_s, fastest)
        self.show_basis()

    @Slot(object)
    def _on_machine(self, machine: Machine) -> None:
        before, self._machine = self._machine, machine
        if basis_line(machine) != basis_line(before):
            self.show_basis()
            # What was planned with other figures is planned again, after this round.
            self._planned.clear()


def _measure(state: StateFile, hello: Hello) -> BandwidthRecord:
    """Measure main memory, then the sizes whose probes were disturbed; return the least sure one.

    Raises:
        MemoryError: there is no room for the buffers.
    """
    sizes = [(clamp_threads(None), LARGE_BYTES), *disturbed_probes(state, hello.cpu)]
    records = [
        bandwidth_for(state, hello.cpu, threads, size, again=True) for threads, size in sizes
    ]
    return next((record for record in records if not record.steady), records[0])
