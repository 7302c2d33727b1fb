"""The header's pills: which model is loaded (or loading, or lost), and which preset is on."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QRectF, QSize, Qt, Signal, Slot
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import (
    QHBoxLayout,
    QLabel,
    QMenu,
    QPushButton,
    QSizePolicy,
    QWidget,
)

from app.ui.elide import ElidedLabel
from app.ui.icons import pixmap
from app.ui.shell.focus import hand_focus_on
from app.ui.shell.views import HeaderModel
from app.ui.theme import ThemeManager
from gguf_tools.units import format_bytes

__all__ = ["ModelPill", "PresetPill", "TextPill"]


_READABLE_PX = 150  # a name shortened to this still tells one model from another


def _text_width(label: QLabel) -> int:
    """Return a text's width in pixels; a label's size hint would count its minimum too."""
    label.ensurePolished()
    return label.fontMetrics().horizontalAdvance(label.text())


class _Pill(QPushButton):
    """A button drawn by the style sheet that is as large as the labels in it."""

    def __init__(
        self, themes: ThemeManager, parent: QWidget | None = None, sign: str = "chevron-down"
    ) -> None:
        super().__init__(parent)
        self.setObjectName("pill")
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self._themes = themes
        self._sign_name = sign
        self._row = QHBoxLayout(self)
        self._sign = QLabel(self)
        self.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)
        themes.changed.connect(self._apply_theme)

    def _add(self, *widgets: QWidget) -> None:
        for widget in (*widgets, self._sign):
            widget.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
            self._row.addWidget(widget)

    def sizeHint(self) -> QSize:
        """Return the size of the content: a push button would only count its own text."""
        return QSize(self._row.sizeHint().width(), self._themes.theme.px(30))

    def minimumSizeHint(self) -> QSize:
        """Return the least width at which all that can be shortened is shortened."""
        return QSize(self._row.minimumSize().width(), self._themes.theme.px(30))

    def wishes(self) -> tuple[int, ...]:
        """Return the widths of the labels' texts in pixels when nothing is left out."""
        labels = self.findChildren(QLabel, options=Qt.FindChildOption.FindDirectChildrenOnly)
        return tuple(_text_width(label) for label in labels)

    def measure_again(self) -> None:
        """Forget the old size now; the labels' own notice of theirs comes by a later event."""
        self._row.invalidate()
        self.updateGeometry()

    def event(self, event: QEvent) -> bool:
        """Take a new size when the labels change theirs."""
        if event.type() == QEvent.Type.LayoutRequest:
            self.updateGeometry()
        return super().event(event)

    @Slot()
    def _apply_theme(self) -> None:
        theme = self._themes.theme
        self._row.setContentsMargins(theme.px(11), 0, theme.px(9), 0)
        self._row.setSpacing(theme.px(8))
        side = theme.px(14)
        ratio = self.devicePixelRatioF()
        self._sign.setPixmap(pixmap(self._sign_name, theme.css("dim"), side, ratio=ratio))
        self.updateGeometry()


class TextPill(_Pill):
    """A quiet word with a sign behind it."""

    def __init__(
        self, themes: ThemeManager, text: str, sign: str, parent: QWidget | None = None
    ) -> None:
        super().__init__(themes, parent, sign)
        self.setProperty("quiet", True)
        self._label = QLabel(text, self)
        self._label.setProperty("kind", "dim")
        self._add(self._label)
        self._apply_theme()

    def set_compact(self, compact: bool) -> None:
        """Show only the sign."""
        self._label.setHidden(compact)


