"""What is offered where a prompt does not fit: what helps, and what to do where nothing does."""

from __future__ import annotations

import pytest

from app.engine.protocol import ModelInfo, PromptFit
from app.ui.presenters.context_offer import overflow_of


def _model(n_ctx: int, trained: int, type_k: str = "f16") -> ModelInfo:
    return ModelInfo(
        path="/m.gguf",
        name="M",
        architecture="llama",
        description="llama 1B Q4_0",
        size_bytes=1 << 30,
        parameters=10**9,
        n_ctx=n_ctx,
        n_ctx_train=trained,
        n_batch=512,
        n_ubatch=512,
        n_vocab=32_000,
        layers=16,
        layers_offloaded=0,
        layers_total=17,
        type_k=type_k,
        type_v=type_k,
        flash_attention=True,
        swa_window=0,
        swa_full=False,
        mmap=True,
        threads=2,
        threads_batch=2,
        compatibility=False,
        memory="plain",
        template="file",
        template_notice=None,
        thinking=False,
        devices=(),
        buffers=(),
        load_s=0.1,
    )


def _keys(fit: PromptFit, model: ModelInfo | None, *, has_chat: bool = False) -> list[str]:
    found = overflow_of(fit, model, blocked=True, has_chat=has_chat)
    return [choice.key for choice in found.choices]


TOO_LONG = PromptFit(n_ctx=4096, prompt_tokens=5000, needed_tokens=6000, problem="message_too_long")


@pytest.mark.parametrize(
    ("trained", "keys"),
    [
        (32768, ["context:8192", "cache:8192"]),
        (7000, ["context:7000", "cache:7000"]),
        (5000, ["model"]),  # all that it was trained for is too little
        (4096, ["model"]),
        (0, ["context:8192", "cache:8192"]),
    ],
)
def test_only_a_context_that_is_long_enough_is_offered(trained: int, keys: list[str]) -> None:
    assert _keys(TOO_LONG, _model(4096, trained), has_chat=True) == keys
    assert _keys(TOO_LONG, _model(4096, trained, "q8_0")) == [k for k in keys if "cache" not in k]


def test_where_nothing_helps_it_is_said_what_to_do() -> None:
    found = overflow_of(TOO_LONG, _model(4096, 5000), blocked=True, has_chat=False)
    assert found.severity == "error"
    assert found.text == (
        "This needs a context of 6,000 tokens: 5,000 for what is sent, the rest as room for the "
        "reply; the model has 4,096. It was trained for 5,000: shorten what is sent, or choose "
        "another model."
    )
    found = overflow_of(TOO_LONG, _model(4096, 4096), blocked=True, has_chat=False)
    assert "the model has 4,096. It was trained for no more: shorten" in found.text


@pytest.mark.parametrize(
    ("dropped", "tokens", "text"),
    [
        (("a",), 1, "With this message the oldest one (1 token) leaves the model's memory"),
        (
            ("a", "b"),
            99,
            "With this message the 2 oldest ones (99 tokens) leave the model's memory",
        ),
    ],
)
def test_what_leaves_is_counted(dropped: tuple[str, ...], tokens: int, text: str) -> None:
    fit = PromptFit(
        n_ctx=4096,
        prompt_tokens=2000,
        reply_room_tokens=1024,
        dropped=("left", *dropped),  # one has left before
        dropped_tokens=tokens + 50,
        leaving=dropped,
        leaving_tokens=tokens,
    )
    found = overflow_of(fit, _model(4096, 4096), blocked=False, has_chat=True)
    text += ": room for a reply of 1,024 tokens is kept."
    assert (found.text, found.severity) == (text, "warning")
    assert [choice.key for choice in found.choices] == ["summary"]
    assert _keys(fit, None) == ["send"]


def test_an_edit_that_waits_is_shown() -> None:
    found = overflow_of(TOO_LONG, None, blocked=True, has_chat=True, edit="And\n\nmore")
    assert found.text.endswith(" Your edit waits: “And more”")
    found = overflow_of(TOO_LONG, None, blocked=True, has_chat=True, edit="long " * 5000)
    assert found.text.endswith(f" Your edit waits: “{('long ' * 32).rstrip()}…”")
    found = overflow_of(TOO_LONG, None, blocked=True, has_chat=True, edit="a" * 5000)
    assert found.text.endswith(f"“{'a' * 160}…”")
    found = overflow_of(TOO_LONG, None, blocked=False, has_chat=True, edit="And more")
    assert "And more" not in found.text
