"""Making variants from the window: one at a time, in an engine of its own beside the chat's."""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace
from pathlib import Path

from PySide6.QtCore import QObject, Qt, Signal, Slot
from PySide6.QtWidgets import QWidget

from app.compare.opener import opener
from app.data.library.fit import fit_of_plan
from app.data.state import StateFile
from app.engine.protocol import Hello
from app.engine.qt_client import EngineProcess
from app.machines import Machines
from app.paths import Paths
from app.settings import Settings
from app.ui import tasks
from app.ui.models.variant_dialog import VariantDialog
from app.ui.models.views import VariantOption
from app.ui.presenters.library_views import fit_view
from app.ui.theme import ThemeManager
from app.variants import Forecast, Made, VariantError, VariantMaker, forecasts
from gguf_tools.facts import ModelFacts, read_facts
from gguf_tools.header import HeaderError
from gguf_tools.machine import cpu_only
from gguf_tools.plan import make_plan
from gguf_tools.quantize import (
    QuantizeRequest,
    quant_type,
    requantize_warning,
    suggested_name,
)
from gguf_tools.units import format_bytes, format_seconds
from inspector.planned import load_settings

__all__ = ["VariantPresenter"]

_JOIN_S = 5.0
_USUAL = "Q4_K_M"
_LARGER = 1.02  # a variant is to be smaller; the same size but for its header is no gain either


@dataclass(frozen=True, slots=True)
class _Choices:
    """What a file can be made into."""

    facts: ModelFacts
    options: tuple[VariantOption, ...]
    names: dict[str, str]
    warning: str


