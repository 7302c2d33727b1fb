"""How each part of the program behind the window is made, and what it is joined to.

Every function imports what it makes: a part costs nothing until it is wanted. What a part has
missed until then it asks for when it is made.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

from app.ui.icons import IconKeeper
from app.ui.later import modules_of
from app.ui.warm_up import Step, imports, library

if TYPE_CHECKING:
    from app.data.library.choices import LibraryChoices
    from app.ui.application import Application
    from app.ui.presenters.compare import ComparePresenter
    from app.ui.presenters.downloads import DownloadsPresenter
    from app.ui.presenters.find import FindPresenter
    from app.ui.presenters.inspector import InspectorPresenter
    from app.ui.presenters.library import LibraryPresenter
    from app.ui.presenters.library_scan import LibraryScanner
    from app.ui.presenters.models import ModelsPresenter
    from app.ui.presenters.planner import PlannerPresenter
    from app.ui.presenters.summary import SummaryPresenter
    from app.ui.presenters.tuning import TuningPresenter
    from app.ui.presenters.updates import UpdatesPresenter
    from app.ui.presenters.variants import VariantPresenter

__all__ = [
    "make_choices",
    "make_compare",
    "make_downloads",
    "make_find",
    "make_inspector",
    "make_library",
    "make_models_page",
    "make_planner",
    "make_scanner",
    "make_summary",
    "make_tuning",
    "make_updates",
    "make_variants",
    "warm_up_steps",
]

# What the first message on screen needs.
_TRANSCRIPT: Final = (
    "app.ui.transcript.stream_markdown",
    "app.ui.transcript.bubble_row",
    "app.ui.transcript.text_row",
    "app.ui.transcript.code_row",
    "app.ui.transcript.meta_row",
    "app.ui.transcript.state_rows",
    "app.ui.transcript.editor_row",
    "app.ui.transcript.table_row",
    "app.ui.transcript.formula_row",
)
# Dialogs that a user may open at any time; their first opening should not wait for imports.
_DIALOGS: Final = (
    "app.ui.dialogs.settings_dialog",
    "app.ui.dialogs.chat_dialog",
    "app.ui.dialogs.load_dialog",
    "app.ui.dialogs.context_log",
    "app.ui.dialogs.keyboard_map",
    "app.ui.dialogs.about",
)


def make_choices(program: Application) -> LibraryChoices:
    """Make what the user chose of models: hidden ones, added ones."""
    from app.data.library.choices import LibraryChoices

    return LibraryChoices(program.state)


def make_scanner(program: Application) -> LibraryScanner:
    """Make what looks for models."""
    from app.ui.presenters.library_scan import LibraryScanner

    scanner = LibraryScanner(program.settings, program.paths, program.choices, program)
    scanner.finished.connect(program.on_scanned)
    return scanner


def make_library(program: Application) -> ModelsPresenter:
    """Make what fills the picker and loads what is chosen."""
    from app.ui.presenters.models import ModelsPresenter

    return ModelsPresenter(
        program.scanner, program.choices, program.engine, program.models, program.window, program
    )


def make_summary(program: Application) -> SummaryPresenter:
    """Make what begins a new chat with a summary of the old one."""
    from app.ui.presenters.summary import SummaryPresenter

    return SummaryPresenter(
        program.engine, program.controller, program.settings, program.window, program
    )


def make_tuning(program: Application) -> TuningPresenter:
    """Make what finds out what is fastest."""
    from app.ui.presenters.tuning import TuningPresenter

    return TuningPresenter(
        program.engine,
        program.models,
        program.window,
        program.settings,
        lambda: not (program.inspector.probing or program.controller.runner.is_running),
        program,
    )


def make_inspector(program: Application) -> InspectorPresenter:
    """Make what the panel shows; the panel itself comes with `InspectorPresenter.build`."""
    from app.ui.presenters.inspector import InspectorPresenter

    inspector = InspectorPresenter(
        program.engine,
        program.controller,
        program.models,
        program.settings,
        program.state,
        program.paths,
        program.window,
        program.themes,
        program,
    )
    program.preferences.freed_bytes = inspector.freed_bytes
    program.context.draft_told.connect(inspector.show_draft)
    program.context.use_told.connect(inspector.show_use)
    program.context.tell_use()
    inspector.fixes.summary_wanted.connect(program.context.summary_wanted)
    inspector.explains_wanted.connect(
        lambda explains: program.preferences.set_value("explain_panel", explains)
    )
    program.preferences.changed.connect(inspector.apply_setting)
    return inspector


def make_find(program: Application) -> FindPresenter:
    """Make what finds text in the chat on screen."""
    from app.ui.presenters.find import FindPresenter

    return FindPresenter(program.controller, program.window, program.transcript, program)


def make_models_page(program: Application) -> LibraryPresenter:
    """Make the Models page."""
    from app.ui.presenters.library import LibraryPresenter

    made = LibraryPresenter(
        program.scanner,
        program.choices,
        program.settings,
        program.state,
        program.engine,
        program.window,
        program.themes,
        program.inspector.freed_bytes,
        program.preferences.set_value,
        program,
    )
    made.chat_wanted.connect(program.choose_model)
    made.load_settings_wanted.connect(program.preferences.open_load_settings)
    made.plan_wanted.connect(program.plan_file)
    made.compare_wanted.connect(program.compare_files)
    made.make_wanted.connect(lambda path, title: program.variants.open(path, title, program.window))
    made.get_models_wanted.connect(program.show_downloads)
    made.bandwidth_known.connect(program.inspector.plan_again)
    program.inspector.bandwidth_known.connect(made.refresh_predictions)
    return made


def make_variants(program: Application) -> VariantPresenter:
    """Make what makes variants of a model."""
    from app.ui.presenters.variants import VariantPresenter

    made = VariantPresenter(
        program.engine, program.settings, program.state, program.paths, program.themes, program
    )
    made.made.connect(program.scanner.scan)
    made.told.connect(program.models_page.tell)
    return made


def make_downloads(program: Application) -> DownloadsPresenter:
    """Make the page Get models."""
    from app.ui.presenters.download_fits import DownloadFits
    from app.ui.presenters.downloads import DownloadsPresenter

    def look_there(folder: str) -> None:
        """Look for models where downloads go, too."""
        known = program.settings.get("model_folders")
        if Path(folder) != program.paths.models and folder not in known:
            program.preferences.set_value("model_folders", (*known, folder))

    made = DownloadsPresenter(
        program.window,
        program.themes,
        program.settings,
        program.paths,
        DownloadFits(
            program.engine, program.state, program.settings, program.inspector.freed_bytes
        ),
        program,
    )
    made.arrived.connect(program.scanner.scan)
    made.chat_requested.connect(program.choose_model)
    made.settings_requested.connect(program.preferences.open_settings)
    made.folder_needed.connect(look_there)
    made.door.folder_chosen.connect(
        lambda folder: program.preferences.set_value("download_folder", folder)
    )
    return made


def make_updates(program: Application) -> UpdatesPresenter:
    """Make what asks for a newer version when the user wants it."""
    from app.ui.presenters.updates import UpdatesPresenter

    return UpdatesPresenter(program.window, program.settings, program)


def make_compare(program: Application) -> ComparePresenter:
    """Make the Compare page."""
    from app.ui.presenters.compare import ComparePresenter

    return ComparePresenter(
        program.scanner,
        program.engine,
        program.settings,
        program.state,
        program.paths,
        program.window,
        program.themes,
        program,
    )


def make_planner(program: Application) -> PlannerPresenter:
    """Make the Planner page."""
    from app.ui.presenters.planner import PlannerPresenter

    made = PlannerPresenter(
        program.scanner,
        program.choices,
        program.engine,
        program.state,
        program.window,
        program.themes,
        program.inspector.freed_bytes,
        program,
    )
    program.inspector.bandwidth_known.connect(made.this.ask_again)
    return made


def warm_up_steps(program: Application) -> Iterator[Step]:
    """Yield what is done once the window stands: what the user sees first comes first.

    Pages are imported and not made: that takes a twentieth of a second when one is opened, and
    would be felt as a jerk while somebody types.
    """
    yield from imports("app.data.writer")
    yield program.read_chats
    yield program.chat.files.read_new
    yield library("psutil")
    yield from imports("app.ui.presenters.inspector", "app.ui.presenters.tuning")
    yield lambda: program.inspector
    yield lambda: program.tuning
    yield program.load_first_model
    if program.chats.keeper.is_opening:
        yield from _transcript_steps()
        yield program.chats.keeper.open_last
    yield from imports("inspector.widgets.panel")
    yield program.inspector.build
    yield from imports("app.ui.presenters.library_scan", "app.ui.presenters.models")
    yield lambda: program.library
    yield program.scanner.scan
    yield from _transcript_steps()
    yield from imports("app.ui.presenters.summary")
    yield lambda: program.summary
    yield from imports(*modules_of(type(program)), *_DIALOGS)
    for keeper in program.window.findChildren(IconKeeper):
        yield keeper.prepare


def _transcript_steps() -> Iterator[Step]:
    """Yield what the first message on screen waits for; what is there already is not done again."""
    yield library("markdown_it")
    yield library("mdit_py_plugins.gfm_autolink")
    yield from imports(*_TRANSCRIPT)
