"""What llama.cpp's log says about a load: buffers, layers on devices, flash attention, errors.

The sizes are printed nowhere else. Lines as of llama.cpp in llama-cpp-python 0.3.36:
``load_tensors:   CPU_Mapped model buffer size =    93.48 MiB``,
``llama_kv_cache:        CPU KV buffer size =   180.00 MiB``,
``llama_memory_recurrent:        CPU RS buffer size =     3.28 MiB``,
``sched_reserve:        CPU compute buffer size =   101.25 MiB``,
``llama_context:        CPU  output buffer size =     0.19 MiB``,
``load_tensors: offloaded 0/31 layers to GPU``,
``resolve_fused_ops: Flash Attention not supported, set to disabled`` (nothing when it is).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from app.engine.protocol import EngineBuffer

__all__ = [
    "buffers",
    "error_lines",
    "flash_attention",
    "layers_offloaded",
    "ran_out_of_memory",
    "refused",
]

_BUFFER = re.compile(
    r":\s+(?P<device>\S+)\s+(?P<what>model|KV|RS|compute|output) buffer size\s*=\s*"
    r"(?P<mib>[0-9.]+) MiB"
)
_WHAT = {
    "model": "weights",
    "KV": "kv",
    "RS": "state",
    "compute": "compute",
    "output": "output",
}
_OFFLOADED = re.compile(r"offloaded (\d+)/(\d+) layers to GPU")
_REFUSED = re.compile(r"failed to allocate (?P<device>\S+) buffer of size (?P<bytes>\d+)")
_NO_FLASH = re.compile(r"Flash Attention not supported|flash_attn is not compatible")
_MEMORY = re.compile(
    r"out of memory|failed to allocate|unable to allocate|cannot allocate|alloc(?:ation)? failed"
    r"|bad_alloc|insufficient memory|ErrorOutOfDeviceMemory|not enough (?:space|memory)",
    re.IGNORECASE,
)
_ERROR = re.compile(
    r"error|fail|invalid|missing|unknown|unsupported|not supported|mismatch|corrupt|requires"
    r"|GGML_ASSERT|out of memory",
    re.IGNORECASE,
)
# What a file holds, whose keys and names may have such words.
_CONTENT = re.compile(r"llama_model_loader: - |print_info: ")


def buffers(
    lines: Iterable[str], names: Mapping[str, str] | None = None
) -> tuple[EngineBuffer, ...]:
    """Return the buffers of a log. Sizes are exact to 0.01 MiB, as they are printed.

    ``names`` are the devices of buffers that are not called by them: "RPC0[10.0.0.5:50052]" is the
    first device of a server, whatever its name here.
    """
    return tuple(
        EngineBuffer(
            device=(names or {}).get(match["device"], match["device"]),
            what=_WHAT[match["what"]],
            size_bytes=round(float(match["mib"]) * 1024 * 1024),
        )
        for line in lines
        if (match := _BUFFER.search(line))
    )


def layers_offloaded(lines: Iterable[str]) -> tuple[int, int] | None:
    """Return (layers on GPUs, layers in all with the output), None if the log has no such line."""
    for line in lines:
        if match := _OFFLOADED.search(line):
            return int(match[1]), int(match[2])
    return None


def flash_attention(lines: Iterable[str]) -> bool:
    """Return what "auto" came to: on, unless the log says that it could not be."""
    return not any(_NO_FLASH.search(line) for line in lines)


def refused(lines: Iterable[str], names: Mapping[str, str] | None = None) -> tuple[str, int] | None:
    """Return the device that had no room and the bytes it was asked for, None if all had.

    For ``names`` see `buffers`.
    """
    for line in lines:
        if match := _REFUSED.search(line):
            return (names or {}).get(match["device"], match["device"]), int(match["bytes"])
    return None


def ran_out_of_memory(text: str) -> bool:
    """Tell whether last words speak of a shortage of memory."""
    return _MEMORY.search(text) is not None


def error_lines(lines: Iterable[str], most: int = 6) -> list[str]:
    """Return the lines that look like causes, the last ones first dropped to ``most``."""
    found = [line.strip() for line in lines if _ERROR.search(line) and not _CONTENT.match(line)]
    return found[-most:]
