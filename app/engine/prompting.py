"""From messages to a prompt: rendered, tokenised, and fitted to the window."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import msgspec

from app.engine.fit import fit_prompt
from app.engine.interface import EngineModel
from app.engine.protocol import ChatMessage, ChatPrompt, PromptFit
from app.engine.templates.prompt import ChatTemplate
from app.engine.templates.protect import protect, unprotect
from app.engine.tokenising import PromptTokens, Tokenised

__all__ = ["BuiltPrompt", "PromptBuilder"]

# The system part alone, and a conversation that is measured before it is sent.
_REMEMBERED: Final = 4


@dataclass(frozen=True, slots=True)
class BuiltPrompt:
    """A prompt as text (special tokens spelled out) and as tokens, and how it fits."""

    text: str
    tokenised: Tokenised
    fit: PromptFit

    @property
    def tokens(self) -> list[int]:
        """Its tokens; none where it can't be sent."""
        return self.tokenised.tokens


@dataclass(frozen=True, slots=True)
class _Rendered:
    text: str  # with the marks of `protect`
    tokenised: Tokenised


class PromptBuilder:
    """Renders, tokenises and fits conversations for one loaded model."""

    def __init__(self, model: EngineModel, template: ChatTemplate) -> None:
        self._model = model
        self._vocab = model.vocab
        self._template = template
        broken = {text for text in self._vocab.user_defined if text in template.source}
        self._markup = {self._vocab.user_defined[text] for text in broken}
        self._dangerous = frozenset(self._vocab.specials) | broken
        self._tokens = PromptTokens(self._vocab, self._dangerous, broken)
        self._rendered: OrderedDict[ChatPrompt, _Rendered] = OrderedDict()

    def build(self, chat: ChatPrompt, max_tokens: int | None) -> BuiltPrompt:
        """Return the prompt for a conversation, with turns left out if it would not fit.

        The prompt of a conversation that can't be sent (``fit.problem``) has no tokens.

        Raises:
            TemplateError: the template failed.
        """
        if chat.now is None:
            self._rendered.clear()  # a template may write the time of the call
        fit = fit_prompt(
            chat.messages,
            n_ctx=self._model.info.n_ctx,
            max_tokens=max_tokens,
            count=lambda messages: len(self._render(messages, chat).tokenised.tokens),
            keep_from=chat.keep_from,
            trim=chat.trim,
        )
        if fit.problem is not None:
            return BuiltPrompt("", Tokenised([]), fit)
        dropped = set(fit.dropped)
        kept = [message for message in chat.messages if message.id not in dropped]
        rendered = self._render(kept, chat)
        count = len(rendered.tokenised.tokens)
        if count != fit.prompt_tokens:
            fit = msgspec.structs.replace(fit, prompt_tokens=count)
        return BuiltPrompt(unprotect(rendered.text), rendered.tokenised, fit)

    def count_text(self, text: str) -> int:
        """Return the number of tokens of a text as message content."""
        return len(self._vocab.tokenize(text, parse_special=False))

    def is_markup(self, token: int) -> bool:
        """Tell whether a token belongs to the format rather than to what is said."""
        return token in self._markup or self._vocab.is_control(token)

    def remember_reply(self, prompt: BuiltPrompt, text: str, tokens: Sequence[int]) -> None:
        """Keep a reply's own tokens for the prompts that will contain it."""
        self._tokens.remember_reply(prompt.tokenised, text, tokens)
        self._rendered.clear()  # their tokens may be others now

    def _render(self, messages: Sequence[ChatMessage], chat: ChatPrompt) -> _Rendered:
        """Return messages as the model would get them; the last few are remembered."""
        # What else a chat says has no part in how it is rendered.
        key = msgspec.structs.replace(chat, messages=tuple(messages), keep_from=None, trim=True)
        known = self._rendered.get(key)
        if known is not None:
            self._rendered.move_to_end(key)
            return known
        protected = [
            msgspec.structs.replace(
                message,
                content=protect(message.content, self._dangerous),
                reasoning=None
                if message.reasoning is None
                else protect(message.reasoning, self._dangerous),
            )
            for message in messages
        ]
        text = self._template.render(
            protected,
            add_generation_prompt=not chat.continue_reply,
            continue_reply=chat.continue_reply,
            now=chat.now,
            thinking=chat.thinking,
        )
        rendered = _Rendered(text, self._tokens.of(text))
        self._rendered[key] = rendered
        while len(self._rendered) > _REMEMBERED:
            self._rendered.popitem(last=False)
        return rendered
