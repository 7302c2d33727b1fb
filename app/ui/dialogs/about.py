"""What this program is, and the facts a fault report needs, ready to be copied."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt, Slot
from PySide6.QtGui import QGuiApplication, QShowEvent
from PySide6.QtWidgets import (
    QDialog,
    QGridLayout,
    QLabel,
    QVBoxLayout,
    QWidget,
)

from app.ui import tasks
from app.ui.dialogs.buttons import DialogButtons
from app.ui.dialogs.licences import LicencesDialog
from app.ui.dialogs.sizes import open_size
from app.ui.icons import pixmap
from app.ui.page_area import PageArea
from app.ui.theme import ThemeManager
from resources.licences import licence_text

__all__ = ["AboutDialog"]


class AboutDialog(QDialog):
    """Name, version, and facts such as the engine's build and the devices."""

    def __init__(
        self,
        themes: ThemeManager,
        version: str,
        facts: Sequence[tuple[str, str]] = (),
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.setObjectName("aboutDialog")
        self.setWindowTitle(self.tr("About Plimsoll"))
        theme = themes.theme
        self._themes = themes
        self._report = "\n".join(
            [f"Plimsoll {version}", *(f"{name}: {value}" for name, value in facts)]
        )
        logo = QLabel(self)
        ratio = self.devicePixelRatioF()
        logo.setPixmap(pixmap("plimsoll", theme.css("ink"), theme.px(64), theme.px(40), ratio))
        title = QLabel(f"Plimsoll {version}", self)
        title.setProperty("kind", "title")
        about = QLabel(
            self.tr(
                "Chats with GGUF models on this computer and shows how deeply they load it. "
                "Nothing leaves this computer. Free software under the MIT licence; Inter and "
                "JetBrains Mono are under the SIL Open Font Licence."
            ),
            self,
        )
        about.setProperty("kind", "dim")
        about.setWordWrap(True)
        grid = QGridLayout()
        grid.setColumnStretch(1, 1)
        grid.setHorizontalSpacing(theme.px(18))
        grid.setVerticalSpacing(theme.px(5))
        for row, (name, value) in enumerate(facts):
            label = QLabel(name, self)
            label.setProperty("kind", "small")
            shown = QLabel(value, self)
            shown.setTextFormat(Qt.TextFormat.PlainText)
            shown.setWordWrap(True)
            shown.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
            grid.addWidget(label, row, 0, Qt.AlignmentFlag.AlignTop)
            grid.addWidget(shown, row, 1)
        buttons = DialogButtons(self)
        copy = buttons.other(self.tr("Copy"))
        copy.setToolTip(self.tr("Copy these facts, for a fault report"))
        copy.clicked.connect(self.copy_report)
        self.licences = buttons.other(self.tr("Licences"))
        self.licences.setToolTip(self.tr("Show the licences of everything Plimsoll is made of"))
        self.licences.clicked.connect(self.open_licences)
        buttons.close_button()
        self._content = QWidget()
        facts_column = QVBoxLayout(self._content)
        facts_column.setContentsMargins(0, 0, 0, 0)
        facts_column.setSpacing(theme.px(12))
        for widget in (logo, title, about):
            facts_column.addWidget(widget)
        facts_column.addLayout(grid)
        facts_column.addStretch(1)
        self._area = PageArea(self._content, self, self.windowTitle())
        column = QVBoxLayout(self)
        side = theme.px(24)
        column.setContentsMargins(side, side, side, theme.px(16))
        column.setSpacing(theme.px(12))
        column.addWidget(self._area, 1)
        column.addWidget(buttons)
        open_size(self, theme, 460, 340)

    def showEvent(self, event: QShowEvent) -> None:
        """Be high enough for every fact: only now are the fonts known."""
        layout = self.layout()
        assert layout is not None
        layout.activate()
        beside = self.height() - self._area.height()
        wanted = self._content.heightForWidth(self._area.width()) + beside
        room = self.screen().availableGeometry().height()
        self.resize(self.width(), min(room, max(self.height(), wanted)))
        super().showEvent(event)

    @Slot()
    def copy_report(self) -> None:
        """Put the facts on the clipboard."""
        QGuiApplication.clipboard().setText(self._report)

    @Slot()
    def open_licences(self) -> None:
        """Show the licences; they are gathered in a thread, since that reads many files."""
        self.licences.setEnabled(False)
        tasks.run(licence_text, self._show_licences, None, self)

    def _show_licences(self, text: str) -> None:
        self.licences.setEnabled(True)
        dialog = LicencesDialog(self._themes, text, self)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.open()
