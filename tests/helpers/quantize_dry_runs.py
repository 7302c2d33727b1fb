"""What the engine's quantiser would make of a file, from a process that may die.

`quantize_dry_runs` asks llama.cpp's own dry run for every kind of variant: each tensor's type by
name, or None where it refuses. An assertion ends the child; another goes on behind that place.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

__all__ = ["QuantizeRan", "quantize_dry_runs"]

_LINE = re.compile(
    r"\[\s*\d+/\s*\d+\] (?P<name>\S+)\s.*type =\s*(?P<old>\w+), size =.*?(?:MiB \((?P<new>\w+)\))?$"
)


@dataclass(frozen=True, slots=True)
class QuantizeRan:
    """The types by tensor in lower case, None where the engine refused or ended."""

    path: Path
    file_type: int
    types: dict[str, str] | None


def quantize_dry_runs(asked: Sequence[tuple[Path, int]]) -> Iterator[QuantizeRan]:
    """Yield what the quantiser makes of each (file, number of ``llama_ftype``), in order."""
    done = 0
    while done < len(asked):
        rest = asked[done:]
        child = subprocess.run(
            [sys.executable, "-m", "tests.helpers.quantize_dry_runs"],
            input=json.dumps([(str(path), number) for path, number in rest]),
            capture_output=True,
            text=True,
            check=False,
            env=os.environ
            | {"GGML_NO_BACKTRACE": "1", "PYTHONPATH": str(Path(__file__).resolve().parents[2])},
        )
        rows = [json.loads(line) for line in child.stdout.splitlines() if line.startswith("{")]
        for (path, number), row in zip(rest, rows, strict=False):
            yield QuantizeRan(path, number, row["types"])
        done += len(rows)
        if len(rows) < len(rest):
            yield QuantizeRan(*asked[done], None)
            done += 1


def _main() -> None:
    import ctypes

    import llama_cpp

    text: list[str] = []

    @llama_cpp.llama_log_callback  # type: ignore[untyped-decorator]
    def log(_level: int, part: bytes, _data: object) -> None:
        text.append(part.decode("utf-8", "replace"))

    llama_cpp.llama_log_set(log, None)
    for path, number in json.load(sys.stdin):
        text.clear()
        parameters = llama_cpp.llama_model_quantize_default_params()
        parameters.ftype = number
        parameters.dry_run = True
        parameters.allow_requantize = True
        code = llama_cpp.llama_model_quantize(path.encode(), b"", ctypes.byref(parameters))
        types = None
        if code == 0:
            matches = (_LINE.match(line) for line in "".join(text).splitlines())
            types = {
                match["name"]: (match["new"] or match["old"]).lower() for match in matches if match
            }
        print(json.dumps({"types": types}), flush=True)


if __name__ == "__main__":
    _main()
