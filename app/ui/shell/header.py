"""The bar at the top: product, model, preset, context gauge, inspector and menu."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, QPoint, QSize, Qt, Signal, Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QMenu, QToolButton, QWidget

from app.ui.icons import IconKeeper, pixmap
from app.ui.shell.gauge import ContextGauge
from app.ui.shell.pills import ModelPill, PresetPill, TextPill
from app.ui.theme import ThemeManager

__all__ = ["Header"]


_LEVELS = 7


class Header(QFrame):
    """Holds the header's parts; each part has its own setters.

    Signals:
        inspector_toggled(): the inspector's button was pressed.
        sidebar_toggled(): the sidebar's button was pressed (shown while the sidebar is hidden).
    """

    inspector_toggled = Signal()
    sidebar_toggled = Signal()

    def __init__(self, themes: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("header")
        self._themes = themes
        self._fitted: tuple[int, ...] = ()
        self._logo = QLabel(self)
        self._name = QLabel("Plimsoll", self)
        self._name.setObjectName("productName")
        self.model = ModelPill(themes, self)
        self.preset = PresetPill(themes, self)
        self.gauge = ContextGauge(themes, self)

        self._inspector = TextPill(themes, self.tr("Inspector"), "inspector", self)
        self._inspector.setAccessibleName(self.tr("Show or hide the inspector"))
        self._inspector.clicked.connect(self.inspector_toggled)
        self._inspector.hide()

        self._sidebar = self._tool("sidebar", self.tr("Show the sidebar"))
        self._sidebar.clicked.connect(self.sidebar_toggled)
        self._sidebar.hide()
        self._menu = self._tool("menu", self.tr("Menu"))
        self._menu.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self._menu.hide()

        self._row = QHBoxLayout(self)
        self._row.setSizeConstraint(QHBoxLayout.SizeConstraint.SetNoConstraint)
        self._row.addWidget(self._sidebar)
        self._brand = QHBoxLayout()
        self._brand.addWidget(self._logo)
        self._brand.addWidget(self._name)
        self._row.addLayout(self._brand)
        self._row.addWidget(self.model)
        self._row.addWidget(self.preset)
        self._row.addStretch(1)
        self._row.addWidget(self.gauge)
        self._row.addWidget(self._inspector)
        self._row.addWidget(self._menu)
        themes.changed.connect(self._apply_theme)
        self._apply_theme()

    def set_menu(self, menu: QMenu) -> None:
        """Offer the window's commands behind the menu button."""
        self._menu.setMenu(menu)
        menu.installEventFilter(self)
        self._menu.show()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Let the menu end where its button does, so that it lies over the window."""
        menu = self._menu.menu()
        if watched is menu and menu is not None and event.type() == QEvent.Type.Show:
            button = self._menu
            left = button.mapToGlobal(QPoint(0, 0)).x()
            if not self.isRightToLeft():
                left += button.width() - menu.width()
            menu.move(max(left, button.screen().availableGeometry().left()), menu.y())
        return super().eventFilter(watched, event)

    def set_inspector_available(self, available: bool) -> None:
        """Show the inspector's button, or hide it while there is no inspector."""
        self._inspector.setVisible(available)

    def set_hints(self, inspector: str, sidebar: str) -> None:
        """Name the shortcuts in the tooltips."""
        self._inspector.setToolTip(self.tr("Inspector (%1)").replace("%1", inspector))
        self._sidebar.setToolTip(self.tr("Show the sidebar (%1)").replace("%1", sidebar))

    def set_sidebar_shown(self, shown: bool) -> None:
        """Offer to show the sidebar while it is hidden."""
        self._sidebar.setHidden(shown)

    def minimumSizeHint(self) -> QSize:
        """Return that any width will do: what has no room is left out."""
        return QSize(0, self.height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Leave out what has no room."""
        super().resizeEvent(event)
        self._fit()

    def event(self, event: QEvent) -> bool:
        """Fit again when a part wants another size."""
        taken = super().event(event)
        if event.type() == QEvent.Type.LayoutRequest:
            self._fit()
        return taken

    def _fit(self) -> None:
        """Show as much as fits, leaving out first what is said elsewhere too.

        Fitting shows and hides parts, for which Qt posts the next layout request. It is done only
        when what it follows from is not as before, or requests and fits would go on for ever.
        """
        wishes = self._wishes()
        if wishes == self._fitted:
            return
        self._fitted = wishes
        for level in range(_LEVELS):
            self._name.setHidden(level >= 1)
            self.model.set_tags_shown(quantization=level < 4, size=level < 2)
            self._inspector.set_compact(level >= 3)
            self.gauge.set_compact(level >= 4)
            self.preset.setHidden(level >= 5)
            self.model.set_name_kept(level < 6)
            for pill in (self.model, self._inspector, self.preset):
                pill.measure_again()
            self._row.invalidate()
            if self._row.minimumSize().width() <= self.width():
                break
        self._row.activate()

    def _wishes(self) -> tuple[int, ...]:
        """Return what the fit follows from, none of which it changes: widths, and what is there."""
        return (
            self.width(),
            self._themes.theme.px(1000),
            self._name.sizeHint().width(),
            *self.model.wishes(),
            *self.preset.wishes(),
            *self._inspector.wishes(),
            *(part.isHidden() for part in (self.gauge, self._inspector, self._sidebar, self._menu)),
        )

    def _tool(self, name: str, text: str) -> QToolButton:
        button = QToolButton(self)
        button.setProperty("kind", "flat")
        button.setToolTip(text)
        button.setAccessibleName(text)
        button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        IconKeeper(button, self._themes, name, "dim", 17)
        return button

    @Slot()
    def _apply_theme(self) -> None:
        theme = self._themes.theme
        self.setFixedHeight(theme.px(44))
        self._row.setContentsMargins(theme.px(8), 0, theme.px(10), 0)
        self._row.setSpacing(theme.px(12))
        self._brand.setSpacing(theme.px(7))
        ratio = self.devicePixelRatioF()
        width, height = theme.px(32), theme.px(20)
        self._logo.setPixmap(pixmap("plimsoll", theme.css("ink"), width, height, ratio))
