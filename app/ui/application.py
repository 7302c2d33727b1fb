"""The composition root: everything of the window is made here and handed to what needs it."""

from __future__ import annotations

import logging
import sys
from pathlib import Path
from types import TracebackType

from PySide6.QtCore import QObject, Qt, QTimer, Slot
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication

from app import logs
from app.data.database import StoreNotice
from app.data.library.choices import LibraryChoices
from app.data.records import Conversation
from app.data.state import StateFile
from app.data.writer import StoreThread
from app.engine.protocol import ModelInfo
from app.engine.qt_client import EngineProcess
from app.paths import Paths, default_paths, starter_model
from app.settings import Settings
from app.ui import tasks
from app.ui.chat_controller import ChatController
from app.ui.file_open import FileOpener
from app.ui.main_window import MainWindow
from app.ui.presenters.chat import ChatPresenter
from app.ui.presenters.chats import ChatsPresenter
from app.ui.presenters.compare import ComparePresenter
from app.ui.presenters.context import ContextPresenter
from app.ui.presenters.download_fits import DownloadFits
from app.ui.presenters.downloads import DownloadsPresenter
from app.ui.presenters.engine import EnginePresenter
from app.ui.presenters.inspector import InspectorPresenter
from app.ui.presenters.library import LibraryPresenter
from app.ui.presenters.library_scan import LibraryScanner
from app.ui.presenters.models import ModelsPresenter
from app.ui.presenters.planner import PlannerPresenter
from app.ui.presenters.preferences import PreferencesPresenter
from app.ui.presenters.summary import SummaryPresenter
from app.ui.presenters.tuning import TuningPresenter
from app.ui.presenters.updates import UpdatesPresenter
from app.ui.presenters.variants import VariantPresenter
from app.ui.shell.views import Choice, Notice
from app.ui.signals import SignalQuitter
from app.ui.single_instance import SingleInstance
from app.ui.store_bridge import StoreBridge
from app.ui.theme import ThemeManager
from app.ui.transcript.items import MessageAction
from app.ui.transcript.view import Transcript

__all__ = ["Application", "run"]

log = logging.getLogger(__name__)

_RETRY_MS = 5000
_CLOSE_MS = 8000


