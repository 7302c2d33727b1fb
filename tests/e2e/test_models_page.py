"""The Models page in the whole program: found, planned, said, acted on."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from PySide6.QtWidgets import QDialog

from app.data.bandwidths import keep_bandwidth, kept_bandwidth, kept_probe
from app.data.state import StateFile
from app.engine.bandwidth import LARGE_BYTES
from app.engine.threads import clamp_threads, cpu_name
from app.paths import default_paths
from app.ui.models.details import DetailsDialog
from app.ui.models.trash_dialog import TrashDialog
from app.ui.models.views import VariantView
from app.ui.presenters.library_views import library_view
from inspector.records import BandwidthRecord
from tests.app.engine.conftest import FakeScript
from tests.helpers.library_files import lora, projector, write_ollama
from tests.helpers.tiny_gguf import TinyModel, tiny_builder, write_tiny_model
from tests.helpers.window import Program

Open = Callable[..., Program]
SMALL_BYTES = 1 << 20  # the smallest buffer: a tiny model reads less at each token
SIZES = (LARGE_BYTES, SMALL_BYTES, 97 << 20)  # the last is the starter model's


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder with models of two programs, and a trash."""
    for name in ("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "HF_HOME", "HF_HUB_CACHE", "OLLAMA_MODELS"):
        monkeypatch.delenv(name, raising=False)
    folder = tmp_path / "ada"
    (folder / ".local" / "share").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setenv("XDG_DATA_HOME", str(folder / ".local" / "share"))
    studio = folder / ".lmstudio" / "models" / "ada" / "Tiny-1M-GGUF"
    for quant in ("F32", "F16"):
        write_tiny_model(studio / f"Tiny-1M-{quant}.gguf", TinyModel(name="Tiny 1M"))
    projector(64, "Tiny 1M").write(studio / "mmproj-Tiny-1M-f16.gguf")
    lora("llama", "Tiny 1M").write(studio / "pirate.gguf")
    (studio / "cut.gguf").write_bytes(tiny_builder().build()[:-9])
    built = tiny_builder(TinyModel(name="Other 2M", layers=3))
    write_ollama(folder / ".ollama" / "models", "other", "2m", built)
    return folder


@pytest.fixture
def program(home: Path, open_program: Open, fake_script: FakeScript) -> Program:
    """The program with its Models page on screen and everything planned."""
    fake_script(replies=["ok"])
    know_bandwidth(default_paths().state)
    program = open_program()
    program.until(lambda: program.app.engine.state.status == "ready")
    program.app.window.show_page("models")
    settled(program)
    return program


def know_bandwidth(path: Path, sizes: tuple[int, ...] = SIZES) -> None:
    """Keep probes of a quiet computer, so that no test waits for one or depends on its load."""
    for size in sizes:
        record = BandwidthRecord(
            at_ms=1, threads=clamp_threads(None), buffer_bytes=size, samples=(20e9,)
        )
        keep_bandwidth(StateFile(path), cpu_name(), record)


def settled(program: Program) -> None:
    scanner, page = program.app.scanner, program.app.models_page

    def is_quiet() -> bool:
        # The list is filled after a scan, and planned after that.
        return not (scanner.is_scanning or page.is_filling or page.is_planning)

    program.until(is_quiet)
    program.qtbot.wait(1)
    program.until(is_quiet)


def rows(program: Program) -> dict[str, VariantView]:
    """Return the files on screen by name."""
    shown = program.app.models_page.page.tree.library.variants()
    return {Path(row.key).name: row for row in shown}


def notices(program: Program) -> dict[str, str]:
    bars = program.app.models_page.page.notices._bars
    return {key: bar.text for key, bar in bars.items()}


def dialog(program: Program, kind: type[QDialog]) -> QDialog:
    program.until(lambda: any(d.isVisible() for d in program.app.window.findChildren(kind)))
    return next(d for d in program.app.window.findChildren(kind) if d.isVisible())


def test_what_is_on_the_computer_is_grouped_and_planned(program: Program) -> None:
    page = program.app.models_page.page
    groups = {group.title: group for group in page.tree.library.groups}
    assert {"Tiny-1M", "Other 2M"} <= set(groups)
    tiny = groups["Tiny-1M"]
    assert [row.kind for row in tiny.variants] == ["model", "model", "projector", "adapter"]
    assert [row.name for row in groups["Files that can't be used"].variants] == ["cut.gguf"]
    row = rows(program)["Tiny-1M-F32.gguf"]
    assert row.fit.verdict == "fits"
    assert row.fit.words.startswith("Fits, ")
    assert row.fit.max_context_tokens == 2048
    assert row.fit.shares
    assert "model" in page.toolbar._summary.text()
    assert "Ollama · other:2m" in {row.place for row in rows(program).values()}


def test_a_bandwidth_measured_while_busy_is_measured_again_by_a_click(
    program: Program,
) -> None:
    toolbar = program.app.models_page.page.toolbar
    assert "measured" in toolbar._basis.text()
    assert toolbar._measure.isHidden()
    state, size, threads = program.app.state, LARGE_BYTES, clamp_threads(None)
    # Probes that threads had to wait in, and that are slower than any computer.
    slow = BandwidthRecord(at_ms=1, threads=threads, buffer_bytes=size, samples=(1e6,), waited=True)
    probes = state.blobs("bandwidth ")
    assert len(probes) == len(SIZES)
    for name in probes:
        kind = int(name.rpartition("^")[2])
        of_size = msgspec.structs.replace(slow, buffer_bytes=min(size, (1 << kind) - 1))
        state.set_blob(name, msgspec.json.encode(of_size))
    program.app.models_page.refresh_predictions()
    program.until(lambda: "measured while busy" in toolbar._basis.text())
    assert not toolbar._measure.isHidden()
    program.until(lambda: "while busy" in rows(program)["Tiny-1M-F32.gguf"].fit.decode_words)
    before = rows(program)["Tiny-1M-F32.gguf"].fit.decode_per_s
    assert before is not None
    toolbar._measure.click()
    assert (toolbar._measure.isEnabled(), toolbar._measure.text()) == (False, "Measuring…")
    program.until(lambda: (rows(program)["Tiny-1M-F32.gguf"].fit.decode_per_s or 0) > 100 * before)
    assert "from the memory's bandwidth" in rows(program)["Tiny-1M-F32.gguf"].fit.decode_words
    program.until(toolbar._measure.isEnabled)
    assert toolbar._measure.text() == "Measure again"
    assert notices(program)["told"].startswith(("Measured: memory is read at ", "Still busy: "))
    # The machine may be busy now, too, and a later plan measures anew what was disturbed: the line
    # and the button say what is kept.
    cpu = cpu_name()

    def is_rough() -> bool:
        found = [kept_bandwidth(state, cpu, threads, size) for size in SIZES]
        return any(item is None or not item.steady for item in found)

    program.until(lambda: ("while busy" in toolbar._basis.text()) == is_rough())
    assert toolbar._measure.isHidden() != is_rough()


def test_before_the_first_prediction_it_is_said_to_come(
    home: Path, open_program: Open, fake_script: FakeScript
) -> None:
    fake_script(replies=["ok"])
    program = open_program()
    app = program.app
    program.until(lambda: app.engine.state.hello is not None)
    predictions = app.models_page.predictions
    program.until(lambda: bool(app.scanner.entries) and not app.scanner.is_scanning)
    assert predictions._machine is None  # nobody looked yet
    predictions.show_basis()
    assert app.models_page.page.toolbar._basis.text() == "Predictions come in a moment"
    app.window.show_page("models")
    program.until(lambda: app.models_page.page.toolbar._basis.text().startswith("Predicted for"))


def test_memory_is_measured_at_a_small_model_s_own_size(
    home: Path, open_program: Open, fake_script: FakeScript
) -> None:
    fake_script(replies=["ok"])
    know_bandwidth(default_paths().state, (LARGE_BYTES,))
    program = open_program()
    program.until(lambda: program.app.engine.state.status == "ready")
    program.app.window.show_page("models")
    settled(program)
    state, threads = program.app.state, clamp_threads(None)
    assert kept_probe(state, cpu_name(), threads, SMALL_BYTES) is not None
    program.until(lambda: bool(rows(program)["Tiny-1M-F32.gguf"].fit.decode_words))
    assert "for larger models" not in rows(program)["Tiny-1M-F32.gguf"].fit.decode_words


def test_what_went_and_what_changed_is_said_once(program: Program, home: Path) -> None:
    studio = home / ".lmstudio" / "models" / "ada" / "Tiny-1M-GGUF"
    (studio / "Tiny-1M-F16.gguf").unlink()
    write_tiny_model(studio / "Tiny-1M-F32.gguf", TinyModel(name="Tiny 1M", context=1024))
    program.app.scanner.scan()
    settled(program)
    said = notices(program)
    assert "Tiny-1M-F16.gguf" in said["gone"]
    assert "Tiny-1M-F32.gguf" in said["changed"]
    row = rows(program)["Tiny-1M-F32.gguf"]
    assert row.context_tokens == 1024
    program.until(lambda: rows(program)["Tiny-1M-F32.gguf"].fit.max_context_tokens == 1024)
    program.app.models_page.page.notices.clear()
    program.app.scanner.scan()
    settled(program)
    assert notices(program) == {}


def test_what_comes_back_is_not_told_as_gone_any_more(program: Program, home: Path) -> None:
    studio = home / ".lmstudio" / "models" / "ada" / "Tiny-1M-GGUF"
    names = ["Tiny-1M-F16.gguf", "Tiny-1M-F32.gguf"]

    def told_after_a_look() -> list[str]:
        program.app.scanner.scan()
        settled(program)
        return [name for name in names if name in notices(program).get("gone", "")]

    for name in names:
        (studio / name).rename(home / name)
        assert name in told_after_a_look()
    assert told_after_a_look() == names
    (home / names[0]).rename(studio / names[0])
    assert told_after_a_look() == names[1:]
    (home / names[1]).rename(studio / names[1])
    assert told_after_a_look() == []
    assert "gone" not in notices(program)


def test_what_is_gone_at_the_next_start_is_said(
    program: Program, home: Path, open_program: Open
) -> None:
    program.close()
    (home / ".lmstudio" / "models" / "ada" / "Tiny-1M-GGUF" / "Tiny-1M-F16.gguf").unlink()
    again = open_program()
    again.app.window.show_page("models")
    settled(again)
    assert "Tiny-1M-F16.gguf" in notices(again)["gone"]


def test_removed_from_the_list_and_put_back(program: Program) -> None:
    page = program.app.models_page.page
    key = rows(program)["Tiny-1M-F16.gguf"].key
    arranged = program.app.scanner.arranged
    whole, less = (library_view(arranged, hidden=gone) for gone in ((), {Path(key)}))
    page.hide_requested.emit([key])
    program.until(lambda: "Tiny-1M-F16.gguf" not in rows(program))
    # What is not listed is not counted, neither above nor behind the model's name.
    assert whole.summary != less.summary
    sizes = [sum(group.size_bytes or 0 for group in view.groups) for view in (whole, less)]
    assert sizes[0] - sizes[1] == Path(key).stat().st_size
    assert key not in {entry.key for entry in program.app.window.picker.models.shown()}
    assert Path(key).exists()
    page.put_back_requested.emit([key])
    program.until(lambda: "Tiny-1M-F16.gguf" in rows(program))
    assert key in {entry.key for entry in program.app.window.picker.models.shown()}


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the trash lies elsewhere")
def test_the_trash_is_asked_for(program: Program, home: Path) -> None:
    page = program.app.models_page.page
    key = rows(program)["Tiny-1M-F16.gguf"].key
    page.trash_requested.emit([key])
    asked = dialog(program, TrashDialog)
    asked.reject()
    assert Path(key).exists()
    page.trash_requested.emit([key])
    dialog(program, TrashDialog).accept()
    program.until(lambda: "Tiny-1M-F16.gguf" not in rows(program))
    settled(program)
    assert not Path(key).exists()
    trash = home / ".local" / "share" / "Trash" / "files"
    assert [path.name for path in trash.iterdir()] == ["Tiny-1M-F16.gguf"]
    assert notices(program) == {}  # our own doing is no news


def test_what_is_not_ours_to_move_is_said(program: Program, starter: Path) -> None:
    page = program.app.models_page.page
    ollama = next(row for row in rows(program).values() if row.source == "Ollama")
    page.trash_requested.emit([ollama.key])
    assert "ollama rm other:2m" in notices(program)["told"]
    page.trash_requested.emit([str(starter)])
    assert "part of the installed program" in notices(program)["told"]
    assert Path(ollama.key).exists()


def test_chat_with_it(program: Program) -> None:
    page = program.app.models_page.page
    key = rows(program)["Tiny-1M-F32.gguf"].key
    page.chat_requested.emit(key)
    program.until(lambda: program.app.engine.state.model is not None)
    assert program.app.window.page == "chat"
    program.app.window.show_page("models")
    program.until(lambda: rows(program)["Tiny-1M-F32.gguf"].is_loaded)
    page.trash_requested.emit([key])
    assert "unload it" in notices(program)["told"]
    settled(program)


def test_folders_and_files_are_added(program: Program, tmp_path: Path) -> None:
    folder = tmp_path / "more"
    write_tiny_model(folder / "New-3M-F32.gguf", TinyModel(name="New 3M"))
    single = write_tiny_model(tmp_path / "Single-4M-F32.gguf", TinyModel(name="Single 4M"))
    program.app.models_page.files.add([str(folder), str(single)])
    program.until(lambda: {"New-3M-F32.gguf", "Single-4M-F32.gguf"} <= set(rows(program)))
    settled(program)
    assert program.app.settings.get("model_folders") == (str(folder),)
    assert rows(program)["Single-4M-F32.gguf"].source == "Added"
    # Files stay where they are.
    assert single.exists()


def test_details_of_good_and_broken_files(program: Program) -> None:
    page = program.app.models_page.page
    page.details_requested.emit(rows(program)["Tiny-1M-F32.gguf"].key)
    shown = dialog(program, DetailsDialog)
    assert isinstance(shown, DetailsDialog)
    assert shown.proxy.rowCount() > 10
    shown.reject()
    broken = Path(rows(program)["Tiny-1M-F32.gguf"].key).with_name("cut.gguf")
    broken.write_bytes(b"GGUF")
    page.details_requested.emit(str(broken))
    program.until(lambda: "details" in notices(program))
    assert "ends" in notices(program)["details"]


def test_wishes_for_other_pages_leave(program: Program) -> None:
    presenter, page = program.app.models_page, program.app.models_page.page
    key = rows(program)["Tiny-1M-F32.gguf"].key
    with program.qtbot.waitSignal(presenter.plan_wanted) as planned:
        page.plan_requested.emit(key)
    assert planned.args == [key]
    with program.qtbot.waitSignal(presenter.compare_wanted) as compared:
        page.compare_requested.emit((key, key))
    assert compared.args == [(key, key)]


def test_a_scan_can_be_stopped(program: Program) -> None:
    before = set(rows(program))
    program.app.scanner.scan()
    program.app.models_page.page.cancel_requested.emit()
    settled(program)
    assert set(rows(program)) == before
