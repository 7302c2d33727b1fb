"""The composer: draft, attachments, live figures, Send that turns into Stop."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtGui import (
    QDragEnterEvent,
    QDragLeaveEvent,
    QDropEvent,
    QResizeEvent,
    QTextCursor,
)
from PySide6.QtWidgets import (
    QFileDialog,
    QFrame,
    QHBoxLayout,
    QPushButton,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from app.ui.elide import ElidedLabel
from app.ui.icons import IconKeeper
from app.ui.look import set_look
from app.ui.numbers import grouped
from app.ui.second_click import SecondClick
from app.ui.send_keys import SendKey, line_hint, send_name
from app.ui.shell.bars import Bar
from app.ui.shell.chip_row import ChipRow
from app.ui.shell.draft_edit import DraftEdit, has_long_line
from app.ui.shell.draft_figures import draft_figures
from app.ui.shell.focus import COMPOSER_NAME, hand_focus_on, return_focus
from app.ui.shell.sliced_insert import SlicedInsert
from app.ui.shell.views import AttachmentChip, Choice, DraftFacts
from app.ui.theme import ThemeManager

__all__ = ["Composer"]


class Composer(QFrame):
    """Where a message is written and sent.

    Signals:
        send_requested(str): the draft's text; the draft stays until `clear`, which the controller
            calls once the message is stored.
        stop_requested()
        draft_changed(): the text is another one; read `text` (throttled by the reader).
        files_added(list): local paths, from the dialog, the clipboard or a drop.
        text_attached(str): a large text that was pasted, to be attached as a file.
        picture_pasted(): a picture, which can't be sent.
        attachment_removed(str): key of a chip.
        edit_last_requested(): Up in an empty draft.
    """

    send_requested = Signal(str)
    stop_requested = Signal()
    draft_changed = Signal()
    files_added = Signal(list)
    text_attached = Signal(str)
    picture_pasted = Signal()
    attachment_removed = Signal(str)
    edit_last_requested = Signal()

    def __init__(self, themes: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName(COMPOSER_NAME)
        self.setAcceptDrops(True)
        self._themes = themes
        self._generating = False
        self._second_click = SecondClick()
        self._unavailable: tuple[str, str] | None = None
        self._blocked = False
        self._elsewhere = ""
        self._offer: Bar | None = None
        self._facts = draft_figures(DraftFacts())

        self._edit = DraftEdit(themes, self)
        self._edit.setAccessibleName(self.tr("Message"))
        self._insert = SlicedInsert(self._edit)
        self._chips = ChipRow(themes, self)
        self._chips.removed.connect(self.attachment_removed)
        self._attach = QPushButton(self.tr("Attach"), self)
        self._attach.setAccessibleName(self.tr("Attach"))
        self._attach.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self._attach.setProperty("kind", "flat")
        self._attach.setToolTip(self.tr("Attach text, Markdown, code, CSV or PDF files"))
        IconKeeper(self._attach, themes, "plus", "dim", 14)
        self._attach.clicked.connect(self.choose_files)
        self._figures = ElidedLabel("", self)
        self._figures.setProperty("kind", "faint")
        self._figures.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self._send = QPushButton(self)
        self._send.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self._send.setProperty("kind", "ink")
        self._send.clicked.connect(self._on_send_clicked)
        self._send_icon = IconKeeper(self._send, themes, "send", "on_ink", 13)

        self._row = QHBoxLayout()
        self._row.addWidget(self._attach)
        self._row.addWidget(self._figures, 1)
        self._row.addWidget(self._send)
        self._column = QVBoxLayout(self)
        self._column.addWidget(self._chips)
        self._text_row = QHBoxLayout()
        self._text_row.addWidget(self._edit)
        self._column.addLayout(self._text_row)
        self._column.addLayout(self._row)
        self.setFocusProxy(self._edit)
        self.setTabOrder(self._edit, self._attach)
        self.setTabOrder(self._attach, self._send)

        self._edit.textChanged.connect(self._on_text_changed)
        self._edit.send_pressed.connect(self._on_send_pressed)
        self._edit.edit_last_pressed.connect(self.edit_last_requested)
        self._edit.files_pasted.connect(self.files_added)
        self._edit.large_text_pasted.connect(self._offer_large_text)
        self._edit.picture_pasted.connect(self.picture_pasted)
        self._edit.focus_changed.connect(self._on_focus_changed)
        themes.changed.connect(self._apply_theme)
        self._apply_theme()
        self._refresh()

    # --- draft ---

    @property
    def edit(self) -> DraftEdit:
        """The text field."""
        return self._edit

    def text(self) -> str:
        """Return the draft."""
        self._insert.finish()
        return self._edit.toPlainText()

    def set_text(self, text: str) -> None:
        """Put a draft in place of the one there (another chat's), with the cursor at its end."""
        self._end_offer()
        self._insert.drop()
        self._edit.setPlainText(text)
        self._edit.moveCursor(QTextCursor.MoveOperation.End)

    def insert_text(self, text: str) -> None:
        """Put a text in at the cursor (a quotation, for example)."""
        self._insert.finish()
        self._edit.insertPlainText(text)
        self._edit.setFocus()

    def clear(self) -> None:
        """Empty the draft, after its message was stored."""
        self._end_offer()
        self._insert.drop()
        self._edit.clear()

    def set_send_key(self, key: SendKey) -> None:
        """Choose the key that sends."""
        self._edit.set_send_key(key)
        self._refresh()

    # --- state ---

    def set_generating(self, generating: bool) -> None:
        """Turn Send into Stop while a reply is written."""
        if generating and not self._generating:
            self._second_click.begin()
        self._generating = generating
        self._refresh()

    def set_unavailable(self, reason: str | None, short: str = "") -> None:
        """Keep drafts from being sent, and say why in place of the figures; None allows it.

        ``short`` is the reason in few words, for a composer without room for all of it.
        """
        self._unavailable = None if reason is None else (reason, short)
        self._refresh()

    def set_blocked(self, blocked: bool) -> None:
        """Keep the draft from being sent until what stands above it is chosen."""
        if blocked != self._blocked:
            self._blocked = blocked
            self._refresh_button()

    def set_elsewhere(self, addresses: str) -> None:
        """Name other computers that the model runs on, empty for none: what is sent goes there."""
        self._elsewhere = addresses
        self._refresh()

    def set_draft_facts(self, facts: DraftFacts) -> None:
        """Show the draft's tokens and how full the window is after sending."""
        self._facts = draft_figures(facts)
        self._show_figures()

    def figures_text(self) -> str:
        """Return the line below the draft."""
        return self._figures.text()

    # --- attachments ---

    def set_attachments(self, chips: tuple[AttachmentChip, ...]) -> None:
        """Show the files that go with the message."""
        if chips != self._chips.chips:
            self._chips.set_chips(chips)
            self._refresh()

    def reasons_text(self) -> str:
        """Return why files can't be sent, as it stands below their chips."""
        return self._chips.reasons()

    @Slot()
    def choose_files(self) -> None:
        """Ask for files to attach."""
        dialog = QFileDialog(self, self.tr("Attach files"))
        dialog.setFileMode(QFileDialog.FileMode.ExistingFiles)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        # Not signal to signal: Qt's list of strings is another type than Python's list.
        dialog.filesSelected.connect(lambda paths: self.files_added.emit(list(paths)))
        dialog.open()

    # --- drops ---

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        """Take files; models are the window's."""
        paths = [url.toLocalFile() for url in event.mimeData().urls() if url.isLocalFile()]
        if paths and not any(path.lower().endswith(".gguf") for path in paths):
            event.acceptProposedAction()
            set_look(self, "dropping", True)
        else:
            event.ignore()

    def dragLeaveEvent(self, event: QDragLeaveEvent) -> None:
        """Take the mark away."""
        super().dragLeaveEvent(event)
        set_look(self, "dropping", False)

    def dropEvent(self, event: QDropEvent) -> None:
        """Attach what was dropped."""
        set_look(self, "dropping", False)
        paths = [url.toLocalFile() for url in event.mimeData().urls() if url.isLocalFile()]
        event.acceptProposedAction()
        self.files_added.emit(paths)

    # --- inner ---

    def _can_send(self) -> bool:
        if self._generating or self._blocked or self._obstacle() is not None:
            return False
        return bool(self._chips.chips) or self._has_text()

    def _obstacle(self) -> tuple[str, str] | None:
        """Return why nothing can be sent, whatever the draft says, and the same in fewer words."""
        if self._unavailable is not None:
            return self._unavailable
        if any(chip.problem for chip in self._chips.chips):
            return (
                self.tr("Remove the files that can't be sent first."),
                self.tr("Some files can't be sent"),
            )
        return None

    def _has_text(self) -> bool:
        """Tell whether there is more than white space, without copying a large draft."""
        document = self._edit.document()
        block = document.begin()
        while block.isValid():
            if block.text().strip():
                return True
            block = block.next()
        return False

    @Slot()
    def _on_send_clicked(self) -> None:
        return_focus(self._send)
        if self._second_click.is_due:
            return
        if self._generating:
            self._second_click.begin()  # of a stop that takes no time
            self.stop_requested.emit()
        else:
            self._on_send_pressed()

    @Slot()
    def _on_send_pressed(self) -> None:
        if self._can_send():
            self.send_requested.emit(self.text())

    @Slot()
    def _on_text_changed(self) -> None:
        if self._insert.is_running:  # whoever reads a part would have to read it all
            return
        self._refresh_button()
        self.draft_changed.emit()

    @Slot(bool)
    def _on_focus_changed(self, focused: bool) -> None:
        set_look(self, "focused", focused)

    @Slot(str)
    def _offer_large_text(self, text: str) -> None:
        self._end_offer()
        size = grouped(len(text))
        choices = [Choice("attach", self.tr("Attach it as a file"), "primary")]
        if has_long_line(text):
            sentence = self.tr(
                "The text to paste has %1 characters and lines too long to edit here."
            )
        else:
            sentence = self.tr("The text to paste has %1 characters.")
            choices.append(Choice("insert", self.tr("Put it into the draft")))
        choices.append(Choice("drop", self.tr("Don't paste")))
        bar = Bar(self._themes, "info", sentence.replace("%1", size), tuple(choices), parent=self)
        bar.chosen.connect(lambda choice: self._on_offer_chosen(choice, text))
        self._offer = bar
        self._column.insertWidget(0, bar)

    def _on_offer_chosen(self, choice: str, text: str) -> None:
        self._end_offer()
        if choice == "attach":
            self.text_attached.emit(text)
        elif choice == "insert":
            self._insert.begin(text)
        self._edit.setFocus()

    def _end_offer(self) -> None:
        if self._offer is not None:
            hand_focus_on(self._offer)
            self._offer.hide()
            self._offer.deleteLater()
            self._offer = None

    def _refresh(self) -> None:
        hint = self.tr("Ask anything. Everything stays on this computer.")
        if self._elsewhere:  # in front, where a narrow window does not cut it off
            hint = self.tr("Also sent to %1. Ask anything.").replace("%1", self._elsewhere)
        self._edit.set_hint(hint)
        if self._generating:
            self._send.setText(self.tr("Stop"))
            self._send.setToolTip(self.tr("Stop the reply (%1)").replace("%1", "Esc"))
            self._send_icon.set_icon("stop")
        else:
            self._send.setText(self.tr("Send"))
            self._send_icon.set_icon("send")
        self._refresh_button()
        self._show_figures()

    def _refresh_button(self) -> None:
        enabled = self._generating or self._can_send()
        if enabled != self._send.isEnabled():
            if not enabled:
                hand_focus_on(self._send)
            self._send.setEnabled(enabled)
        if not self._generating:
            key = self._edit.send_key
            hint = self.tr("Send the message (%1; %2)").replace("%1", send_name(key))
            hint = hint.replace("%2", line_hint(key))
            if self._blocked:
                hint = self.tr("The message does not fit the context: choose above what to do.")
            obstacle = self._obstacle()
            self._send.setToolTip(obstacle[0] if obstacle is not None else hint)

    def _show_figures(self) -> None:
        text, shorter, token = self._facts
        obstacle = self._obstacle()
        if obstacle is not None and not self._generating:
            text, shorter, token = obstacle[0], obstacle[1:], "dim"
        self._figures.setText(text)
        self._figures.set_short(*shorter)
        theme = self._themes.theme
        self._figures.setStyleSheet(f"color: {theme.css(token)};")
        self._fit_attach()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Find room for the figures."""
        super().resizeEvent(event)
        self._fit_attach()

    def _fit_attach(self) -> None:
        """Leave the button's word out where the figures have no room beside it: it has an icon."""
        word, metrics = self.tr("Attach"), self._attach.fontMetrics()
        bare = self._attach.sizeHint().width() - metrics.horizontalAdvance(self._attach.text())
        margins = self._column.contentsMargins()
        room = self.width() - margins.left() - margins.right() - 2 * self._row.spacing()
        room -= self._send.sizeHint().width() + bare + metrics.horizontalAdvance(word)
        wanted = word if room >= self._figures.least_width() else ""
        if wanted != self._attach.text():
            self._attach.setText(wanted)

    @Slot()
    def _apply_theme(self) -> None:
        theme = self._themes.theme
        # The text stands 12 px in; the button below it has 6 px of that within its own frame.
        self._column.setContentsMargins(theme.px(6), theme.px(9), theme.px(11), theme.px(10))
        self._column.setSpacing(theme.px(9))
        self._text_row.setContentsMargins(theme.px(6) - 2, 0, 0, 0)
        self._row.setContentsMargins(0, theme.px(5), 0, 0)
        self._row.setSpacing(theme.px(6))
        self._send.setFixedHeight(theme.px(28))
        self._show_figures()
