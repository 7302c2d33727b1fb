"""A computer full of models: hundreds of files in the folders of six programs, weights left out.

Shapes are those of published models, so that sizes and predictions look as they do in life; the
weights are holes in sparse files. Every hundredth file or so is wrong in one of the usual ways.
"""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from app.data.library.places import Place, places_of_others
from tests.helpers.gguf_bytes import GgufBuilder, pack_string
from tests.helpers.shape_gguf import ShapeModel

__all__ = [
    "MODELS",
    "STYLES",
    "FilledLibrary",
    "Shape",
    "fill_library",
    "lora",
    "projector",
    "write_ollama",
]

STYLES = ("lmstudio", "ollama", "huggingface", "gpt4all", "jan", "llamacpp")


@dataclass(frozen=True, slots=True)
class Shape:
    """A published model: names, and the figures of its configuration."""

    name: str
    size: str
    arch: str
    layers: int
    width: int
    heads: int
    kv: int
    wide: int
    vocabulary: int = 128256
    context: int = 131072
    head: int | None = None
    tied: bool = False
    window: int | None = None

    @property
    def full_name(self) -> str:
        """Return the name with its size, as files bear it."""
        return self.name.replace("*", self.size)


# Figures from the models' published configurations (config.json).
_QWEN2: dict[str, Any] = {"vocabulary": 151936, "context": 32768}
_QWEN3: dict[str, Any] = {"vocabulary": 151936, "context": 40960, "head": 128}
MODELS: tuple[Shape, ...] = (
    Shape("SmolLM2-*-Instruct", "135M", "llama", 30, 576, 9, 3, 1536, 49152, 8192, tied=True),
    Shape("SmolLM2-*-Instruct", "360M", "llama", 32, 960, 15, 5, 2560, 49152, 8192, tied=True),
    Shape("SmolLM2-*-Instruct", "1.7B", "llama", 24, 2048, 32, 32, 8192, 49152, 8192, tied=True),
    Shape("Llama-3.2-*-Instruct", "1B", "llama", 16, 2048, 32, 8, 8192, tied=True),
    Shape("Llama-3.2-*-Instruct", "3B", "llama", 28, 3072, 24, 8, 8192, tied=True),
    Shape("Llama-3.1-*-Instruct", "8B", "llama", 32, 4096, 32, 8, 14336),
    Shape("Llama-3.3-*-Instruct", "70B", "llama", 80, 8192, 64, 8, 28672),
    Shape("Hermes-3-Llama-3.1-*", "8B", "llama", 32, 4096, 32, 8, 14336),
    Shape("DeepSeek-R1-Distill-Llama-*", "8B", "llama", 32, 4096, 32, 8, 14336),
    Shape("DeepSeek-R1-Distill-Qwen-*", "1.5B", "qwen2", 28, 1536, 12, 2, 8960, 151936),
    Shape("DeepSeek-R1-Distill-Qwen-*", "7B", "qwen2", 28, 3584, 28, 4, 18944, 152064),
    Shape("DeepSeek-R1-Distill-Qwen-*", "14B", "qwen2", 48, 5120, 40, 8, 13824, 152064),
    Shape("DeepSeek-R1-Distill-Qwen-*", "32B", "qwen2", 64, 5120, 40, 8, 27648, 152064),
    Shape("Qwen2.5-*-Instruct", "0.5B", "qwen2", 24, 896, 14, 2, 4864, tied=True, **_QWEN2),
    Shape("Qwen2.5-*-Instruct", "1.5B", "qwen2", 28, 1536, 12, 2, 8960, tied=True, **_QWEN2),
    Shape("Qwen2.5-*-Instruct", "3B", "qwen2", 36, 2048, 16, 2, 11008, tied=True, **_QWEN2),
    Shape("Qwen2.5-*-Instruct", "7B", "qwen2", 28, 3584, 28, 4, 18944, **_QWEN2),
    Shape("Qwen2.5-*-Instruct", "14B", "qwen2", 48, 5120, 40, 8, 13824, **_QWEN2),
    Shape("Qwen2.5-*-Instruct", "32B", "qwen2", 64, 5120, 40, 8, 27648, **_QWEN2),
    Shape("Qwen2.5-*-Instruct", "72B", "qwen2", 80, 8192, 64, 8, 29696, **_QWEN2),
    Shape("Qwen2.5-Coder-*-Instruct", "7B", "qwen2", 28, 3584, 28, 4, 18944, **_QWEN2),
    Shape("Qwen2.5-Coder-*-Instruct", "32B", "qwen2", 64, 5120, 40, 8, 27648, **_QWEN2),
    Shape("Qwen3-*", "0.6B", "qwen3", 28, 1024, 16, 8, 3072, tied=True, **_QWEN3),
    Shape("Qwen3-*", "1.7B", "qwen3", 28, 2048, 16, 8, 6144, tied=True, **_QWEN3),
    Shape("Qwen3-*", "4B", "qwen3", 36, 2560, 32, 8, 9728, tied=True, **_QWEN3),
    Shape("Qwen3-*", "8B", "qwen3", 36, 4096, 32, 8, 12288, **_QWEN3),
    Shape("Qwen3-*", "14B", "qwen3", 40, 5120, 40, 8, 17408, **_QWEN3),
    Shape("Qwen3-*", "32B", "qwen3", 64, 5120, 64, 8, 25600, **_QWEN3),
    Shape("Mistral-*-Instruct-v0.3", "7B", "llama", 32, 4096, 32, 8, 14336, 32768, 32768),
    Shape("Mistral-Nemo-Instruct-2407", "12B", "llama", 40, 5120, 32, 8, 14336, 131072, head=128),
    Shape("Mistral-Small-*-Instruct-2501", "24B", "llama", 40, 5120, 32, 8, 32768, 131072, 32768,
          head=128),
    Shape("Codestral-*-v0.1", "22B", "llama", 56, 6144, 48, 8, 16384, 32768, 32768),
    Shape("gemma-3-*-it", "1b", "gemma3", 26, 1152, 4, 1, 6912, 262144, 32768, 256, True, 512),
    Shape("gemma-3-*-it", "4b", "gemma3", 34, 2560, 8, 4, 10240, 262144, 131072, 256, True, 1024),
    Shape("gemma-3-*-it", "12b", "gemma3", 48, 3840, 16, 8, 15360, 262144, 131072, 256, True, 1024),
    Shape("gemma-3-*-it", "27b", "gemma3", 62, 5376, 32, 16, 21504, 262144, 131072, 128, True,
          1024),
    Shape("TinyLlama-*-Chat-v1.0", "1.1B", "llama", 22, 2048, 32, 4, 5632, 32000, 2048),
    Shape("Yi-1.5-*-Chat", "9B", "llama", 48, 4096, 32, 4, 11008, 64000, 4096),
    Shape("Falcon3-*-Instruct", "7B", "llama", 28, 3072, 12, 4, 23040, 131072, 32768, head=256),
    Shape("Falcon3-*-Instruct", "10B", "llama", 40, 3072, 12, 4, 23040, 131072, 32768, head=256),
)  # fmt: skip

