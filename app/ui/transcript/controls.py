"""What can be done with a message, as buttons; the same table gives icons, names and keys."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from PySide6.QtCore import QCoreApplication, Qt
from PySide6.QtWidgets import QWidget

from app.ui.transcript.buttons import TextButton
from app.ui.transcript.host import RowHost
from app.ui.transcript.items import MessageView

__all__ = ["CONTROLS", "Control", "ControlBar", "controls_for", "tr"]


def tr(text: str) -> str:
    """Translate a text of the transcript."""
    return QCoreApplication.translate("Transcript", text)


@dataclass(frozen=True, slots=True)
class Control:
    """One thing to do with a message.

    ``key`` is its key while the message has the focus. Only keys that no text is written with
    are given, and none that destroys: who goes on typing after a click must change nothing.
    ``menu_only`` keeps it out of the row of buttons.
    """

    kind: str
    icon: str
    label: str
    tip: str
    key: str = ""
    word: bool = True
    menu_only: bool = False


CONTROLS: Final = (
    Control("previous_version", "previous", "Previous version", "Earlier version", "Left", False),
    Control("next_version", "next", "Next version", "Later version", "Right", False),
    Control("regenerate", "regenerate", "Regenerate", "Answer again"),
    Control(
        "regenerate_with",
        "regenerate_with",
        "Regenerate with another model",
        "Answer again with another model",
        word=False,
    ),
    Control(
        "regenerate_several",
        "several",
        "Several replies at once",
        "Answer again with several replies at once",
        word=False,
    ),
    Control("continue", "continue", "Continue", "Go on where the reply ends"),
    Control("edit", "edit", "Edit", "Change the text"),
    Control("copy", "copy", "Copy", "Copy as Markdown", "Ctrl+C"),
    Control("delete", "delete", "Delete", "Delete this message", word=False),
    Control(
        "show_record",
        "inspector",
        "Show this turn in the panel",
        "Show what was measured in this turn",
        word=False,
        menu_only=True,
    ),
)


def controls_for(view: MessageView) -> tuple[Control, ...]:
    """Return what can be done with a message now."""
    if view.role not in ("user", "assistant"):
        return ()
    if view.state in ("streaming", "waiting"):
        versions = ("previous_version", "next_version") if view.versions_live else ()
        return tuple(control for control in CONTROLS if control.kind in versions)
    kinds = {"edit", "copy", "delete"}
    if view.version_count > 1:
        kinds |= {"previous_version", "next_version"}
    if view.role == "user" and view.is_last:
        kinds.add("regenerate")  # its answer was deleted, or never came
    if view.role == "assistant":
        kinds |= {"regenerate", "regenerate_with", "regenerate_several"}
        if view.state in ("stopped", "interrupted", "failed") and view.text:
            kinds.add("continue")
        if view.figures:
            kinds.add("show_record")
    return tuple(control for control in CONTROLS if control.kind in kinds)


class ControlBar:
    """The buttons of one message, children of the widget they stand in."""

    def __init__(self, host: RowHost, parent: QWidget, *, words: bool) -> None:
        self._host = host
        self._words = words
        self._message = ""
        self.buttons: list[TextButton] = []
        self._by_kind: dict[str, TextButton] = {}
        self.version = ""
        for control in CONTROLS:
            if control.menu_only:
                continue
            word = tr(control.label) if control.word and words else ""
            button = TextButton(host, parent, control.icon, word)
            button.setAccessibleName(tr(control.label))
            keys = f" ({control.key})" if control.key else ""
            button.setToolTip(tr(control.tip) + keys)
            button.setObjectName(control.kind)
            button.clicked.connect(lambda _=False, kind=control.kind: self._act(kind))
            button.hide()
            self._by_kind[control.kind] = button

    def set_view(self, view: MessageView | None) -> None:
        """Offer what can be done with a message, nothing without one."""
        if view is None:
            self.buttons, self.version = [], ""
            for button in self._by_kind.values():
                self._hide(button)
            return
        self._message = view.id
        noted = {action.kind for action in view.actions}
        # The note above the buttons offers to continue in its own words; once is enough.
        offered = [
            control.kind
            for control in controls_for(view)
            if not control.menu_only and (control.kind != "continue" or control.kind not in noted)
        ]
        self.buttons = [self._by_kind[kind] for kind in offered]
        for kind, button in self._by_kind.items():
            if kind not in offered:
                self._hide(button)
        self._by_kind["previous_version"].setEnabled(view.version_index > 0)
        self._by_kind["next_version"].setEnabled(view.version_index + 1 < view.version_count)
        many = view.version_count > 1 and "next_version" in offered
        self.version = f"{view.version_index + 1}/{view.version_count}" if many else ""

    def set_shown(self, shown: bool, *, tab: bool) -> None:
        """Show the buttons; versions are always shown, so that nobody misses them."""
        for button in self.buttons:
            if shown or button.objectName().endswith("_version"):
                button.show()
            else:
                self._hide(button)
            # A click leaves the keyboard where it is: what is clicked may be gone a moment later.
            button.setFocusPolicy(Qt.FocusPolicy.TabFocus if tab else Qt.FocusPolicy.NoFocus)

    def _hide(self, button: TextButton) -> None:
        """Hide a button; Qt would hand its focus on to a button of another message."""
        if button.hasFocus():
            self._host.take_focus()
        button.hide()

    def set_compact(self, compact: bool) -> None:
        """Leave out the words."""
        for button in self.buttons:
            button.compact = compact

    def has_focus(self) -> bool:
        """Tell whether one of the buttons has the keyboard's focus."""
        return any(button.hasFocus() for button in self.buttons)

    def confirm_copy(self) -> None:
        """Say that the message was copied."""
        self._by_kind["copy"].confirm(tr("Copied") if self._words else "")

    def _act(self, kind: str) -> None:
        if kind == "copy":
            self.confirm_copy()
        self._host.act(kind, self._message)
