"""Settings in the window: the dialogs, and what a change does at once."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QCoreApplication, QObject, QUrl, Signal, Slot
from PySide6.QtGui import QDesktopServices

from app.engine.qt_client import EngineProcess
from app.paths import Paths
from app.settings import SettingError, Settings, by_scope
from app.ui.chat_controller import ChatController
from app.ui.main_window import MainWindow
from app.ui.presenters.engine import EnginePresenter
from app.ui.shell.views import Notice
from app.ui.store_bridge import StoreBridge
from app.ui.theme import ThemeManager
from app.ui.transcript.view import Transcript

if TYPE_CHECKING:
    from app.ui.presenters.load_settings import LoadSettingsPresenter

__all__ = ["PreferencesPresenter"]

_TEXT_STEP = 10


class PreferencesPresenter(QObject):
    """Opens settings dialogs and applies what is changed in them.

    Signals:
        changed(str): key of an ``app`` setting.
    """

    changed = Signal(str)

    def __init__(
        self,
        settings: Settings,
        paths: Paths,
        themes: ThemeManager,
        engine: EngineProcess,
        models: EnginePresenter,
        controller: ChatController,
        store: StoreBridge,
        window: MainWindow,
        transcript: Transcript,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._settings = settings
        self._paths = paths
        self._themes = themes
        self._engine = engine
        self._controller = controller
        self._store = store
        self._window = window
        self._transcript = transcript
        self._models = models
        self._load_settings: LoadSettingsPresenter | None = None
        self.freed_bytes: Callable[[], dict[str, int]] = dict
        """What unloading the present model would give back, by memory pool."""
        window.sidebar.settings_requested.connect(self.open_settings)
        window.sidebar.chats.chat_settings_requested.connect(self._on_chat_settings)
        window.header.preset.settings_requested.connect(self.open_chat_settings)
        window.header.preset.preset_chosen.connect(self._on_preset)
        controller.conversation_changed.connect(self._show_preset)
        for key in ("text_size", "theme", "send_key", "transcript_width", "rpc"):
            self._apply(key)
        self._show_preset()

    # --- program ---

    @Slot()
    def open_settings(self) -> None:
        """Show the program's settings."""
        from app.ui.dialogs.settings_dialog import SettingsDialog

        values = {s.key: self._settings.get(s.key) for s in by_scope("app")}
        dialog = SettingsDialog(self._themes, values, self._window)
        dialog.value_changed.connect(self.set_value)
        _open(dialog)

    @Slot(str, object)
    def set_value(self, key: str, value: Any) -> None:
        """Keep a setting and apply it."""
        try:
            self._settings.set(key, value)
        except SettingError as error:
            self._say(str(error))
            return
        except OSError as error:
            self._say(
                self.tr("The settings can't be saved ({0}); they hold until you quit.").format(
                    error.strerror or error
                )
            )
        self._apply(key)
        self.changed.emit(key)

    def _apply(self, key: str) -> None:
        value = self._settings.get(key)
        if key == "theme":
            self._themes.set_mode(value)
        elif key == "text_size":
            self._themes.set_text_size(value)
        elif key == "send_key":
            self._window.chat.composer.set_send_key(value)
            self._transcript.send_key = value
        elif key == "transcript_width":
            self._transcript.set_column_width(value)
            self._window.chat.set_column_width(value)
        elif key == "rpc":
            self._engine.use_remotes(value)
        elif key == "show_statistics":
            self._controller.refresh_views()

    def step_text_size(self, direction: int) -> None:
        """Make all text larger (1), smaller (-1) or as declared (0)."""
        size = 100 if direction == 0 else self._settings.get("text_size") + direction * _TEXT_STEP
        self.set_value("text_size", min(200, max(75, size)))

    # --- model ---

    @Slot(str)
    def open_load_settings(self, path: str) -> None:
        """Show how a model is loaded."""
        from app.ui.presenters.load_settings import LoadSettingsPresenter

        if self._load_settings is None:
            self._load_settings = LoadSettingsPresenter(
                self._settings,
                self._engine,
                self._models,
                self._themes,
                self._window,
                self._freed,
                self,
            )
            self._load_settings.told.connect(self._say)
        self._load_settings.open(path)

    def _freed(self) -> dict[str, int]:
        return self.freed_bytes()

    # --- chat ---

    @Slot(str)
    def _on_chat_settings(self, key: str) -> None:
        here = self._controller.conversation
        if here is not None and here.id == key:
            self.open_chat_settings()
        else:
            self._controller.open(key, self.open_chat_settings)

    @Slot()
    def open_chat_settings(self) -> None:
        """Show system prompt, preset and sampling of the chat on screen."""
        from app.ui.dialogs.chat_dialog import ChatDialog, ChatSettings
        from app.ui.dialogs.presets import DEFAULT_PRESET, preset_values

        here = self._controller.conversation
        values = self._controller.new_chat_values if here is None else here
        system = values.system_prompt
        settings = ChatSettings(
            system_prompt=str(self._settings.get("system_prompt")) if system is None else system,
            preset=values.preset or DEFAULT_PRESET,
            sampling=preset_values(values.sampling),
        )
        title = (here.title if here is not None else "") or self.tr("New chat")
        dialog = ChatDialog(self._themes, title, settings, self._settings.presets, self._window)
        dialog.applied.connect(
            lambda applied: self._controller.set_chat_values(
                applied.system_prompt, applied.preset, _changed(applied.sampling)
            )
        )
        dialog.preset_saved.connect(self._save_preset)
        dialog.preset_deleted.connect(lambda name: self._save_preset(name, None))
        _open(dialog)

    def _save_preset(self, name: str, values: dict[str, Any] | None) -> None:
        try:
            self._settings.set_preset(name, values)
        except (OSError, SettingError) as error:
            self._say(str(error))
        self._show_preset()

    @Slot(str)
    def _on_preset(self, name: str) -> None:
        from app.ui.dialogs.presets import all_presets, preset_values

        preset = all_presets(self._settings.presets).get(name)
        if preset is None:
            return
        system = preset.get("system_prompt")
        self._controller.set_chat_values(system, name, _changed(preset_values(preset)))

    @Slot()
    def _show_preset(self) -> None:
        from app.ui.dialogs.presets import DEFAULT_PRESET, all_presets, preset_values

        here = self._controller.conversation
        values = self._controller.new_chat_values if here is None else here
        name = values.preset or DEFAULT_PRESET
        sampling = dict(values.sampling)
        presets = all_presets(self._settings.presets)
        expected = _changed(preset_values(presets.get(name, {})))
        self._window.header.preset.set_presets(tuple(presets), name, changed=sampling != expected)

    @Slot()
    def open_context_log(self) -> None:
        """Show what left the context of the chat on screen, and when."""
        from app.ui.dialogs.context_log import ContextLogDialog, ContextLogEntry

        names = {"user": self.tr("You"), "assistant": self.tr("Model")}
        said = {
            message.id: (names[message.role], " ".join(message.text.split())[:120])
            for message in self._controller.path
        }
        entries = [
            ContextLogEntry(
                datetime.fromtimestamp(event.created_ms / 1000, UTC).astimezone(),
                event.dropped_tokens,
                event.n_ctx,
                tuple(said[key] for key in event.dropped if key in said),
            )
            for event in self._controller.events
        ]
        if not entries:
            self._say(self.tr("Nothing has left the context of this chat."))
            return
        _open(ContextLogDialog(self._themes, entries, self._window))

    # --- help ---

    def open_about(self) -> None:
        """Show version, engine and folders."""
        from app.engine.packs import backend_name
        from app.ui.dialogs.about import AboutDialog
        from app.version import version

        hello = self._engine.state.hello
        facts = [(self.tr("Data folder"), str(self._paths.data))]
        if hello is not None:
            facts.append((self.tr("Engine"), hello.engine))
            facts.append((self.tr("Processor"), hello.cpu))
            facts += [
                (self.tr("Device"), f"{device.name} {device.description}")
                for device in hello.devices
            ]
        found = None if hello is None else {backend_name(d.backend) for d in hello.devices}
        facts.append((self.tr("Backends"), _backends(found)))
        _open(AboutDialog(self._themes, version(), facts, self._window))

    def open_logs(self) -> None:
        """Show the folder of log files."""
        QDesktopServices.openUrl(QUrl.fromLocalFile(str(self._paths.logs)))

    def _say(self, sentence: str) -> None:
        self._window.chat.notices.show_notice(Notice("settings", sentence, "warning"))