class Application(QObject):
    """The program with a window. ``model`` is a file to open with it."""

    def __init__(self, paths: Paths, model: str | None = None) -> None:
        super().__init__()
        # The program ends when the engine has left, not when its window is closed.
        QGuiApplication.setQuitOnLastWindowClosed(False)
        self.paths = paths
        self.settings = Settings(paths.settings)
        self.state = StateFile(paths.state)
        self.themes = ThemeManager(self.settings.get("theme"), self.settings.get("text_size"), self)
        self.store = StoreBridge(StoreThread(paths.store), self)
        self.engine = EngineProcess(self)
        self.window = MainWindow(self.themes)
        self.transcript = Transcript(self.themes)
        self.window.chat.set_transcript(self.transcript)
        self.controller = ChatController(self.engine, self.store, self.settings, self)

        self.models = EnginePresenter(self.engine, self.window, self.settings, self.state, self)
        self.chat = ChatPresenter(
            self.controller, self.window, self.transcript, self.settings, self
        )
        self.context = ContextPresenter(
            self.engine, self.controller, self.chat, self.window, self.settings, self
        )
        self.summary = SummaryPresenter(
            self.engine, self.controller, self.settings, self.window, self
        )
        self.chats = ChatsPresenter(
            self.store, self.controller, self.window, self.transcript, self.state, self
        )
        choices = LibraryChoices(self.state)
        self.scanner = LibraryScanner(self.settings, paths, choices, self)
        self.library = ModelsPresenter(
            self.scanner, choices, self.engine, self.models, self.window, self
        )
        self.preferences = PreferencesPresenter(
            self.settings,
            paths,
            self.themes,
            self.engine,
            self.models,
            self.controller,
            self.store,
            self.window,
            self.transcript,
            self,
        )
        # Before the panel, which asks what came of it.
        self.tuning = TuningPresenter(
            self.engine,
            self.models,
            self.window,
            self.settings,
            lambda: not (self.inspector.probing or self.controller.runner.is_running),
            self,
        )
        self.inspector = InspectorPresenter(
            self.engine,
            self.controller,
            self.models,
            self.settings,
            self.state,
            paths,
            self.window,
            self.themes,
            self,
        )
        self.models_page = LibraryPresenter(
            self.scanner,
            choices,
            self.settings,
            self.state,
            self.engine,
            self.window,
            self.themes,
            self.inspector.freed_bytes,
            self.preferences.set_value,
            self,
        )
        self.variants = VariantPresenter(
            self.engine, self.settings, self.state, paths, self.themes, self
        )
        self.downloads = DownloadsPresenter(
            self.window,
            self.themes,
            self.settings,
            paths,
            DownloadFits(self.engine, self.state, self.settings, self.inspector.freed_bytes),
            self,
        )
        self.updates = UpdatesPresenter(self.window, self.settings, self)
        self.compare = ComparePresenter(
            self.scanner,
            self.engine,
            self.settings,
            self.state,
            paths,
            self.window,
            self.themes,
            self,
        )
        self.planner = PlannerPresenter(
            self.scanner,
            choices,
            self.engine,
            self.state,
            self.window,
            self.themes,
            self.inspector.freed_bytes,
            self,
        )
        self._shown_chat: str | None = None
        self._closing = False
        self.has_ended = False  # the engine has left; what is open can be released
        self._connect()
        self._start(model)

    def _connect(self) -> None:
        window, controller = self.window, self.controller
        window.action_triggered.connect(self._on_action)
        window.closing.connect(self.shut_down)
        self.models.model_loaded.connect(self._on_model_loaded)
        controller.conversation_changed.connect(self._on_conversation)
        self.transcript.action_requested.connect(self._on_message_action)
        controller.model_wanted.connect(self._on_model_wanted)
        controller.several_wanted.connect(self._on_several_wanted)
        controller.dropped_wanted.connect(self.preferences.open_context_log)
        window.header.gauge.pressed.connect(self.preferences.open_context_log)
        controller.context_wanted.connect(self.models.raise_context)
        self.context.context_wanted.connect(self.models.raise_context)
        self.context.cache_wanted.connect(
            lambda n_ctx: self.models.reload({"n_ctx": n_ctx, "type_k": "q8_0", "type_v": "q8_0"})
        )
        self.context.draft_told.connect(self.inspector.show_draft)
        self.context.summary_wanted.connect(self.summary.start)
        self.inspector.summary_wanted.connect(self.summary.start)
        self.inspector.explains_wanted.connect(
            lambda explains: self.preferences.set_value("explain_panel", explains)
        )
        self.preferences.changed.connect(self.inspector.apply_setting)
        self.engine.state_changed.connect(self._on_engine_state)
        self.store.notice_changed.connect(self._on_store_notice)
        self.store.unavailable.connect(self._on_store_trouble)
        self.preferences.changed.connect(self._on_setting)
        self.models_page.chat_wanted.connect(self.library.choose)
        self.models_page.load_settings_wanted.connect(self.preferences.open_load_settings)
        self.models_page.plan_wanted.connect(self.planner.plan_file)
        self.models_page.compare_wanted.connect(self.compare.choose)
        self.models_page.make_wanted.connect(
            lambda path, title: self.variants.open(path, title, self.window)
        )
        self.variants.made.connect(self.scanner.scan)
        self.variants.told.connect(self.models_page.tell)
        self.models_page.get_models_wanted.connect(self.downloads.show_page)
        window.first_run.get_models_requested.connect(self.downloads.show_page)
        self.downloads.arrived.connect(self.scanner.scan)
        self.downloads.chat_requested.connect(self.library.choose)
        self.downloads.settings_requested.connect(self.preferences.open_settings)
        self.downloads.folder_needed.connect(self._on_folder_needed)
        self.downloads.door.folder_chosen.connect(
            lambda folder: self.preferences.set_value("download_folder", folder)
        )
        window.chat.notices.chosen.connect(self._on_choice)
        self._retry = QTimer(self)
        self._retry.setInterval(_RETRY_MS)
        self._retry.timeout.connect(self._retry_store)

    def _start(self, model: str | None) -> None:
        state = self.state.blob("window")
        if state is None or not self.window.restore_state(state):
            room = self.window.screen().availableSize()
            self.window.resize(min(1440, room.width()), min(900, room.height()))
        for problem in self.settings.problems:
            self._say("settings-file", problem, "warning")
        unfinished = self.state.settle_unfinished_load()
        self.engine.start()
        self.store.do(lambda store: None if store.read_only else store.close_interrupted())
        self.chats.refresh()
        self.scanner.scan()
        if unfinished is not None:
            self._say(
                "unfinished-load",
                self.tr(
                    "The last start ended while {0} was loading, so it is not loaded by itself."
                ).format(Path(unfinished.path).name),
                "warning",
            )
        QTimer.singleShot(0, self, self.inspector.build)
        chosen = model or self._model_at_start()
        if chosen is None:
            self.window.set_first_run(not self._knows_a_model())
        else:
            # After the window stands: what the user sees first must not wait for a model.
            QTimer.singleShot(0, self, lambda: self.models.load(chosen))

    def _knows_a_model(self) -> bool:
        return self.state.last_model is not None

    def _model_at_start(self) -> str | None:
        if not self.settings.get("load_last_model"):
            return None
        last = self.state.last_model
        if last is not None and last.is_file():
            if self.models.may_load_by_itself(str(last)):
                return str(last)
            self._say(
                "not-loaded",
                self.tr(
                    "{0} is not loaded by itself: the last try with these settings failed."
                ).format(last.name),
                "warning",
            )
            return None
        starter = starter_model()
        if starter is not None and self.models.may_load_by_itself(str(starter)):
            return str(starter)
        return None

    # --- commands ---

    @Slot(str)
    def _on_action(self, key: str) -> None:
        actions = {
            "get_models": self.downloads.show_page,
            "import_chats": self.chats.choose_import,
            "export_all": self.chats.export_all,
            "unload_model": self.models.unload,
            "measure_again": self.tuning.again,
            "regenerate": self.chat.regenerate_last,
            "regenerate_several": self.chat.regenerate_last_several,
            "copy_reply": self.chat.copy_last,
            "text_larger": lambda: self.preferences.step_text_size(1),
            "text_smaller": lambda: self.preferences.step_text_size(-1),
            "text_normal": lambda: self.preferences.step_text_size(0),
            "context_log": self.preferences.open_context_log,
            "logs": self.preferences.open_logs,
            "open_record": self.inspector.replay.choose_file,
            "updates": self.updates.ask,
            "about": self.preferences.open_about,
        }
        if key in actions:
            actions[key]()

    @Slot(object)
    def _on_message_action(self, action: MessageAction) -> None:
        if action.kind == "show_record":
            self.inspector.show_turn(action.message_id)

    @Slot(str)
    def raise_window(self, model: str = "") -> None:
        """Come forward because of another start, and open its model."""
        window = self.window
        window.setWindowState(window.windowState() & ~Qt.WindowState.WindowMinimized)
        window.show()
        window.raise_()
        window.activateWindow()
        if model:
            self.library.choose(model)

    # --- what happens ---

    @Slot(object)
    def _on_model_loaded(self, _model: ModelInfo) -> None:
        self.window.set_first_run(False)
        self.context.refresh()

    @Slot(object)
    def _on_conversation(self, conversation: Conversation | None) -> None:
        self.chat.refresh_generating()
        key = None if conversation is None else conversation.id
        if key != self._shown_chat:
            self._shown_chat = key
            self.context.refresh()
            self.models.offer_model_of(conversation)

    @Slot(object)
    def _on_engine_state(self, _state: object) -> None:
        self.chat.refresh_generating()
        self.chat.show_empty_hint()

    @Slot(str)
    def _on_model_wanted(self, message_id: str) -> None:
        """Regenerate with the model that is chosen next."""
        self.library.then_regenerate(message_id, self.controller.regenerate)
        self.window.open_picker()

    @Slot(str)
    def _on_several_wanted(self, message_id: str) -> None:
        """Answer in several versions; a model that is loaded for fewer is loaded again first."""
        replies = int(self.settings.get("versions_at_once"))

        def regenerate() -> None:
            self.controller.regenerate(message_id, replies)

        model = self.engine.state.model
        path = self.models.path
        if model is None or path is None or model.sequences >= replies:
            regenerate()
        else:
            self.models.load(path, changes={"sequences": replies}, then=regenerate)

    @Slot(str)
    def _on_setting(self, key: str) -> None:
        if key in {"model_folders", "scan_other_programs"}:
            self.scanner.scan()
        elif key in {"offline", "hub_endpoint", "download_folder"}:
            self.downloads.refresh()

    @Slot(str)
    def _on_folder_needed(self, folder: str) -> None:
        """Look for models where downloads go, too."""
        known = self.settings.get("model_folders")
        if Path(folder) != self.paths.models and folder not in known:
            self.preferences.set_value("model_folders", (*known, folder))

    # --- the store ---

    @Slot(object)
    def _on_store_notice(self, notice: StoreNotice | None) -> None:
        if notice is None:
            self._retry.stop()
            self.window.chat.notices.remove_notice("store")
            self._say("store-back", self.tr("Chats are stored again."), "info")
        elif notice.kind in {"full", "read_only", "unreadable"}:
            self._on_store_trouble(notice.sentence)
            self._retry.start()
        else:
            self._say("store", notice.sentence, "warning")

    @Slot(str)
    def _on_store_trouble(self, sentence: str) -> None:
        self.window.chat.notices.show_notice(
            Notice("store", sentence, "error", "", (Choice("retry", self.tr("Try again")),))
        )

    @Slot()
    def _retry_store(self) -> None:
        self.store.do(lambda store: store.retry())

    @Slot(str, str)
    def _on_choice(self, notice: str, choice: str) -> None:
        if notice == "store" and choice == "retry":
            self._retry_store()

    def _say(self, key: str, sentence: str, severity: str) -> None:
        self.window.chat.notices.show_notice(Notice(key, sentence, severity))  # type: ignore[arg-type]

    # --- the end ---

    @Slot()
    def shut_down(self) -> None:
        """Store what there is, end the engine, and quit; once."""
        if self._closing:
            return
        self._closing = True
        self._retry.stop()
        self.state.set_blob("window", self.window.save_state())
        self.chats.keep_draft()
        self.planner.close()
        self.controller.runner.save_now()
        self.models_page.close()
        self.variants.close()
        self.compare.close()
        self.downloads.close()
        self.scanner.close()
        self.models.forget_load()
        self.tuning.close()
        self.engine.closed.connect(self._on_engine_closed)
        # The engine leaves by a ladder of its own; this is for a ladder that gets stuck.
        QTimer.singleShot(_CLOSE_MS, self, self._on_engine_closed)
        self.engine.close()

    @Slot()
    def _on_engine_closed(self) -> None:
        self.has_ended = True
        app = QApplication.instance()
        if app is not None:
            app.quit()

    def release(self) -> None:
        """Let go of everything after the event loop has ended."""
        self.transcript.close_workers()
        tasks.wait_for_all()
        self.store.close()
        self.window.deleteLater()


def _install_excepthook() -> None:
    def hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        log.error("unexpected error", exc_info=(kind, error, trace))
        sys.__excepthook__(kind, error, trace)

    sys.excepthook = hook


def run(model: str | None = None) -> int:
    """Open the window, with a model; return the exit code."""
    paths = default_paths()
    try:
        paths.make()
    except OSError as error:
        print(f"plimsoll: the data folder can't be made: {error}.", file=sys.stderr)
    logs.set_up(paths.logs)
    _install_excepthook()
    app = QApplication(["plimsoll"])
    app.setApplicationName("Plimsoll")
    app.setDesktopFileName("plimsoll")
    instance = SingleInstance(paths.data, app)
    if instance.hand_over(model or ""):
        print("plimsoll: it is open already; its window was brought forward.", file=sys.stderr)
        return 0
    instance.listen()
    program = Application(paths, model)
    instance.asked.connect(program.raise_window)
    opener = FileOpener(app)
    opener.asked.connect(program.raise_window)
    app.installEventFilter(opener)
    quitter = SignalQuitter(program.window.close, app)
    program.window.show()
    code = app.exec()
    quitter.close()
    instance.close()
    program.release()
    return code
