"""How quick facts and plans are: ``python -m tests.bench.gguf_speed [facts|fuzz|scan|plan]``."""

from __future__ import annotations

import random
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import psutil

from gguf_tools.facts import read_facts
from gguf_tools.header import HeaderError
from gguf_tools.machine import Device, Machine, cpu_only
from gguf_tools.plan import make_plan
from gguf_tools.settings import LoadSettings
from gguf_tools.units import GIB, MIB
from tests.helpers.gguf_bytes import GgufBuilder
from tests.helpers.shape_gguf import ShapeModel

_OWN = """
import sys, time
started = time.perf_counter()
from gguf_tools.facts import read_facts
loaded = time.perf_counter()
facts = read_facts(sys.argv[1])
done = time.perf_counter()
assert facts.layers == 32 and facts.vocab_size == 262144
"""
_PACKAGE = """
import sys, time
started = time.perf_counter()
from gguf import GGUFReader
loaded = time.perf_counter()
reader = GGUFReader(sys.argv[1])
done = time.perf_counter()
"""
_REPORT = """
import psutil
memory = psutil.Process().memory_info()
peak = getattr(memory, "peak_wset", memory.rss)
try:  # the peak that other counters give is inherited from the parent
    for line in open("/proc/self/status"):
        if line.startswith("VmHWM"):
            peak = int(line.split()[1]) * 1024
except OSError:
    pass
print(done - loaded, peak)
"""


def facts() -> None:
    """Read a file whose vocabulary of 262,144 comes before the hyperparameters."""
    count = 262_144
    model = ShapeModel(vocabulary=count).builder()
    out = GgufBuilder().text("general.architecture", "llama")
    out.key("tokenizer.ggml.tokens", "[str]", [f"token {index}" for index in range(count)])
    out.key("tokenizer.ggml.scores", "[f32]", [0.0] * count)
    out.key("tokenizer.ggml.token_type", "[i32]", [1] * count)
    out.key("tokenizer.ggml.merges", "[str]", [f"a{index} b{index}" for index in range(count)])
    out.keys += model.keys[1:]
    out.tensors = model.tensors
    with tempfile.TemporaryDirectory() as folder:
        path = out.write(Path(folder) / "large.gguf")

        def run(code: str) -> tuple[float, float]:
            answer = subprocess.run(
                [sys.executable, "-c", code + _REPORT, str(path)],
                capture_output=True,
                text=True,
                check=True,
            )
            seconds, peak = answer.stdout.split()
            return float(seconds), float(peak)

        own = [run(_OWN) for _ in range(5)]
        package = run(_PACKAGE)
    best = statistics.median(seconds for seconds, _ in own)
    print(
        f"facts: {best * 1e3:.1f} ms (median of 5), {max(peak for _, peak in own) / MIB:.0f} MiB "
        f"peak in all; gguf.GGUFReader: {package[0]:.1f} s, {package[1] / MIB:.0f} MiB; "
        f"{package[0] / best:.0f} times faster"
    )


def fuzz(total: int = 20_000) -> None:
    """Read cut, flipped and hostile headers."""
    model = ShapeModel(
        layers=2, embedding=64, heads=4, kv_heads=2, feed_forward=96, vocabulary=32, kind="F16"
    )
    data = model.builder().key("tokenizer.ggml.tokens", "[str]", ["a", "b", "c"]).header()
    chance = random.Random(1)
    hostile = (0, 1 << 63, (1 << 63) - 1, 1 << 62, (1 << 64) - 1, 1 << 32, 1 << 40)
    process = psutil.Process()
    times, kinds = [], {"read": 0}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.gguf"
        middle = 0
        for number in range(total):
            changed = bytearray(data)
            if number < len(data):
                del changed[number:]
            elif number % 2:
                for _ in range(chance.choice((1, 1, 2, 8))):
                    changed[chance.randrange(len(changed))] ^= 1 << chance.randrange(8)
            else:
                at = chance.randrange(len(changed) - 8)
                changed[at : at + 8] = struct.pack("<Q", chance.choice(hostile))
            path.write_bytes(changed)
            started = time.perf_counter()
            try:
                read_facts(path)
                kinds["read"] += 1
            except HeaderError as error:
                kinds[error.kind] = kinds.get(error.kind, 0) + 1
            times.append(time.perf_counter() - started)
            if number == total // 4:
                middle = process.memory_info().rss
    times.sort()
    print(
        f"fuzz: {total} headers, {kinds}; median {times[total // 2] * 1e3:.2f} ms, longest "
        f"{times[-1] * 1e3:.1f} ms, {sum(item > 0.05 for item in times)} over 50 ms; memory grew "
        f"by {(process.memory_info().rss - middle) / MIB:.1f} MiB over the last three quarters"
    )


def scan(total: int = 300) -> None:
    """Read the facts of many files, twice."""
    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for number in range(total):
            model = ShapeModel(layers=16 + number % 48, vocabulary=32000).builder()
            model.key("tokenizer.ggml.tokens", "[str]", [f"t{index}" for index in range(32000)])
            paths.append(model.write(Path(folder) / f"{number}.gguf"))
        for time_ in ("first", "second"):
            started = time.perf_counter()
            for path in paths:
                read_facts(path)
            print(f"scan: {total} files, {time_} time: {time.perf_counter() - started:.2f} s")


def plan() -> None:
    """Plan 200 combinations of context and layers for one file."""
    gpu = Device(
        name="GPU0",
        kind="gpu",
        backend="CUDA",
        total_bytes=24 * GIB,
        free_bytes=23 * GIB,
        bandwidth_bytes_per_s=1e12,
        flops_per_s=165e12,
    )
    cpu = cpu_only(64 * GIB, 60 * GIB, 80e9, 1e12).cpu
    machine = Machine(name="bench", cpu=cpu, accelerators=(gpu,))
    with tempfile.TemporaryDirectory() as folder:
        known = read_facts(ShapeModel().builder().write(Path(folder) / "m.gguf"))

        def timed(context: int, layers: int) -> float:
            load = LoadSettings(context=context, gpu_layers=layers)
            started = time.perf_counter()
            make_plan(known, load, machine)
            return time.perf_counter() - started

        first = timed(512, 1)
        times = [
            timed(context, layers)
            for context in range(1024, 1024 + 20 * 3072, 3072)
            for layers in range(0, 33, 3)[:10]
        ]
    times.sort()
    print(
        f"plan: the first {first * 1e3:.2f} ms (it works out what depends on the file alone), then "
        f"{len(times)} combinations, median {times[len(times) // 2] * 1e3:.2f} ms, 95 of 100 "
        f"under {times[int(len(times) * 0.95)] * 1e3:.2f} ms, longest {times[-1] * 1e3:.2f} ms"
    )


BENCHES: dict[str, Callable[[], None]] = {"facts": facts, "fuzz": fuzz, "scan": scan, "plan": plan}

if __name__ == "__main__":
    for name in sys.argv[1:] or BENCHES:
        BENCHES[name]()
