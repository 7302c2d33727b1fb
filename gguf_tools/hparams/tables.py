"""What llama.cpp knows about each architecture beforehand, as tables.

Follows src/llama-arch.cpp (the names, ``llm_arch_is_recurrent``, ``llm_arch_is_hybrid``,
``llm_arch_is_diffusion``), ``create_memory`` in src/llama-model.cpp, and the sliding windows of
``load_arch_hparams`` in src/models/*.cpp.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

__all__ = [
    "ARCHITECTURES",
    "DIFFUSION",
    "EMBEDDING",
    "HYBRID",
    "IMAGE_POSITIONS",
    "INTERVAL_DEFAULTS",
    "MAY_HAVE_IMAGE_POSITIONS",
    "MLA",
    "NEEDS_OTHER_MODEL",
    "NON_CAUSAL",
    "NO_CACHE",
    "RECURRENT",
    "ROLLBACK",
    "SLIDING",
    "STATE_WITH_GROUPS",
    "SlidingRule",
]


def _names(listed: str) -> frozenset[str]:
    return frozenset(listed.split())


ARCHITECTURES: Final = _names("""
    llama llama4 deci falcon grok gpt2 gptj gptneox mpt baichuan starcoder refact bert modern-bert
    nomic-bert nomic-bert-moe neo-bert jina-bert-v2 jina-bert-v3 eurobert bloom stablelm qwen qwen2
    qwen2moe qwen2vl qwen3 qwen3moe qwen3next qwen3vl qwen3vlmoe qwen35 qwen35moe qwen4exp phi2 phi3
    phimoe plamo plamo2 plamo3 codeshell orion internlm2 minicpm minicpm3 gemma gemma2 gemma3
    gemma3n gemma4 gemma4-assistant gemma-embedding starcoder2 mamba mamba2 maple jamba falcon-h1
    xverse command-r cohere2 cohere2moe dbrx olmo olmo2 olmoe muse-glimmer openelm arctic deepseek
    deepseek2 deepseek2-ocr deepseek32 deepseek4 chatglm glm4 glm4moe glm-dsa bitnet t5 t5encoder
    jais jais2 nemotron nemotron_h nemotron_h_moe exaone exaone4 exaone-moe rwkv6 rwkv6qwen2 rwkv7
    arwkv7 granite granitemoe granitehybrid graniteswitch granite_swa chameleon wavtokenizer-dec plm
    bailingmoe bailingmoe2 bailingmoe3 dots1 dots3note arcee afmoe laguna ernie4_5 ernie4_5-moe
    hunyuan-moe hunyuan-dense hunyuan_vl hy_v3 hy_v4 smollm3 gpt-oss lfm2 lfm2moe dream smallthinker
    llada llada-moe seed_oss grovemoe apertus minimax-01 hrm_text minimax-m2 minimax-m3 cogvlm rnd1
    pangu-embedded mistral3 eagle3 dflash mistral4 paddleocr mimo2 step35 spark2_5 llama-embed
    maincoder kimi-linear kimi-k3 glm5-next talkie mellum nanbeige qwen3tts pockettts
    """)

RECURRENT: Final = frozenset({"mamba", "mamba2", "rwkv6", "rwkv6qwen2", "rwkv7", "arwkv7"})

HYBRID: Final = _names("""
    jamba falcon-h1 plamo2 granitehybrid lfm2 lfm2moe nemotron_h nemotron_h_moe qwen3next
    kimi-linear bailingmoe3 kimi-k3 glm5-next qwen35 qwen35moe qwen4exp deepseek4 minimax-01
    """)

ROLLBACK: Final = _names("""
    kimi-k3 qwen35 qwen35moe qwen4exp deepseek4 glm5-next nemotron_h nemotron_h_moe lfm2 lfm2moe
    bailingmoe3
    """)
"""Whose state can keep snapshots to go back to (``llm_arch_supports_rs_rollback``)."""

DIFFUSION: Final = frozenset({"dream", "llada", "llada-moe", "rnd1"})

EMBEDDING: Final = _names("""
    bert jina-bert-v2 jina-bert-v3 nomic-bert nomic-bert-moe neo-bert eurobert modern-bert
    gemma-embedding llama-embed t5encoder
    """)

NO_CACHE: Final = (EMBEDDING - {"llama-embed", "t5encoder"}) | DIFFUSION | {"wavtokenizer-dec"}
"""Architectures for which ``create_memory`` makes nothing."""

NON_CAUSAL: Final = DIFFUSION | {"gemma-embedding"}

MLA: Final = _names("""
    deepseek2 mistral4 deepseek32 glm-dsa kimi-linear kimi-k3 bailingmoe3 glm5-next hy_v4 dots3note
    """)

IMAGE_POSITIONS: Final = _names("""
    qwen2vl paddleocr qwen3vl qwen3vlmoe qwen35 qwen35moe qwen4exp qwen3tts
    """)
"""Architectures whose tokens always have four positions, for images in the text."""

MAY_HAVE_IMAGE_POSITIONS: Final = frozenset({"bailingmoe3", "glm4", "glm4moe", "hunyuan_vl"})
"""Those that have them if the file says how the rotated dimensions are shared out."""

NEEDS_OTHER_MODEL: Final = frozenset({"eagle3", "dflash", "gemma4-assistant"})
"""Draft models, which run only beside the model they draft for."""

STATE_WITH_GROUPS: Final = _names("""
    mamba2 falcon-h1 granitehybrid nemotron_h nemotron_h_moe plamo2 qwen3next qwen35 qwen35moe
    qwen4exp
    """)

INTERVAL_DEFAULTS: Final = {
    "qwen3next": 4,
    "qwen35": 4,
    "qwen35moe": 4,
    "qwen4exp": 4,
    "minimax-01": 8,
}
"""Every how many layers one has full attention, where the file says nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SlidingRule:
    """Which layers slide, and how far they see, when the file leaves it open.

    ``period`` None: the file must list the layers. ``fixed`` replaces the file's window,
    ``chunk`` is a window the file can only switch off, ``only_layers`` restricts the rule to
    models of that many layers.
    """

    period: int | None
    optional: bool = False
    default: int | None = None
    fixed: int | None = None
    chunk: int | None = None
    dense_first: bool = False
    all_layers: bool = False
    only_layers: int | None = None
    kind: Literal["standard", "chunked", "symmetric"] = "standard"