# Name, tensor type and general.file_type; the first three need blocks of 32 only.
_QUANTS = (
    ("Q8_0", "Q8_0", 7),
    ("Q5_0", "Q5_0", 8),
    ("Q4_0", "Q4_0", 2),
    ("Q4_K_M", "Q4_K", 15),
    ("Q6_K", "Q6_K", 18),
    ("Q5_K_M", "Q5_K", 17),
    ("Q3_K_M", "Q3_K", 12),
    ("Q2_K", "Q2_K", 10),
    ("IQ4_XS", "IQ4_XS", 30),
    ("BF16", "BF16", 32),
    ("F16", "F16", 1),
)
_SPLIT_FROM_BYTES = 45 << 30
_GPT4ALL = Path(".local") / "share" / "nomic.ai" / "GPT4All"
_MAKERS = ("bartowski", "unsloth", "lmstudio-community", "ggml-org", "mradermacher")


@dataclass(slots=True)
class FilledLibrary:
    """What was written: where to look, how many GGUF files, and how many models of how many."""

    root: Path
    places: list[Place] = field(default_factory=list)
    files: int = 0
    models: set[str] = field(default_factory=set)
    variants: int = 0
    broken: int = 0
    projectors: int = 0
    adapters: int = 0


def fill_library(root: Path, files: int = 300, *, vocabulary: int = 0) -> FilledLibrary:
    """Write a library of so many files into a home folder of Linux.

    ``vocabulary`` tokens are really written into each file, as scanners have to skip them.
    """
    made = FilledLibrary(root)
    writers = _Writers(root, made, vocabulary)
    _write_broken(root, made)
    _write_parts(writers, made)
    for shape, quant in _variants():
        if made.files >= files:
            break
        writers.write(shape, quant)
    made.places = places_of_others("linux", root, {})
    return made