class VariantPresenter(QObject):
    """Shows the dialog, makes the variant, and says when it is there.

    Signals:
        made(str): path of a variant that was made.
        told(str sentence, str severity): how the work ended, when the dialog is closed.
    """

    made = Signal(str)
    told = Signal(str, str)
    _progressed = Signal(float)
    _ended = Signal(object)

    def __init__(
        self,
        engine: EngineProcess,
        settings: Settings,
        state: StateFile,
        paths: Paths,
        themes: ThemeManager,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._engine = engine
        self._settings = settings
        self._state = state
        self._paths = paths
        self._themes = themes
        self._dialog: VariantDialog | None = None
        self._source: Path | None = None
        self._facts: ModelFacts | None = None
        self._maker: VariantMaker | None = None
        self._thread: threading.Thread | None = None
        queued = Qt.ConnectionType.QueuedConnection
        self._progressed.connect(self._on_progress, queued)
        self._ended.connect(self._on_ended, queued)

    @property
    def dialog(self) -> VariantDialog | None:
        """The dialog, while there is one."""
        return self._dialog

    def open(self, path: str, title: str, parent: QWidget | None = None) -> None:
        """Show what a model can be made into; while one is made, show that."""
        if self._dialog is not None:
            if self._maker is not None:
                self._dialog.show()
                self._dialog.raise_()
                return
            self._dialog.close()
        self._source, self._facts = Path(path), None
        dialog = VariantDialog(self._themes, title, path, self._paths.models, parent)
        dialog.start_requested.connect(self._start)
        dialog.cancel_requested.connect(self.cancel)
        dialog.imatrix_changed.connect(self._work_out)
        dialog.finished.connect(self._on_closed)
        self._dialog = dialog
        dialog.show()
        self._work_out("")

    @Slot()
    def cancel(self) -> None:
        """End the work that runs; nothing is left of it."""
        if self._maker is not None:
            self._maker.cancel()

    def close(self) -> None:
        """End the work at the end of the program."""
        self.cancel()
        if self._thread is not None:
            self._thread.join(_JOIN_S)
        if self._dialog is not None:
            self._dialog.close()

    # --- what each type would be ---

    @Slot(str)
    def _work_out(self, imatrix: str) -> None:
        source, hello, state = self._source, self._engine.state.hello, self._state
        if source is None:
            return
        values = self._settings.load_values(str(source))
        tuned = bool(self._settings.get("tune"))

        def work() -> _Choices:
            facts = read_facts(source)
            return _choices(facts, hello, state, values, with_imatrix=bool(imatrix), tuned=tuned)

        def done(found: _Choices) -> None:
            if self._dialog is not None and self._source == source:
                self._facts = found.facts
                self._dialog.set_options(found.options, found.names)
                self._dialog.set_warning(found.warning)

        def failed(error: Exception) -> None:
            if not isinstance(error, HeaderError | OSError):
                raise error
            if self._dialog is not None:
                self._dialog.say(str(error), token="danger")

        tasks.run(work, done, failed, self)

    # --- the work ---

    @Slot(str, str, str, bool)
    def _start(self, kind: str, target: str, imatrix: str, allowed: bool) -> None:
        if self._maker is not None or self._source is None or self._dialog is None:
            return
        request = QuantizeRequest(
            source=self._source,
            target=Path(target).expanduser().absolute(),
            kind=quant_type(kind),
            allow_requantize=allowed,
            imatrix=Path(imatrix).expanduser() if imatrix else None,
        )
        open_client = opener(self._state)
        maker = VariantMaker(request, lambda: open_client(lambda _: None), self._progressed.emit)
        self._maker = maker
        self._dialog.set_progress(0.0)
        self._dialog.say(self.tr("Making {0}…").format(kind))

        def work() -> None:
            result: Made | Exception
            try:
                result = maker.run()
            except Exception as error:
                result = error
            self._ended.emit(result)

        self._thread = threading.Thread(target=work, name="variant", daemon=True)
        self._thread.start()

    @Slot(float)
    def _on_progress(self, share: float) -> None:
        if self._dialog is not None and self._maker is not None:
            self._dialog.set_progress(share)

    @Slot(object)
    def _on_ended(self, result: Made | Exception) -> None:
        self._maker = self._thread = None
        if isinstance(result, Made):
            sentence = self.tr("{0} was made: {1} in {2}.").format(
                result.path.name, format_bytes(result.file_bytes), format_seconds(result.seconds)
            )
            self._tell(sentence, "good")
            self.made.emit(str(result.path))
        elif isinstance(result, VariantError):
            self._tell(str(result), "dim" if result.why == "cancelled" else "danger")
        else:
            self._tell(self.tr("The variant was not made."), "danger")
            raise result

    def _tell(self, sentence: str, token: str) -> None:
        dialog = self._dialog
        if dialog is not None:
            dialog.set_progress(None)
            dialog.say(sentence, token=token)
        if dialog is None or not dialog.isVisible():
            severity = {"good": "info", "dim": "info", "danger": "error"}[token]
            self.told.emit(sentence, severity)
            self._on_closed()

    def _on_closed(self, _result: int = 0) -> None:
        """Let the dialog go, unless it is still needed to show the work."""
        if self._maker is None and self._dialog is not None:
            dialog, self._dialog = self._dialog, None
            dialog.deleteLater()


def _choices(
    facts: ModelFacts,
    hello: Hello | None,
    state: StateFile,
    values: dict[str, object],
    *,
    with_imatrix: bool,
    tuned: bool,
) -> _Choices:
    if hello is None:
        load = load_settings(values, facts)
        rows = forecasts(
            facts, lambda item, _is_made: make_plan(item, load, cpu_only()), imatrix=with_imatrix
        )
    else:
        machines = Machines(state, hello, may_measure=False, tuned=tuned)
        rows = forecasts(
            facts,
            lambda item, is_made: machines.plan(item, values, is_made=is_made),
            imatrix=with_imatrix,
        )
    options = tuple(_option(row, facts.file_bytes, with_imatrix=with_imatrix) for row in rows)
    usual = {option.key for option in options if not option.problem}
    recommended = _USUAL if _USUAL in usual else next(iter(usual), "")
    warning = next((text for row in rows if (text := requantize_warning(row.expected))), "")
    return _Choices(
        facts=facts,
        options=tuple(replace(o, recommended=o.key == recommended) for o in options),
        names={row.expected.kind.name: suggested_name(facts, row.expected.kind) for row in rows},
        warning=warning,
    )


def _option(row: Forecast, source_bytes: int, *, with_imatrix: bool) -> VariantOption:
    expected, plan = row.expected, row.plan
    problem = expected.obstacle or ""
    remarks = []
    if expected.needs_imatrix:
        remarks.append("needs an importance matrix")
        if not with_imatrix:
            problem = problem or "needs an importance matrix"
    if not problem and expected.changed_tensors == 0:
        problem = "what the file is already"
    if expected.file_bytes > source_bytes * _LARGER:
        remarks.append("larger than the source")
    elif expected.fallbacks:
        count = len(expected.fallbacks)
        remarks.append(f"{count} tensor{'' if count == 1 else 's'} of other types")
    option = VariantOption(
        key=expected.kind.name,
        name=expected.kind.name,
        about=", ".join(remarks),
        size_bytes=expected.file_bytes,
        bits_per_weight=expected.bits_per_weight,
        needs_imatrix=bool(expected.needs_imatrix),
        problem=problem,
    )
    return option if plan is None else replace(option, fit=fit_view(fit_of_plan(plan)))