SLIDING: Final[dict[str, SlidingRule]] = {
    "afmoe": SlidingRule(period=4, optional=True),
    "cohere2": SlidingRule(period=4),
    "cohere2moe": SlidingRule(period=4, dense_first=True),
    "deepseek4": SlidingRule(period=None, all_layers=True),
    "dots3note": SlidingRule(period=None),
    "exaone-moe": SlidingRule(period=4, default=128),
    "exaone4": SlidingRule(period=4, default=4096, only_layers=64),
    "gemma-embedding": SlidingRule(period=6, kind="symmetric"),
    "gemma2": SlidingRule(period=2, default=4096),
    "gemma3": SlidingRule(period=6, optional=True),
    "gemma3n": SlidingRule(period=5),
    "gemma4": SlidingRule(period=None),
    "gemma4-assistant": SlidingRule(period=None),
    "gpt-oss": SlidingRule(period=2),
    "granite_swa": SlidingRule(period=None),
    "laguna": SlidingRule(period=4, optional=True, dense_first=True),
    "llama4": SlidingRule(period=4, chunk=8192, kind="chunked"),
    "maple": SlidingRule(period=None),
    "mellum": SlidingRule(period=4, optional=True),
    "mimo2": SlidingRule(period=None),
    "modern-bert": SlidingRule(period=3, optional=True, dense_first=True, kind="symmetric"),
    "muse-glimmer": SlidingRule(period=4),
    "olmo2": SlidingRule(period=4, optional=True),
    "plamo3": SlidingRule(period=8, optional=True),
    "smallthinker": SlidingRule(period=4, optional=True, fixed=4096, dense_first=True),
    "spark2_5": SlidingRule(period=None),
    "step35": SlidingRule(period=None),
}
