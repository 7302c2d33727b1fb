"""Replies that can't be given, in sentences."""

from __future__ import annotations

from app.engine.interface import EngineFailure
from app.engine.protocol import Generate, LoadOptions, ModelInfo, PromptFit

__all__ = ["DoesNotFit", "check_options", "check_replies"]

# llama.cpp takes 32-bit numbers: a larger one would become another, and a batch of none stops it.
_MOST = 2**31 - 1
_LEAST = {"n_ctx": 0, "n_batch": 1, "n_ubatch": 1, "sequences": 1, "gpu_layers": -1}
_SIZES = (*_LEAST, "threads", "threads_batch", "outputs", "draft_tokens")


def check_options(options: LoadOptions) -> None:
    """Refuse sizes that llama.cpp would stop at, or take for others."""
    for name in _SIZES:
        value, least = getattr(options, name), _LEAST.get(name, 0)
        if value is not None and not least <= value <= _MOST:
            raise EngineFailure(
                "bad_request", f"{name} is a number between {least} and {_MOST:,}, not {value:,}."
            )


def check_replies(request: Generate, info: ModelInfo) -> None:
    """Refuse several replies that can't be, or would all be the same."""
    count = request.replies
    if count == 1:
        return
    if not 1 <= count <= info.sequences:
        raise EngineFailure(
            "bad_request",
            f"{count} replies at once were asked for, and the model was loaded for "
            f"{info.sequences}; load it for more.",
        )
    if request.sampling.temperature <= 0:
        raise EngineFailure(
            "bad_request",
            "At temperature 0 all replies would be the same; raise the temperature of this chat.",
        )


class DoesNotFit(EngineFailure):
    """A prompt does not fit the context; ``fit`` tells by how much."""

    def __init__(self, fit: PromptFit) -> None:
        super().__init__("does_not_fit", _too_long(fit))
        self.fit = fit


def _too_long(fit: PromptFit) -> str:
    if fit.problem == "system_too_long":
        return (
            f"The system prompt alone takes {fit.system_tokens:,} tokens of a context of "
            f"{fit.n_ctx:,}; shorten it or raise the context to {fit.needed_tokens:,}."
        )
    if fit.problem == "message_too_long":
        return (
            f"This message needs a context of {fit.needed_tokens:,} tokens: "
            f"{fit.prompt_tokens:,} for what is sent, the rest as room for the reply; the model "
            f"has {fit.n_ctx:,}. Shorten it or raise the context."
        )
    return (
        f"The chat needs a context of {fit.needed_tokens:,} tokens, the model has "
        f"{fit.n_ctx:,}; leave out the oldest turns or raise the context."
    )
