"""A prompt tokenised in parts has the tokens of the whole, and only new parts are tokenised."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.paths import starter_model
from tests.helpers.tiny_gguf import TinyModel, write_tiny_model
from tests.helpers.tiny_gguf_vocab import VocabularyStyle
from tests.helpers.whole_tokens import tokenise_twice

SAID = [
    "Hello world, how deep is the ship?",
    " It begins with a space",
    "and ends with one ",
    "two\n\nlines\n",
    "",
    "\tüñí — 船 🚢 <think>no</think> <|im_ |> <s",
    "the the the",
]


def _chatml(count: int) -> str:
    turns = [
        f"<|im_start|>{'assistant' if at % 2 else 'user'}\n{SAID[at % len(SAID)]}<|im_end|>\n"
        for at in range(count)
    ]
    return "".join(turns) + "<|im_start|>assistant\n"


def _turns(count: int) -> str:
    """Return a scaffold with text before its first special token, and none after the last."""
    turns = [
        f"<start_of_turn>{'model' if at % 2 else 'user'}\n{SAID[at % len(SAID)]}<end_of_turn>\n"
        for at in range(count)
    ]
    return "Begin: " + "".join(turns) + "<start_of_turn>"


def _close(count: int) -> str:
    """Return special tokens with nothing between them."""
    return "".join(f"<|endoftext|><|im_start|>{SAID[at % len(SAID)]}" for at in range(count))


@pytest.mark.parametrize("scaffold", [_chatml, _turns, _close])
@pytest.mark.parametrize("style", ["bpe", "spm"])
def test_parts_have_the_tokens_of_the_whole(
    tmp_path: Path, style: VocabularyStyle, scaffold: object
) -> None:
    assert callable(scaffold)
    path = write_tiny_model(tmp_path / "tiny.gguf", TinyModel(vocabulary=style))
    prompts = [scaffold(count) for count in (1, 2, 5, 9, 9, 3)]

    found = tokenise_twice(path, prompts)

    for prompt, both in zip(prompts, found, strict=True):
        assert both.own == both.whole, prompt
    assert found[4].asked_chars == 0


def test_a_turn_costs_its_own_text_whatever_came_before() -> None:
    model = starter_model()
    if model is None:
        pytest.skip("needs the starter extra")
    prompts = [_chatml(2 * turn + 1) for turn in range(30)]

    found = tokenise_twice(model, prompts)

    for before, now, both in zip(prompts, prompts[1:], found[1:], strict=False):
        assert both.own == both.whole
        # The reply's text and the new message, with what the template writes around them.
        assert both.asked_chars <= len(now) - len(before) + len("<|im_start|>assistant\n")
