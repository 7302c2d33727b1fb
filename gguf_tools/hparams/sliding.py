"""Which layers see only a window of the past, and how wide it is.

Follows ``load_swa_pattern`` (src/llama-model.cpp), ``set_swa_pattern`` (src/llama-hparams.cpp)
and the defaults in src/models/*.cpp, which `tables.SLIDING` lists.
"""

from __future__ import annotations

from dataclasses import replace

from gguf_tools.hparams.keys import Keys, UnusableKeyError
from gguf_tools.hparams.model import MAX_LAYERS, Hyperparameters
from gguf_tools.hparams.tables import SLIDING, SlidingRule
from gguf_tools.units import counted

__all__ = ["sliding_layers"]

_WINDOW = "attention.sliding_window"
_PATTERN = "attention.sliding_window_pattern"


def sliding_layers(keys: Keys, shape: Hyperparameters) -> Hyperparameters:
    """Return the shape with its windows.

    Raises:
        UnusableKeyError: a key is missing that the engine demands.
    """
    rule = SLIDING.get(shape.architecture)
    if rule is None or (rule.only_layers is not None and shape.layers != rule.only_layers):
        return shape
    window = _window(keys, rule)
    if window is None:
        return shape
    return replace(shape, window=window, swa_kind=rule.kind, sliding=_pattern(keys, rule, shape))


def _window(keys: Keys, rule: SlidingRule) -> int | None:
    window = keys.integer(_WINDOW, -1)
    if rule.chunk is not None:  # llama4: the key can only switch the chunks off
        return None if window == 0 else rule.chunk
    if window <= 0 and rule.optional:
        return None
    if rule.fixed is not None:
        return rule.fixed
    if window < 0:
        if rule.default is None:
            raise UnusableKeyError(f"The file doesn't say {keys.full(_WINDOW)}.")
        keys.assumed.append("sliding_window")
        return rule.default
    return window


def _pattern(keys: Keys, rule: SlidingRule, shape: Hyperparameters) -> tuple[bool, ...]:
    layers = shape.layers_all
    if rule.all_layers:
        return (True,) * layers
    listed = keys.listed(_PATTERN)
    if listed is not None:
        if len(listed) > MAX_LAYERS:
            raise UnusableKeyError(f"{keys.full(_PATTERN)} lists {counted(len(listed), 'layer')}.")
        return tuple(bool(item) for item in (*listed, *(0,) * layers)[:layers])
    if rule.period is None:
        raise UnusableKeyError(f"The file doesn't say {keys.full(_PATTERN)}.")
    period = keys.integer(_PATTERN, rule.period)
    if not keys.has(_PATTERN):
        keys.assumed.append("sliding_window_pattern")
    return tuple(
        layer < shape.layers and _slides(layer, period, rule.dense_first) for layer in range(layers)
    )


def _slides(layer: int, period: int, dense_first: bool) -> bool:
    if period == 0:
        return True
    return layer % period != 0 if dense_first else layer % period < period - 1