class ModelPill(QWidget):
    """Name, quantisation and size of the model; a press opens the model picker.

    Signals:
        pressed(): the picker is wanted.
        cancel_requested(): the load in progress is not wanted any more.
    """

    pressed = Signal()
    cancel_requested = Signal()

    def __init__(self, themes: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._themes = themes
        self._model = HeaderModel()
        self._tags_shown = (True, True)
        self._name_kept = True
        self._button = _LoadingPill(themes, self)
        self._mark = QLabel(self._button)
        self._name = ElidedLabel("", self._button, Qt.TextElideMode.ElideMiddle)
        self._quantization = QLabel(self._button)
        self._size = QLabel(self._button)
        for tag in (self._quantization, self._size):
            tag.setProperty("kind", "tag")
            tag.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self._button._add(self._mark, self._name, self._quantization, self._size)
        self._button.clicked.connect(self.pressed)
        self._cancel = QPushButton(self.tr("Cancel"), self)
        self._cancel.setProperty("kind", "flat")
        self._cancel.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self._cancel.setAccessibleName(self.tr("Cancel loading the model"))
        self._cancel.clicked.connect(self.cancel_requested)
        self._row = QHBoxLayout(self)
        self._row.setContentsMargins(0, 0, 0, 0)
        self._row.setSpacing(4)
        self._row.addWidget(self._button)
        self._row.addWidget(self._cancel)
        self.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Preferred)
        themes.changed.connect(self._refresh)
        self._button._apply_theme()
        self._refresh()

    @property
    def button(self) -> QPushButton:
        """The pill itself, below which the picker opens."""
        return self._button

    def set_model(self, model: HeaderModel) -> None:
        """Show a model, or that there is none, or how far it is loaded."""
        self._model = model
        self._refresh()

    def wishes(self) -> tuple[int, ...]:
        """Return the widths in pixels when nothing is left out, and which parts there are."""
        parts = (self._mark, self._cancel)
        return (*self._button.wishes(), *(part.isHidden() for part in parts))

    def set_name_kept(self, kept: bool) -> None:
        """Keep the name readable, or let it be shortened to some letters."""
        self._name_kept = kept

    def measure_again(self) -> None:
        """Forget the old size now."""
        readable = min(_text_width(self._name), self._themes.theme.px(_READABLE_PX))
        self._name.setMinimumWidth(readable if self._name_kept else 0)
        self._button.measure_again()
        self._row.invalidate()
        self.updateGeometry()

    def set_tags_shown(self, *, quantization: bool, size: bool) -> None:
        """Leave tags out where there is no room; the tooltip still has them."""
        if (quantization, size) != self._tags_shown:
            self._tags_shown = (quantization, size)
            self._refresh()

    @Slot()
    def _refresh(self) -> None:
        model, theme = self._model, self._themes.theme
        loading, lost = model.state == "loading", model.state == "lost"
        quantization, size = model.quantization, model.size_bytes
        if model.state == "none":
            text = self.tr("Choose a model")
            spoken = self.tr("No model is loaded. Choose a model.")
            quantization, size = "", None
        elif loading:
            percent = "" if model.progress is None else f" {model.progress:.0%}".replace("%", " %")
            text = self.tr("Loading %1…").replace("%1", model.name) + percent
            spoken = text
            quantization, size = "", None
        elif lost:
            text = model.name
            spoken = self.tr("The engine stopped. %1 has to be loaded again.").replace(
                "%1", model.name
            )
        else:
            text = model.name
            spoken = self.tr("Model: %1 %2").replace("%1", model.name).replace("%2", quantization)
        self._name.setText(text)
        weight = 400 if model.state == "none" else 600
        self._name.setStyleSheet(
            f"font-weight: {weight}; color: {theme.css('dim' if lost or not text else 'ink')};"
        )
        self._mark.setVisible(lost)
        self._mark.setPixmap(
            pixmap("warning", theme.css("danger"), theme.px(15), ratio=self.devicePixelRatioF())
        )
        self._quantization.setText(quantization)
        self._quantization.setVisible(bool(quantization) and self._tags_shown[0])
        self._size.setText("" if size is None else format_bytes(size))
        self._size.setVisible(size is not None and self._tags_shown[1])
        if not loading:
            hand_focus_on(self._cancel)
        self._cancel.setVisible(loading)
        self._button.set_progress(model.progress if loading else None)
        self._button.setToolTip(model.detail or spoken)
        self._button.setAccessibleName(spoken)
        self._name.setMaximumWidth(theme.px(360))


class _LoadingPill(_Pill):
    """The model's pill with a thin line of progress along its lower edge."""

    def __init__(self, themes: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__(themes, parent)
        self._progress: float | None = None

    def set_progress(self, progress: float | None) -> None:
        self._progress = progress
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if self._progress is None:
            return
        theme = self._themes.theme
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        inset, height = theme.px(7), max(2, theme.px(2))
        whole = QRectF(inset, self.height() - height - 2, self.width() - 2 * inset, height)
        painter.setBrush(theme.colour("line"))
        painter.drawRoundedRect(whole, height / 2, height / 2)
        done = QRectF(whole)
        done.setWidth(whole.width() * min(max(self._progress, 0.0), 1.0))
        if self.isRightToLeft():
            done.moveRight(whole.right())
        painter.setBrush(theme.colour("accent"))
        painter.drawRoundedRect(done, height / 2, height / 2)


class PresetPill(_Pill):
    """Name of the preset in force; a press lists the presets.

    Signals:
        preset_chosen(str): a preset's name.
        settings_requested(): the chat's settings are wanted.
    """

    preset_chosen = Signal(str)
    settings_requested = Signal()

    def __init__(self, themes: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__(themes, parent)
        self.setProperty("quiet", True)
        self._names: tuple[str, ...] = ()
        self._current = ""
        self._label = ElidedLabel(self.tr("Preset"), self)
        self._label.setProperty("kind", "dim")
        self.setAccessibleName(self.tr("Preset"))
        self._add(self._label)
        self._menu = QMenu(self)
        self._menu.aboutToShow.connect(self._fill)
        self.clicked.connect(self._open)
        self._apply_theme()

    def set_presets(self, names: tuple[str, ...], current: str, *, changed: bool = False) -> None:
        """Show the preset in force. ``changed``: the chat's values differ from it."""
        self._names = names
        self._current = current
        shown = f"{current} *" if changed else current
        text = self.tr("Preset: %1").replace("%1", shown)
        self._label.setText(text)
        self._label.setMaximumWidth(self._themes.theme.px(200))
        hint = self.tr("The chat's values differ from the preset.") if changed else ""
        self.setToolTip(hint)
        self.setAccessibleName(text)

    @Slot()
    def _open(self) -> None:
        corner = self.rect().bottomRight() if self.isRightToLeft() else self.rect().bottomLeft()
        self._menu.popup(self.mapToGlobal(corner))

    @Slot()
    def _fill(self) -> None:
        self._menu.clear()
        for name in self._names:
            action = self._menu.addAction(name.replace("&", "&&"))
            action.setCheckable(True)
            action.setChecked(name == self._current)
            action.triggered.connect(
                lambda _checked=False, name=name: self.preset_chosen.emit(name)
            )
        self._menu.addSeparator()
        settings = self._menu.addAction(self.tr("Chat settings…"))
        settings.triggered.connect(self.settings_requested)
