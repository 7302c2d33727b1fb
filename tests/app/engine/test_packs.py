"""Engine packs: found, refused with a sentence, and really loaded by a worker."""

from __future__ import annotations

import json
import os
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from app.engine import packs
from app.engine.client import EngineClient
from app.engine.packs import PACKS_VARIABLE, Pack, find_packs
from app.paths import Paths

ENGINE = "0.3.36"


def make_pack(folder: Path, name: str = "Vulkan", **changed: object) -> Path:
    folder.mkdir(parents=True)
    library = "libggml-vulkan.so"
    (folder / library).write_bytes(b"")
    told = {"name": name, "engine": ENGINE, "libraries": [library], **changed}
    (folder / "pack.json").write_text(json.dumps(told), encoding="utf-8")
    return folder


def test_a_pack_is_found_with_its_libraries(tmp_path: Path) -> None:
    folder = make_pack(tmp_path / "engines" / "vulkan")
    (pack,) = find_packs([tmp_path / "engines", tmp_path / "missing"], ENGINE)
    assert pack == Pack("Vulkan", folder, (folder / "libggml-vulkan.so",))


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"engine": "0.3.1"}, "was built for engine 0.3.1; this program has 0.3.36"),
        ({"libraries": ["missing.so"]}, "lacks its file missing.so"),
        ({"libraries": ["../pack.json"]}, "lacks its file pack.json"),
        ({"libraries": "libggml-vulkan.so"}, "is no description of a pack"),
        ({"name": ""}, "is no description of a pack"),
    ],
)
def test_a_pack_that_does_not_fit_is_refused(
    tmp_path: Path, changed: dict[str, object], said: str
) -> None:
    make_pack(tmp_path / "vulkan", **changed)  # type: ignore[arg-type]
    (pack,) = find_packs([tmp_path], ENGINE)
    assert pack.libraries == ()
    assert pack.problem is not None
    assert said in pack.problem


@pytest.mark.parametrize("text", ["", "[]", "{", "[" * 60_000, '{"name": 1}'])
def test_a_broken_description_is_told(tmp_path: Path, text: str) -> None:
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "pack.json").write_text(text, encoding="utf-8")
    (pack,) = find_packs([tmp_path], ENGINE)
    assert pack.problem is not None


def test_a_pack_that_fits_wins_over_one_of_its_name_that_does_not(tmp_path: Path) -> None:
    make_pack(tmp_path / "old" / "vulkan", engine="0.1")
    make_pack(tmp_path / "new" / "vulkan")
    (pack,) = find_packs([tmp_path / "old", tmp_path / "new"], ENGINE)
    assert pack.problem is None


def test_packs_lie_where_the_variable_says_and_in_the_data_folder(paths: Paths) -> None:
    folders = packs.pack_folders(paths, {PACKS_VARIABLE: os.pathsep.join(["/a", "/b"])})
    assert folders == [Path("/a"), Path("/b"), paths.data / "engines"]


def test_a_built_program_also_looks_beside_itself(
    paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    assert Path(sys.executable).resolve().parent / "engines" in packs.pack_folders(paths, {})


def test_backends_and_variants_are_told_from_file_names(tmp_path: Path) -> None:
    for name in (
        "libggml-base.so.0", "libggml.so.0", "libllama.so", "libggml-cpu-x64.so",
        "libggml-cpu-haswell.so", "libggml-rpc.so", "libggml-rpc.so.0",
    ):  # fmt: skip
        (tmp_path / name).touch()
    assert packs.built_in_backends(tmp_path) == ("CPU", "RPC")
    assert set(packs.cpu_variants(tmp_path)) == {"x64", "haswell"}
    assert packs.built_in_backends(None) == ()
    assert packs.backend_name("MTL") == "Metal"
    assert packs.backend_name("CUDA") == "CUDA"


def test_this_engine_holds_a_processor_backend() -> None:
    assert "CPU" in packs.built_in_backends(packs.engine_folder())


def test_a_worker_tells_of_packs_that_do_not_load_and_works_without(tmp_path: Path) -> None:
    folder = tmp_path / "packs"
    make_pack(folder / "old", "CUDA", engine="0.0.1")
    make_pack(folder / "empty", "Vulkan", engine=version("llama-cpp-python"))
    lines: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(PACKS_VARIABLE, str(folder))
        with EngineClient(stderr=lines.append) as client:
            hello = client.hello
            assert hello is not None
            assert "CPU" in {device.backend for device in hello.devices}
    said = "\n".join(lines)
    assert "The CUDA pack was built for engine 0.0.1" in said
    assert "The Vulkan pack finds no device or driver here" in said
