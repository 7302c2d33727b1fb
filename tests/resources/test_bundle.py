from __future__ import annotations

import json
from pathlib import Path

import pytest

from resources.installers import bundle, project
from resources.installers.project import Target


def test_the_program_gets_all_that_it_reads() -> None:
    entries = bundle.own_data()
    names = {f"{folder}/{Path(source).name}" for source, folder in entries}
    assert {
        "resources/theme.json",
        "resources/hardware.json",
        "resources/self-test.gguf",
        "resources/icons/app-icon.svg",
        "resources/fonts/Inter-Regular.otf",
        "resources/fonts/OFL.txt",
    } <= names
    assert not [name for name in names if "installers" in name or name.endswith(".py")]


def test_one_copy_of_each_engine_library(tmp_path: Path) -> None:
    """As a wheel has them: three names for each, since wheels hold no links."""
    names = [
        *(f"lib{n}.so{e}" for n in ("ggml", "ggml-base", "llama") for e in ("", ".0", ".0.5.1")),
        "libggml-cpu-x64.so", "libggml-cpu-haswell.so", "libggml-rpc.so", "libmtmd.so",
        "libllama-common.so", "libllama-common.so.0", "cmake",
    ]  # fmt: skip
    for name in names:
        (tmp_path / name).touch()
    kept = {path.name for path in tmp_path.iterdir() if bundle.keep_engine(path)}
    assert kept == {
        "libllama.so", "libggml.so.0", "libggml-base.so.0",
        "libggml-cpu-x64.so", "libggml-cpu-haswell.so", "libggml-rpc.so",
    }  # fmt: skip


def test_windows_and_macos_names_are_known(tmp_path: Path) -> None:
    windows = {"llama.dll", "ggml.dll", "ggml-base.dll", "ggml-cpu-x64.dll", "ggml-rpc.dll"}
    macos = {"libllama.dylib", "libggml.0.dylib", "libggml-base.0.dylib", "libggml-metal.so"}
    for folder, names, copies in (
        ("windows", windows, {"llama.lib", "mtmd.dll"}),
        ("macos", macos, {"libggml.dylib", "libggml-base.dylib", "libllama.0.dylib"}),
    ):
        (tmp_path / folder).mkdir()
        for name in names | copies:
            (tmp_path / folder / name).touch()
        kept = {p.name for p in (tmp_path / folder).iterdir() if bundle.keep_engine(p)}
        assert kept == names


def test_this_environments_engine_can_be_bundled() -> None:
    names = {Path(source).name for source, _folder in bundle.engine_libraries()}
    assert any(name.startswith(("libllama", "llama")) for name in names)
    assert any("ggml-cpu" in name for name in names)


@pytest.mark.parametrize(
    ("name", "stays"),
    [
        ("PySide6/Qt/plugins/platforms/libqxcb.so", True),
        ("PySide6/Qt/plugins/platforms/libqoffscreen.so", True),
        ("PySide6/Qt/plugins/platforms/libqvnc.so", False),
        ("PySide6/Qt/plugins/platformthemes/libqgtk3.so", False),
        ("PySide6/Qt/plugins/sqldrivers/libqsqlite.so", False),
        ("PySide6/Qt/plugins/tls/libqopensslbackend.so", True),
        ("PySide6/Qt/lib/libQt6Gui.so.6", True),
        ("PySide6/Qt/lib/libQt6Qml.so.6", False),
        ("PySide6/Qt/lib/libQt6Quick.so.6", False),
        ("PySide6/Qt/lib/libQt6OpenGL.so.6", True),
        ("PySide6/Qt/translations/qtbase_de.qm", False),
        ("libstdc++.so.6", False),
        ("libfontconfig.so.1", False),
        ("libxcb-cursor.so.0", True),
        ("libcrypto.so.3", True),
        ("numpy.libs/libstdc++.so.6", True),
        ("llama_cpp/lib/libggml-cpu-x64.so", True),
    ],
)
def test_what_stays_of_what_was_collected(name: str, stays: bool) -> None:
    assert bundle.wanted(name, "linux") is stays


def test_libraries_of_dropped_plugins_go_with_them() -> None:
    needs = {
        "xcb.so": ["libxcb-cursor.so.0", "libc.so.6"],
        "cursor": ["libxcb-util.so.1"],
        "util": [],
        "gtk": ["libpango.so.0"],
        "pango": [],
    }
    files = [
        ("PySide6/Qt/plugins/platforms/libqxcb.so", "xcb.so"),
        ("libxcb-cursor.so.0", "cursor"),
        ("libxcb-util.so.1", "util"),
        ("libgtk-3.so.0", "gtk"),
        ("libpango.so.0", "pango"),
    ]
    kept = bundle.reachable(files, lambda path: needs[path])
    assert kept == {
        "PySide6/Qt/plugins/platforms/libqxcb.so", "libxcb-cursor.so.0", "libxcb-util.so.1",
    }  # fmt: skip


def test_a_program_is_told_what_it_is() -> None:
    target = Target("1.0", "linux", "x86_64", with_model=True)
    facts = json.loads(bundle.build_facts(target, "https://example.org/latest"))
    assert facts["system"] == "linux"
    assert facts["with_model"] is True
    assert facts["releases_url"] == "https://example.org/latest"
    assert facts["commit"] == project.commit()


def test_the_recipe_is_python_and_names_files_that_exist() -> None:
    text = (project.HERE / "plimsoll.spec").read_text(encoding="utf-8")
    compile(text, "plimsoll.spec", "exec")
    for name in ("hooks/restore_environment.py", "hooks/hook-llama_cpp.py"):
        assert (project.HERE / name).is_file()
        assert Path(name).name in text or name.startswith("hooks/hook-")