def _variants() -> Iterator[tuple[Shape, tuple[str, str, int]]]:
    """Yield every model with its first types, then more of each: all models appear early."""
    for number in range(len(_QUANTS)):
        for index, shape in enumerate(MODELS):
            fits_k = shape.width % 256 == 0
            choice = _QUANTS if fits_k else (*_QUANTS[:3], *_QUANTS[-2:])
            if number < len(choice):
                start = 3 if fits_k else 0
                yield shape, choice[(start + number + index % 2) % len(choice)]


class _Writers:
    """Writes a variant in the style of a program."""

    def __init__(self, root: Path, made: FilledLibrary, vocabulary: int) -> None:
        self._root = root
        self._made = made
        self._vocabulary = vocabulary
        self._styles: dict[str, Callable[[Shape, str, GgufBuilder], int]] = {
            "lmstudio": self._lmstudio,
            "ollama": self._ollama,
            "huggingface": self._huggingface,
            "gpt4all": self._gpt4all,
            "jan": self._jan,
            "llamacpp": self._llamacpp,
        }

    def write(self, shape: Shape, quant: tuple[str, str, int], style: str = "") -> None:
        """Write one variant; every fifth goes to another program than the model's others."""
        made = self._made
        place = MODELS.index(shape) + (made.variants % 5 == 4)
        writer = self._styles[style or STYLES[place % len(STYLES)]]
        made.files += writer(shape, quant[0], self.builder(shape, quant))
        made.variants += 1
        made.models.add(shape.full_name)

    def builder(self, shape: Shape, quant: tuple[str, str, int]) -> GgufBuilder:
        """Return the file of a variant."""
        model = ShapeModel(
            architecture=shape.arch, layers=shape.layers, embedding=shape.width,
            heads=shape.heads, kv_heads=shape.kv, head=shape.head, feed_forward=shape.wide,
            vocabulary=shape.vocabulary, context=shape.context, kind=quant[1], tied=shape.tied,
            window=shape.window,
        )  # fmt: skip
        out = model.builder().drop("general.name", "general.file_type")
        out.text("general.name", shape.full_name.replace("-", " "))
        out.text("general.size_label", shape.size.upper())
        out.u32("general.file_type", quant[2])
        out.text("tokenizer.chat_template", "{{ messages[0].content }}")
        if self._vocabulary:
            out.keys.append(("tokenizer.ggml.tokens", _tokens(self._vocabulary)))
        return out

    def _lmstudio(self, shape: Shape, quant: str, built: GgufBuilder) -> int:
        maker = _MAKERS[len(shape.full_name) % len(_MAKERS)]
        folder = self._root / ".lmstudio" / "models" / maker / f"{shape.full_name}-GGUF"
        return _write(built, folder, f"{shape.full_name}-{quant}")

    def _ollama(self, shape: Shape, quant: str, built: GgufBuilder) -> int:
        name = shape.name.replace("-*", "").replace("-Instruct", "").lower()
        write_ollama(
            self._root / ".ollama" / "models", name, f"{shape.size.lower()}-{quant}", built
        )
        return 1

    def _huggingface(self, shape: Shape, quant: str, built: GgufBuilder) -> int:
        maker = _MAKERS[len(shape.full_name) % len(_MAKERS)]
        repo = (
            self._root
            / ".cache"
            / "huggingface"
            / "hub"
            / f"models--{maker}--{shape.full_name}-GGUF"
        )
        return _write_linked(built, repo, f"{shape.full_name}-{quant}")

    def _gpt4all(self, shape: Shape, quant: str, built: GgufBuilder) -> int:
        return _write(built, self._root / _GPT4ALL, f"{shape.full_name}.{quant}")

    def _jan(self, shape: Shape, quant: str, built: GgufBuilder) -> int:
        folder = self._root / "jan" / "models" / f"{shape.full_name.lower()}-{quant.lower()}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "model.yml").write_text(f"model_path: {folder.name}/model.gguf\n")
        return _write(built, folder, "model")

    def _llamacpp(self, shape: Shape, quant: str, built: GgufBuilder) -> int:
        prefix = f"ggml-org_{shape.full_name}-GGUF_{shape.full_name}-{quant}"
        return _write(built, self._root / ".cache" / "llama.cpp", prefix)


