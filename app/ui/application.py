"""The composition root: everything of the window is made here and handed to what needs it.

The window takes keys first. What is behind it (pages, the panel, dialogs, the library) is made
when somebody asks for it, or by the warm-up after the window stands; see `parts`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Qt, QTimer, Slot
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication

from app.data.state import StateFile
from app.engine.protocol import ModelInfo
from app.engine.qt_client import EngineProcess
from app.paths import Paths
from app.settings import Settings
from app.settings.files import sweep
from app.ui import parts, tasks
from app.ui.chat_controller import ChatController
from app.ui.collector import Collector
from app.ui.first_model import interrupted_load, model_at_start
from app.ui.later import Later, is_made
from app.ui.main_window import MainWindow
from app.ui.presenters.chat import ChatPresenter
from app.ui.presenters.chats import ChatsPresenter
from app.ui.presenters.context import ContextPresenter
from app.ui.presenters.engine import EnginePresenter
from app.ui.presenters.preferences import PreferencesPresenter
from app.ui.presenters.store import StorePresenter
from app.ui.shell.views import Notice, Severity
from app.ui.store_bridge import StoreBridge
from app.ui.theme import ThemeManager
from app.ui.transcript.items import MessageAction
from app.ui.transcript.view import Transcript
from app.ui.warm_up import WarmUp
from app.ui.window_state import place_at_first

if TYPE_CHECKING:
    from app.data.library.changes import LibraryChanges
    from app.data.records import Conversation

__all__ = ["Application"]

_CLOSE_MS = 8000
_TEXT_STEPS = {"text_larger": 1, "text_smaller": -1, "text_normal": 0}


class Application(QObject):
    """The program with a window.

    Args:
        paths: where its files are.
        model: a file to open with it.
        settings: read already; None reads them.
        engine: started already; None makes one.
    """

    inspector = Later("app.ui.presenters.inspector", parts.make_inspector)
    tuning = Later("app.ui.presenters.tuning", parts.make_tuning)
    choices = Later("app.data.library.choices", parts.make_choices)
    scanner = Later("app.ui.presenters.library_scan", parts.make_scanner)
    library = Later("app.ui.presenters.models", parts.make_library)
    find = Later("app.ui.presenters.find", parts.make_find)
    summary = Later("app.ui.presenters.summary", parts.make_summary)
    models_page = Later("app.ui.presenters.library", parts.make_models_page)
    variants = Later("app.ui.presenters.variants", parts.make_variants)
    downloads = Later("app.ui.presenters.downloads", parts.make_downloads)
    updates = Later("app.ui.presenters.updates", parts.make_updates)
    compare = Later("app.ui.presenters.compare", parts.make_compare)
    planner = Later("app.ui.presenters.planner", parts.make_planner)

    def __init__(
        self,
        paths: Paths,
        model: str | None = None,
        *,
        settings: Settings | None = None,
        engine: EngineProcess | None = None,
    ) -> None:
        super().__init__()
        self.collector = Collector(self)
        # The program ends when the engine has left, not when its window is closed.
        QGuiApplication.setQuitOnLastWindowClosed(False)
        self.paths = paths
        self.settings = settings or Settings(paths.settings)
        self.engine = engine or EngineProcess()
        self.engine.setParent(self)
        self.state = StateFile(paths.state)
        self.themes = ThemeManager(self.settings.get("theme"), self.settings.get("text_size"), self)
        self.store = StoreBridge(paths.store, self)
        self.window = MainWindow(self.themes)
        self.transcript = Transcript(self.themes)
        self.window.chat.set_transcript(self.transcript)
        self.controller = ChatController(self.engine, self.store, self.settings, self)
        self.models = EnginePresenter(self.engine, self.window, self.settings, self.state, self)
        self.chat = ChatPresenter(
            self.store, self.controller, self.window, self.transcript, self.settings, self
        )
        self.context = ContextPresenter(
            self.engine, self.controller, self.chat, self.window, self.settings, self
        )
        self.chats = ChatsPresenter(
            self.store, self.controller, self.window, self.transcript, self.state, self
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
        self.store_notices = StorePresenter(self.store, self.window, self)
        self.warm_up = WarmUp(parts.warm_up_steps(self), self)
        self.warm_up.finished.connect(self.collector.keep)
        self._has_chosen = False  # a model was asked for
        self._shown_chat: str | None = None
        self._closing = False
        self.has_ended = False  # the engine has left; what is open can be released
        self._offer_pages()
        self._connect()
        self._start(model)

    def _offer_pages(self) -> None:
        """Offer pages that are made at the first click on them."""
        window = self.window
        window.offer_page("models", self.tr("Models"), "models", lambda: self.models_page)
        window.offer_page("compare", self.tr("Compare"), "compare", lambda: self.compare)
        window.offer_page("planner", self.tr("Planner"), "planner", lambda: self.planner)
        window.offer_inner_page("get_models", "models", lambda: self.downloads)
        window.expect_inspector()

    def _connect(self) -> None:
        window, controller = self.window, self.controller
        window.action_triggered.connect(self._on_action)
        window.closing.connect(self.shut_down)
        window.model_wanted.connect(self.choose_model)
        window.load_settings_wanted.connect(self.preferences.open_load_settings)
        self.models.wanted.connect(self._before_load)
        self.models.expected_changed.connect(self._show_hint)
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
        self.context.summary_wanted.connect(self._on_summary_wanted)
        self.engine.state_changed.connect(self._on_engine_state)
        controller.asker.revive = self.models.revive
        self.preferences.changed.connect(self._on_setting)
        self.chat.measuring.is_measuring = lambda: (
            is_made(self, "compare") and self.compare.is_running
        )

    def _start(self, model: str | None) -> None:
        state = self.state.blob("window")
        if state is None or not self.window.restore_state(state):
            place_at_first(self.window)
        for problem in self.settings.problems:
            self._say("settings-file", problem, "warning")
        self._say("unfinished-load", interrupted_load(self.state, self.models), "warning")
        self.engine.start()
        self.chat.begin(*self.chats.keeper.at_start(reopens=model is None))
        if model is None:
            found, why_not = model_at_start(self.settings, self.state, self.models)
            self._say("not-loaded", why_not, "warning")
            model = None if found is None else str(found)
        if model is None:
            self.window.set_first_run(self.state.last_model is None)
        else:
            self.models.expect(model)
        self._show_hint()
        # After the window stands: what the user sees first must not wait for all of this.
        self.warm_up.start()

    # --- what the warm-up does ---

    @Slot()
    def read_chats(self) -> None:
        """Open the store and show the list of conversations."""
        self.chats.refresh()
        data = self.paths.data
        self.store.do(lambda _store: sweep(data))

    @Slot()
    def load_first_model(self) -> None:
        """Load the model that this start is for, unless the user wants another one or none."""
        if self.models.expected is not None and not self._has_chosen:
            self.models.load(self.models.expected)

    @Slot()
    def _before_load(self) -> None:
        """Make what follows a load from its beginning on."""
        self._has_chosen = True
        self.inspector  # noqa: B018
        self.tuning  # noqa: B018

    # --- commands ---

    @Slot(str)
    def _on_action(self, key: str) -> None:
        match key:
            case "get_models":
                self.show_downloads()
            case "import_chats":
                self.chats.choose_import()
            case "export_all":
                self.chats.export_all()
            case "unload_model":
                self.models.unload()
            case "measure_again":
                self.tuning.again()
            case "find":
                self.find.open()
            case "regenerate":
                self.chat.regenerate_last()
            case "regenerate_several":
                self.chat.regenerate_last_several()
            case "copy_reply":
                self.chat.copy_last()
            case "text_larger" | "text_smaller" | "text_normal":
                self.preferences.step_text_size(_TEXT_STEPS[key])
            case "context_log":
                self.preferences.open_context_log()
            case "logs":
                self.preferences.open_logs()
            case "open_record":
                self.inspector.replay.choose_file()
            case "updates":
                self.updates.ask()
            case "about":
                self.preferences.open_about()

    @Slot(object)
    def _on_message_action(self, action: MessageAction) -> None:
        if action.kind == "show_record":
            self.inspector.show_turn(action.message_id)

    # These make what they need.

    @Slot(str)
    def choose_model(self, path: str) -> None:
        """Load a model, and show the chat."""
        self.library.choose(path)

    @Slot(str)
    def plan_file(self, path: str) -> None:
        """Show a model in the planner."""
        self.planner.plan_file(path)

    @Slot(object)
    def compare_files(self, paths: Sequence[str]) -> None:
        """Take variants to the Compare page."""
        self.compare.choose(paths)

    @Slot()
    def _on_summary_wanted(self) -> None:
        self.summary.start()

    @Slot()
    def show_downloads(self) -> None:
        """Bring the page Get models on screen."""
        self.downloads.show_page()

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
        self.chat.files.count(again=True)
        self.context.refresh()

    @Slot(object)
    def _on_conversation(self, conversation: Conversation | None) -> None:
        self.chat.refresh_generating()
        key = None if conversation is None else conversation.id
        if key != self._shown_chat:
            self._shown_chat = key
            self.context.refresh()
            self.window.chat.notices.clear_passing()
            self.models.notices.offer_model_of(conversation)

    @Slot(object)
    def _on_engine_state(self, _state: object) -> None:
        self.chat.refresh_generating()
        self._show_hint()

    @Slot()
    def _show_hint(self) -> None:
        self.chat.show_empty_hint(self.models.loading_name)

    @Slot(str)
    def _on_model_wanted(self, message_id: str) -> None:
        """Regenerate with the model that is chosen next."""
        self.library.then_regenerate(message_id, self.controller.regenerate)
        self.window.open_picker()

    @Slot(str)
    def _on_several_wanted(self, message_id: str) -> None:
        """Answer in several versions; a model that is loaded for fewer is loaded again first.

        Its own settings stay as they are: the next load has them again.
        """
        measuring = self.chat.measuring
        if measuring.holds_back(lambda: self._on_several_wanted(message_id)):
            return  # also the load would disturb what is measured
        replies = int(self.settings.get("versions_at_once"))

        def regenerate() -> None:
            measuring.unasked(lambda: self.controller.regenerate(message_id, replies))

        model = self.engine.state.model
        path = self.models.path
        if model is None or path is None or model.sequences >= replies:
            regenerate()
        else:
            self.models.load(path, once={"sequences": replies}, then=regenerate)

    @Slot(str)
    def _on_setting(self, key: str) -> None:
        if key in {"model_folders", "scan_other_programs"}:
            self.scanner.scan()
        elif key in {"offline", "hub_endpoint", "download_folder"} and is_made(self, "downloads"):
            self.downloads.refresh()

    @Slot(object)
    def on_scanned(self, changes: LibraryChanges) -> None:
        """Have the Models page made if there is something for it to tell."""
        if (changes.gone or changes.changed) and not is_made(self, "models_page"):
            self.models_page.take(changes)

    def _say(self, key: str, sentence: str, severity: Severity) -> None:
        if sentence:
            self.window.chat.notices.show_notice(Notice(key, sentence, severity))

    # --- the end ---

    @Slot()
    def shut_down(self) -> None:
        """Store what there is, end the engine, and quit; once."""
        if self._closing:
            return
        self._closing = True
        self.warm_up.stop()
        self.store_notices.close()
        self.state.set_blob("window", self.window.save_state())
        self.chats.keeper.close()
        self.window.toast.forget_all()
        self.controller.runner.save_now()
        for part in ("planner", "models_page", "variants", "compare", "downloads", "scanner"):
            if is_made(self, part):
                getattr(self, part).close()
        self.models.forget_load()
        if is_made(self, "tuning"):
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
        self.collector.close()
        self.transcript.close_workers()
        tasks.end_all()
        self.store.close()
        self.window.deleteLater()
