"""The engine's own figures for many ways of loading one file, from a process that may die.

`dry_runs` starts a child that loads a file without its weights and creates one context after the
other; where an assertion of the engine ends it, another child goes on behind that place. Layers
are offloaded to a device over RPC (`tests.helpers.rpc_server`), which stands in for a GPU.
"""

from __future__ import annotations

import ctypes
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tests.helpers.rpc_server import load_engine

__all__ = ["Asked", "Ran", "dry_runs"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One way of loading."""

    context: int = 4096
    ubatch: int = 512
    batch: int = 2048
    cache: str = "f16"
    sequences: int = 1
    unified: bool = False
    flash: str = "on"
    swa_full: bool = False
    outputs: int = 1
    gpu_layers: int = 0


@dataclass(frozen=True, slots=True)
class Ran:
    """What the engine made of it: bytes by device and use; None where it refused or ended."""

    asked: Asked
    buffers: dict[tuple[str, str], int] | None
    n_ctx: int = 0
    crashed: bool = False


def dry_runs(path: Path, asked: Sequence[Asked], endpoint: str | None = None) -> Iterator[Ran]:
    """Yield what the engine makes of each way of loading, in order.

    ``endpoint`` is the address of a device over RPC, or several with commas between them.
    """
    done = 0
    while done < len(asked):
        rest = asked[done:]
        child = subprocess.run(
            [sys.executable, "-m", "tests.helpers.engine_dry_runs", str(path), endpoint or ""],
            input=json.dumps([asdict(item) for item in rest]),
            capture_output=True,
            text=True,
            check=False,
            env=os.environ | {"GGML_NO_BACKTRACE": "1", "PYTHONPATH": str(_root())},
        )
        rows = [json.loads(line) for line in child.stdout.splitlines() if line.startswith("{")]
        for item, row in zip(rest, rows, strict=False):
            found = row["buffers"]
            buffers = None if found is None else {(a, b): size for a, b, size in found}
            yield Ran(item, buffers, row["n_ctx"])
        done += len(rows)
        if len(rows) < len(rest):
            yield Ran(asked[done], None, crashed=True)
            done += 1


def _root() -> Path:
    return Path(__file__).resolve().parents[2]


# --- in the child


def _join(endpoint: str) -> None:
    library = load_engine()
    library.ggml_backend_rpc_add_server.restype = ctypes.c_void_p
    library.ggml_backend_rpc_add_server.argtypes = [ctypes.c_char_p]
    library.ggml_backend_register.argtypes = [ctypes.c_void_p]
    library.ggml_backend_register(library.ggml_backend_rpc_add_server(endpoint.encode()))


def _run(path: str, asked: Sequence[Asked]) -> None:
    from app.engine.backend.context import CACHE_TYPES
    from app.engine.backend.dry_run import breakdown
    from app.engine.backend.library import NativeLog, lib

    log = NativeLog()
    model, layers = None, None
    for item in asked:
        if model is None or layers != item.gpu_layers:
            if model:
                lib.llama_model_free(model)
            parameters = lib.llama_model_default_params()
            parameters.no_alloc = True
            parameters.load_mode = lib.LLAMA_LOAD_MODE_NONE
            parameters.use_extra_bufts = False
            parameters.n_gpu_layers = layers = item.gpu_layers
            model = lib.llama_model_load_from_file(path.encode(), parameters)
            if not model:
                raise SystemExit("\n".join(log.lines()[-5:]))
        settings = lib.llama_context_default_params()
        settings.n_ctx = item.context
        settings.n_batch = item.batch
        settings.n_ubatch = item.ubatch
        settings.n_seq_max = item.sequences
        settings.kv_unified = item.unified
        settings.n_outputs_max = item.outputs
        settings.swa_full = item.swa_full
        settings.type_k = settings.type_v = CACHE_TYPES[item.cache]
        settings.flash_attn_type = {"auto": -1, "off": 0, "on": 1}[item.flash]
        context = lib.llama_init_from_model(model, settings)
        row: dict[str, Any] = {"buffers": None, "n_ctx": 0}
        if context:
            found = breakdown(context)
            assert found is not None
            row["buffers"] = [(part.device, part.what, part.size_bytes) for part in found]
            row["n_ctx"] = lib.llama_n_ctx(context)
            lib.llama_free(context)
        print(json.dumps(row), flush=True)


def _main() -> None:
    path, endpoint = sys.argv[1:3]
    asked = [Asked(**item) for item in json.load(sys.stdin)]
    for address in filter(None, endpoint.split(",")):
        _join(address)
    _run(path, asked)


if __name__ == "__main__":
    _main()
