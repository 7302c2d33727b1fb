"""Facts of the models that the planner's rows name: typed ones at once, files in the background."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QObject, Signal

from app.ui import tasks
from gguf_tools.facts import ModelFacts, read_facts
from gguf_tools.header import HeaderError
from gguf_tools.typed import TypedModelError, typed_facts
from inspector.planner_setup import ModelSpec

__all__ = ["PlannerModels", "plannable"]


def plannable(path: str) -> ModelFacts:
    """Return what a file says.

    Raises:
        ValueError: nothing can be planned for it; the text is one sentence.
    """
    try:
        facts = read_facts(path)
    except (HeaderError, OSError) as error:
        raise ValueError(str(error)) from error
    if facts.kind in {"projector", "adapter", "vocabulary", "imatrix"} or facts.shape is None:
        reason = facts.warnings[0] if facts.warnings else "It is no model that can be planned."
        raise ValueError(f"{Path(path).name}: {reason}")
    return facts


class PlannerModels(QObject):
    """Keeps the facts of models by what names them.

    Signals:
        known(ModelSpec): facts, or what is wrong, are there now.
    """

    known = Signal(object)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._facts: dict[ModelSpec, ModelFacts] = {}
        self._problems: dict[ModelSpec, str] = {}
        self._reading: set[ModelSpec] = set()

    def facts(self, spec: ModelSpec) -> ModelFacts | None:
        """Return facts if they are known; reading a file begins at the first call for it."""
        found = self._facts.get(spec)
        if found is not None or spec in self._problems:
            return found
        if spec.typed is not None:
            try:
                self._facts[spec] = typed_facts(spec.typed)
            except TypedModelError as error:
                self._problems[spec] = str(error)
            return self._facts.get(spec)
        if not spec.path:
            self._problems[spec] = "Choose a model."
            return None
        self._read(spec)
        return None

    def problem(self, spec: ModelSpec) -> str:
        """Return the sentence on why there are no facts, empty if there are or may be soon."""
        return self._problems.get(spec, "")

    def forget_problems(self) -> None:
        """Try files again that could not be read."""
        self._problems = {}

    def _read(self, spec: ModelSpec) -> None:
        if spec in self._reading:
            return
        self._reading.add(spec)

        def done(facts: ModelFacts) -> None:
            self._reading.discard(spec)
            self._facts[spec] = facts
            self.known.emit(spec)

        def failed(error: Exception) -> None:
            self._reading.discard(spec)
            if not isinstance(error, ValueError):
                raise error
            self._problems[spec] = str(error)
            self.known.emit(spec)

        tasks.run(lambda: plannable(spec.path), done, failed, self)
