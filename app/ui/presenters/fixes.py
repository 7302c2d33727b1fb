"""What a finding's button does: load the model again another way, or what else helps.

A fix changes the model's own load settings, so it says what it has done and offers to undo it.
"""

from __future__ import annotations

import itertools
import sys
from typing import Any

from PySide6.QtCore import QObject, Signal, Slot

from app.settings import Settings
from app.ui.main_window import MainWindow
from app.ui.presenters.engine import EnginePresenter
from app.ui.presenters.gpu_build import gpu_build_help
from app.ui.shell.views import Notice, Severity
from inspector.plan_record import changes_of_key
from inspector.views import FindingView

__all__ = ["FixPresenter"]

_TOKEN = "fix:"


class FixPresenter(QObject):
    """Takes fixes from the panel, one at a time.

    Signals:
        summary_wanted(): go on in a new chat that begins with a summary.
        probe_wanted(): measure the bandwidth of main memory again.
    """

    summary_wanted = Signal()
    probe_wanted = Signal()

    def __init__(
        self,
        models: EnginePresenter,
        settings: Settings,
        window: MainWindow,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._models = models
        self._settings = settings
        self._window = window
        self._before: dict[str, tuple[str, dict[str, Any]]] = {}  # the model, and what it had
        self._count = itertools.count()
        window.toast.undone.connect(self._on_undone)
        window.toast.expired.connect(self._on_expired)

    def take(self, fix: str, findings: tuple[FindingView, ...] = ()) -> None:
        """Do what a fix says, by its key; ``findings`` hold its words."""
        changes = changes_of_key(fix)
        if changes:
            self._change(dict(changes), _label(fix, findings))
        elif fix == "new_chat":
            self.summary_wanted.emit()
        elif fix == "unload":
            self._models.unload()
        elif fix == "engine_build":
            self._explain_build()
        elif fix == "probe":
            self.probe_wanted.emit()

    def tell(self, text: str, severity: Severity) -> None:
        """Say above the chat what a button came to."""
        self._window.chat.notices.show_notice(
            Notice("fix", text, severity, passing=severity == "info")
        )

    def _change(self, changes: dict[str, Any], label: str) -> None:
        path = self._models.path
        if path is None:
            return
        values = self._settings.load_values(path)
        before = (path, {key: values[key] for key in changes})

        def done() -> None:
            token = f"{_TOKEN}{next(self._count)}"
            self._before[token] = before
            text = (
                self.tr("Loaded again: {0}.").format(label) if label else self.tr("Loaded again.")
            )
            self._window.show_undo(text, token)

        self._models.load(path, changes=changes, then=done)

    @Slot(str)
    def _on_undone(self, token: str) -> None:
        before = self._before.pop(token, None)
        if before is not None and before[0] == self._models.path:
            self._models.load(before[0], changes=before[1])

    @Slot(str)
    def _on_expired(self, token: str) -> None:
        self._before.pop(token, None)

    def _explain_build(self) -> None:
        """Say how to get an engine that uses this computer's GPU."""
        self._window.chat.notices.show_notice(
            Notice(
                "engine-build",
                self.tr(
                    "This engine was built without your GPU's backend. Build it again with one, "
                    "then start Plimsoll again; Details has the commands."
                ),
                "info",
                gpu_build_help(sys.platform),
            )
        )


def _label(key: str, findings: tuple[FindingView, ...]) -> str:
    """Return what the button said."""
    return next((fix.label for item in findings for fix in item.fixes if fix.key == key), "")
