"""Choosing two to six variants out of the library, by group."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import PurePath
from typing import Final

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import (
    QDialog,
    QFileDialog,
    QLabel,
    QLineEdit,
    QTreeWidget,
    QTreeWidgetItem,
    QVBoxLayout,
    QWidget,
)

from app.ui.compare.views import VariantChoice
from app.ui.dialogs.buttons import DialogButtons
from app.ui.dialogs.sizes import open_size
from app.ui.theme import ThemeManager
from gguf_tools.units import format_bytes

__all__ = ["VariantsDialog"]

_LEAST: Final = 2
_MOST: Final = 6
_PATH: Final = Qt.ItemDataRole.UserRole


class VariantsDialog(QDialog):
    """A tree of models and their variants with check boxes.

    Signals:
        taken(tuple of str): paths of the chosen variants.
    """

    taken = Signal(object)

    def __init__(
        self,
        themes: ThemeManager,
        choices: Sequence[VariantChoice],
        chosen: Iterable[str],
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.setWindowTitle(self.tr("Choose variants"))
        theme = themes.theme
        self.filter = QLineEdit(self)
        self.filter.setPlaceholderText(self.tr("Filter"))
        self.filter.setClearButtonEnabled(True)
        self.filter.textChanged.connect(self._on_filter)
        self.tree = QTreeWidget(self)
        self.tree.setHeaderHidden(True)
        self.tree.setColumnCount(2)
        self.tree.setAccessibleName(self.tr("Variants by model"))
        self.tree.header().setStretchLastSection(False)
        self.tree.header().setSectionResizeMode(0, self.tree.header().ResizeMode.Stretch)
        self.tree.header().setSectionResizeMode(1, self.tree.header().ResizeMode.ResizeToContents)
        self._groups: dict[str, QTreeWidgetItem] = {}
        self._fill(choices, set(chosen))
        self.tree.itemChanged.connect(self._on_changed)
        self._said = QLabel(self)
        self._said.setProperty("kind", "small")
        self._said.setWordWrap(True)
        buttons = DialogButtons(self)
        buttons.other(self.tr("Other file…")).clicked.connect(self._choose_file)
        self._take = buttons.main(self.tr("Compare these"))
        self._take.clicked.connect(self._on_take)
        buttons.cancel()
        column = QVBoxLayout(self)
        side = theme.px(18)
        column.setContentsMargins(side, side, side, side)
        column.setSpacing(theme.px(10))
        column.addWidget(self.filter)
        column.addWidget(self.tree, 1)
        column.addWidget(self._said)
        column.addWidget(buttons)
        open_size(self, theme, 520, 560)
        self._on_changed()

    def chosen(self) -> tuple[str, ...]:
        """Return the paths that are ticked, in the order of the list."""
        return tuple(
            str(item.data(0, _PATH))
            for item in self._leaves()
            if item.checkState(0) == Qt.CheckState.Checked
        )

    def add_file(self, path: str) -> None:
        """Offer a file that is in none of the library's folders, ticked."""
        for item in self._leaves():
            if item.data(0, _PATH) == path:
                item.setCheckState(0, Qt.CheckState.Checked)
                return
        name = path.replace("\\", "/").rpartition("/")[2]
        self._add(
            VariantChoice(path=path, name=name, label=name, group=self.tr("Other files")), {path}
        )
        self._on_changed()

    # --- inner

    def _leaves(self) -> list[QTreeWidgetItem]:
        return [item for group in self._groups.values() for item in _children(group)]

    def _fill(self, choices: Sequence[VariantChoice], chosen: set[str]) -> None:
        counts = Counter(choice.group for choice in choices)
        self._labels = Counter((choice.group, choice.label) for choice in choices)
        # Models with several variants first: they are what there is to compare.
        for choice in sorted(
            choices, key=lambda c: (counts[c.group] < _LEAST, c.group.lower(), -(c.size_bytes or 0))
        ):
            self._add(choice, chosen)

    def _add(self, choice: VariantChoice, chosen: set[str]) -> None:
        group = self._groups.get(choice.group)
        if group is None:
            group = QTreeWidgetItem(self.tree, [choice.group or choice.name])
            group.setFlags(Qt.ItemFlag.ItemIsEnabled)
            group.setExpanded(True)
            font = group.font(0)
            font.setWeight(font.Weight.DemiBold)
            group.setFont(0, font)
            self._groups[choice.group] = group
        size = "" if choice.size_bytes is None else format_bytes(choice.size_bytes)
        label = choice.label
        alone = self._labels[choice.group, label] < 2
        if not alone or any(item.text(0) == label for item in _children(group)):
            label = f"{label} · {PurePath(choice.path).name}"
        item = QTreeWidgetItem(group, [label, size])
        item.setTextAlignment(1, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        item.setFlags(Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsUserCheckable)
        state = Qt.CheckState.Checked if choice.path in chosen else Qt.CheckState.Unchecked
        item.setData(0, _PATH, choice.path)
        item.setCheckState(0, state)
        item.setToolTip(0, choice.path)

    @Slot()
    def _on_changed(self) -> None:
        count = len(self.chosen())
        self._take.setEnabled(_LEAST <= count <= _MOST)
        if count < _LEAST:
            text = self.tr("Choose at least two.")
        elif count > _MOST:
            text = self.tr("{0} are chosen; at most six can be compared.").format(count)
        else:
            text = self.tr("{0} chosen.").format(count)
        self._said.setText(text)

    @Slot(str)
    def _on_filter(self, text: str) -> None:
        wanted = text.lower().split()
        for group in self._groups.values():
            any_shown = False
            for item in _children(group):
                words = f"{group.text(0)} {item.text(0)} {item.data(0, _PATH)}".lower()
                shown = all(word in words for word in wanted)
                item.setHidden(not shown)
                any_shown |= shown
            group.setHidden(not any_shown)

    @Slot()
    def _choose_file(self) -> None:
        dialog = QFileDialog(self, self.tr("Choose a variant"))
        dialog.setNameFilters([self.tr("Models (*.gguf)"), self.tr("All files (*)")])
        dialog.setFileMode(QFileDialog.FileMode.ExistingFiles)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.filesSelected.connect(self._add_files)
        dialog.open()

    @Slot(list)
    def _add_files(self, paths: list[str]) -> None:
        for path in paths:
            self.add_file(path)

    @Slot()
    def _on_take(self) -> None:
        chosen = self.chosen()
        if _LEAST <= len(chosen) <= _MOST:
            self.taken.emit(chosen)
            self.accept()


def _children(group: QTreeWidgetItem) -> list[QTreeWidgetItem]:
    found = (group.child(index) for index in range(group.childCount()))
    return [item for item in found if item is not None]
