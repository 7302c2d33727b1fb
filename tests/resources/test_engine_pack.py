from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from app.engine.packs import find_packs
from resources.installers import project
from resources.installers.engine_pack import pack_name, write_pack
from resources.installers.project import Target


@pytest.fixture
def wheel(tmp_path: Path) -> Path:
    path = tmp_path / "engine.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name in ("libggml-vulkan.so", "libggml-vulkan.so.0", "libggml-cpu-x64.so"):
            archive.writestr(f"llama_cpp/lib/{name}", name)
        archive.writestr("other/libggml-vulkan.so", "not this one")
    return path


def test_a_pack_is_one_that_the_program_finds(wheel: Path, tmp_path: Path) -> None:
    cudart = tmp_path / "libcudart.so.12"
    cudart.write_bytes(b"runtime")
    out = write_pack(wheel, "vulkan", tmp_path / "pack.zip", [cudart])
    with zipfile.ZipFile(out) as archive:
        archive.extractall(tmp_path / "engines")
    (pack,) = find_packs([tmp_path / "engines"], project.engine_version())
    assert (pack.name, pack.problem) == ("Vulkan", None)
    (library,) = pack.libraries
    assert library.read_text() == "libggml-vulkan.so"
    assert (pack.folder / "libcudart.so.12").is_file()


def test_a_pack_is_the_same_each_time_and_says_for_what_it_is(wheel: Path, tmp_path: Path) -> None:
    one = write_pack(wheel, "vulkan", tmp_path / "one.zip").read_bytes()
    assert write_pack(wheel, "vulkan", tmp_path / "two.zip").read_bytes() == one
    name = pack_name(Target("1.0", "windows", "x86_64"), "cuda")
    assert name == f"plimsoll-engine-cuda-{project.engine_version()}-windows-x86_64.zip"


def test_an_engine_without_the_backend_makes_no_pack(wheel: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="built without cuda"):
        write_pack(wheel, "cuda", tmp_path / "pack.zip")