@lru_cache(maxsize=4)
def _tokens(count: int) -> bytes:
    """Return a list of tokens as it stands in a file."""
    body = b"".join(pack_string(f"token-{number}") for number in range(count))
    return struct.pack("<IIQ", 9, 8, count) + body


def _size(built: GgufBuilder) -> int:
    return sum(tensor.size_bytes for tensor in built.tensors)


def _write(built: GgufBuilder, folder: Path, name: str) -> int:
    """Write a file, or the parts of a large one; return how many files."""
    size = _size(built)
    if size < _SPLIT_FROM_BYTES:
        built.write(folder / f"{name}.gguf")
        return 1
    count = -(-size // _SPLIT_FROM_BYTES) + 1
    each = len(built.tensors) // count
    counts = [each] * (count - 1)
    return len(built.write_split(folder, name, [*counts, len(built.tensors) - sum(counts)]))


def _write_linked(built: GgufBuilder, repo: Path, name: str) -> int:
    """Write a file as the hub's cache keeps it: a link with a name to a blob without one."""
    snapshot, blobs = repo / "snapshots" / "0f1e2d3c", repo / "blobs"
    snapshot.mkdir(parents=True, exist_ok=True)
    blobs.mkdir(exist_ok=True)
    (repo / "refs").mkdir(exist_ok=True)
    (repo / "refs" / "main").write_text("0f1e2d3c")
    made = repo / "made"
    count = _write(built, made, name)
    for path in made.iterdir():
        blob = blobs / hashlib.sha256(path.name.encode()).hexdigest()
        path.rename(blob)
        (snapshot / path.name).symlink_to(Path("../../blobs") / blob.name)
    made.rmdir()
    return count


def write_ollama(
    root: Path, name: str, tag: str, model: GgufBuilder, vision: GgufBuilder | None = None
) -> Path:
    """Write a model, and its projector, as Ollama keeps them; return the model's blob."""
    layers = []
    blobs = []
    for part, built in (("model", model), ("projector", vision)):
        if built is None:
            continue
        digest = hashlib.sha256(f"{name}:{tag}:{part}".encode()).hexdigest()
        blobs.append(built.write(root / "blobs" / f"sha256-{digest}"))
        media = f"application/vnd.ollama.image.{part}"
        layers.append({"mediaType": media, "digest": f"sha256:{digest}", "size": _size(built)})
    manifest = root / "manifests" / "registry.ollama.ai" / "library" / name / tag
    manifest.parent.mkdir(parents=True, exist_ok=True)
    manifest.write_text(json.dumps({"schemaVersion": 2, "layers": layers}))
    return blobs[0]


def projector(width: int, name: str = "") -> GgufBuilder:
    """Return a vision projector for models of a width."""
    built = GgufBuilder().text("general.architecture", "clip").text("general.type", "mmproj")
    if name:
        built.text("general.name", name)
    built.u32("clip.vision.projection_dim", width)
    return built.tensor("mm.0.weight", (1152, width), "F16").tensor(
        "v.blk.0.ffn_up.weight", (1152, 4304), "F16"
    )


def lora(architecture: str, base: str) -> GgufBuilder:
    """Return an adapter for a model of a name."""
    built = GgufBuilder().text("general.architecture", architecture)
    built.text("general.type", "adapter").text("adapter.type", "lora")
    built.u32("general.base_model.count", 1).text("general.base_model.0.name", base)
    return built.tensor("blk.0.attn_q.weight.lora_a", (4096, 16))


def _write_parts(writers: _Writers, made: FilledLibrary) -> None:
    """Write models with projectors and adapters, and files that are no chat models."""
    root = made.root
    by_name = {shape.full_name: shape for shape in MODELS}
    gemma = by_name["gemma-3-4b-it"]
    folder = root / ".lmstudio" / "models" / "ggml-org" / "gemma-3-4b-it-GGUF"
    for quant in (_QUANTS[0], _QUANTS[3]):
        made.files += _write(writers.builder(gemma, quant), folder, f"{gemma.full_name}-{quant[0]}")
        made.variants += 1
    projector(2560, "gemma 3 4b it").write(folder / "mmproj-gemma-3-4b-it-f16.gguf")
    large = by_name["gemma-3-12b-it"]
    write_ollama(
        root / ".ollama" / "models", "gemma3", "12b",
        writers.builder(large, _QUANTS[3]), projector(3840),
    )  # fmt: skip
    llama = by_name["Llama-3.1-8B-Instruct"]
    for quant in (_QUANTS[0], _QUANTS[3]):
        writers.write(llama, quant, "llamacpp")
    lora("llama", "Llama 3.1 8B Instruct").write(root / _GPT4ALL / "pirate-lora-f16.gguf")
    lora("llama", "Nobody Knows 9B").write(root / _GPT4ALL / "stray-lora-f16.gguf")
    bert = GgufBuilder().text("general.architecture", "bert").text("general.name", "Nomic Embed")
    bert.u32("bert.block_count", 1).u32("bert.context_length", 2048)
    bert.u32("bert.embedding_length", 768).u32("bert.feed_forward_length", 3072)
    bert.u32("bert.attention.head_count", 12).u32("bert.pooling_type", 1)
    bert.tensor("token_embd.weight", (768, 30522), "F16")
    bert.write(root / _GPT4ALL / "nomic-embed-text-v1.5.f16.gguf")
    made.models |= {gemma.full_name, large.full_name}
    made.variants += 1
    made.projectors, made.adapters = 2, 2
    made.files += 1 + 2 + 2 + 1


def _write_broken(root: Path, made: FilledLibrary) -> None:
    """Write what is found beside good files: cut, empty, foreign, of the future, half a split."""
    gpt4all, studio = root / _GPT4ALL, root / ".lmstudio" / "models" / "bartowski" / "broken-GGUF"
    for folder in (gpt4all, studio):
        folder.mkdir(parents=True, exist_ok=True)
    good = ShapeModel(layers=2, embedding=256, heads=4, kv_heads=2, feed_forward=512)
    whole = good.builder().build()
    (gpt4all / "Llama-3-8B-Instruct.Q4_0.gguf").write_bytes(whole[: len(whole) // 3])
    (gpt4all / "empty-download.gguf").write_bytes(b"")
    (gpt4all / "Phi-4-mini.Q4_K_M.gguf.part").write_bytes(whole[: len(whole) // 2])
    (studio / "not-found.gguf").write_bytes(b"<!DOCTYPE html><html>404: Not Found</html>")
    (studio / "pointer.gguf").write_bytes(
        b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 4920739232\n"
    )
    (studio / "old-format.bin.gguf").write_bytes(b"tjgg" + bytes(512))
    good.architecture = "llama9"
    good.builder().write(studio / "future-architecture-9B-Q4_K.gguf")
    good.architecture = "llama"
    built = good.builder()
    parts = built.write_split(studio, "half-a-model-Q8_0", (4, len(built.tensors) - 4))
    parts[1].unlink()
    made.broken = 8
    made.files += 8
