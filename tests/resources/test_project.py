from __future__ import annotations

from importlib.metadata import version as installed

import pytest

from app.version import version
from resources.installers import engine, project
from resources.installers.project import Target


def test_the_version_is_one_and_the_same_everywhere() -> None:
    assert project.version() == version() == installed("plimsoll")
    assert project.target().version == version()


def test_the_engine_that_is_built_is_the_one_that_is_asked_for() -> None:
    assert project.engine_version() == installed("llama-cpp-python")


@pytest.mark.parametrize(
    ("target", "kind", "name"),
    [
        (Target("1.2.0", "linux", "x86_64"), "deb", "plimsoll_1.2.0_amd64.deb"),
        (Target("1.2.0", "linux", "arm64"), "deb", "plimsoll_1.2.0_arm64.deb"),
        (Target("1.2.0", "linux", "arm64"), "rpm", "plimsoll-1.2.0-1.aarch64.rpm"),
        (
            Target("1.2.0", "linux", "x86_64", with_model=True),
            "tar.gz",
            "plimsoll-with-model-1.2.0-linux-x86_64.tar.gz",
        ),
        (Target("1.2.0", "macos", "arm64"), "dmg", "plimsoll-1.2.0-macos-arm64.dmg"),
        (Target("1.2.0", "windows", "x86_64"), "exe", "plimsoll-1.2.0-windows-x86_64-setup.exe"),
    ],
)
def test_names_say_version_system_and_processor(target: Target, kind: str, name: str) -> None:
    assert target.file_name(kind) == name


def test_an_unknown_kind_is_refused() -> None:
    with pytest.raises(ValueError, match="msi"):
        Target("1", "windows", "x86_64").file_name("msi")


def test_the_date_can_be_set_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    assert project.source_date() == 1_700_000_000
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "yesterday")
    assert project.source_date() != 1_700_000_000


@pytest.mark.parametrize("system", ["linux", "macos", "windows"])
def test_no_engine_is_built_for_the_builder_alone(system: project.System) -> None:
    options = engine.cmake_options(system, "x86_64")
    assert options["GGML_NATIVE"] == "OFF"
    assert options["GGML_BACKEND_DL"] == options["GGML_CPU_ALL_VARIANTS"] == "ON"
    # Variants are installed where the package looks for libraries.
    assert options["CMAKE_INSTALL_BINDIR"] == options["CMAKE_INSTALL_LIBDIR"] == "llama_cpp/lib"


def test_metal_is_on_for_macs_and_packs_add_their_backend() -> None:
    assert engine.cmake_options("macos", "arm64")["GGML_METAL"] == "ON"
    assert "GGML_VULKAN" not in engine.cmake_options("linux", "x86_64")
    assert engine.cmake_options("linux", "x86_64", "vulkan")["GGML_VULKAN"] == "ON"


def test_the_wheel_is_compiled_and_never_fetched() -> None:
    command = engine.wheel_command({"GGML_NATIVE": "OFF"}, project.ROOT / "wheels", "python3")
    assert command[command.index("--no-binary") + 1] == "llama-cpp-python"
    assert f"llama-cpp-python=={project.engine_version()}" in command
    assert "cmake.define.GGML_NATIVE=OFF" in command