def _backends(found: set[str] | None) -> str:
    """Return which backends this copy holds, and what each of them found on this computer.

    Args:
        found: names of the backends that have a device; None before the engine has told.
    """
    from app.engine.packs import built_in_backends, engine_folder, find_packs

    held = dict.fromkeys(built_in_backends(engine_folder()), "")
    problems = {}
    for pack in find_packs():
        held.setdefault(pack.name, _tr("engine pack"))
        if pack.problem is not None:
            problems[pack.name] = pack.problem
    lines = []
    for name, whence in held.items():
        if name in problems:
            lines.append(problems[name])
            continue
        if found is None:
            state = _tr("not asked yet")
        elif name in found:
            state = _tr("in use")
        else:
            state = _tr("no server named") if name == "RPC" else _tr("no device found")
        lines.append(f"{name}: " + ", ".join(part for part in (whence, state) if part))
    return "\n".join(lines) or _tr("the engine is not installed")


def _tr(text: str) -> str:
    return QCoreApplication.translate("PreferencesPresenter", text)


def _changed(sampling: Any) -> dict[str, Any]:
    """Return the sampling values that differ from their defaults."""
    defaults = {setting.key: setting.default for setting in by_scope("sampling")}
    return {key: value for key, value in sampling.items() if defaults[key] != value}


def _open(dialog: Any) -> None:
    from PySide6.QtCore import Qt

    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    dialog.open()
