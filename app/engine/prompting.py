"""From messages to tokens.

The template's scaffold is tokenised with its special tokens, message content without: a typed
turn marker stays text. Replies keep the tokens they were generated with, because tokenising their
text again can give others, and the cache behind them would be lost.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from app.engine.fit import fit_prompt
from app.engine.interface import EngineModel
from app.engine.protocol import ChatMessage, ChatPrompt, PromptFit
from app.engine.templates.prompt import ChatTemplate
from app.engine.templates.protect import Piece, protect, split_protected, unprotect

__all__ = ["BuiltPrompt", "PromptBuilder"]

_REMEMBERED_REPLIES = 256


@dataclass(frozen=True, slots=True)
class BuiltPrompt:
    """A prompt as text (special tokens spelled out) and as tokens, and how it fits.

    ``open_text`` is what stands after the last special token, ``open_tokens`` how many tokens it
    takes: a reply continues it.
    """

    text: str
    tokens: list[int]
    fit: PromptFit
    open_text: str = ""
    open_tokens: int = 0


class PromptBuilder:
    """Renders, tokenises and fits conversations for one loaded model."""

    def __init__(self, model: EngineModel, template: ChatTemplate) -> None:
        self._model = model
        self._vocab = model.vocab
        self._template = template
        self._broken = {text for text in self._vocab.user_defined if text in template.source}
        self._markup = {self._vocab.user_defined[text] for text in self._broken}
        self._dangerous = frozenset(self._vocab.specials) | self._broken
        self._broken_pattern = (
            re.compile("|".join(re.escape(text) for text in sorted(self._broken, key=len)[::-1]))
            if self._broken
            else None
        )
        self._replies: OrderedDict[str, tuple[int, ...]] = OrderedDict()

    def build(self, chat: ChatPrompt, max_tokens: int | None) -> BuiltPrompt:
        """Return the prompt for a conversation, with turns left out if it would not fit.

        The prompt of a conversation that can't be sent (``fit.problem``) has no tokens.

        Raises:
            TemplateError: the template failed.
        """

        def count(messages: Sequence[ChatMessage]) -> int:
            return len(self._tokens(self._render(messages, chat))[0])

        fit = fit_prompt(
            chat.messages,
            n_ctx=self._model.info.n_ctx,
            max_tokens=max_tokens,
            count=count,
            keep_from=chat.keep_from,
            trim=chat.trim,
        )
        if fit.problem is not None:
            return BuiltPrompt("", [], fit)
        dropped = set(fit.dropped)
        kept = [message for message in chat.messages if message.id not in dropped]
        text = self._render(kept, chat)
        tokens, open_text, open_tokens = self._tokens(text)
        if len(tokens) != fit.prompt_tokens:
            fit = msgspec.structs.replace(fit, prompt_tokens=len(tokens))
        return BuiltPrompt(unprotect(text), tokens, fit, open_text, open_tokens)

    def count_text(self, text: str) -> int:
        """Return the number of tokens of a text as message content."""
        return len(self._vocab.tokenize(text, parse_special=False))

    def is_markup(self, token: int) -> bool:
        """Tell whether a token belongs to the format rather than to what is said."""
        return token in self._markup or self._vocab.is_control(token)

    def _render(self, messages: Sequence[ChatMessage], chat: ChatPrompt) -> str:
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
        return self._template.render(
            protected,
            add_generation_prompt=not chat.continue_reply,
            continue_reply=chat.continue_reply,
            now=chat.now,
            thinking=chat.thinking,
        )

    def _tokens(self, text: str) -> tuple[list[int], str, int]:
        """Return the tokens of a rendered prompt, the text after its last special token, and how
        many of the tokens are that text's.
        """
        tokens: list[int] = []
        run: list[str] = []  # neighbouring pieces that llama.cpp may tokenise in one go

        def flush() -> None:
            if run:
                tokens.extend(self._vocab.tokenize("".join(run), parse_special=True))
                run.clear()

        pieces = split_protected(text, self._dangerous)
        open_piece = pieces.pop() if pieces and not pieces[-1].special else None
        for piece in pieces:
            own = None if piece.special else self._own_tokens(piece)
            if own is None:
                run.append(piece.text)
            else:
                flush()
                tokens.extend(own)
        flush()
        if open_piece is None:
            return self._vocab.with_bos(tokens), "", 0
        own = self._own_tokens(open_piece)
        if own is None:
            own = self._vocab.tokenize(open_piece.text, parse_special=True)
        tokens.extend(own)
        return self._vocab.with_bos(tokens), open_piece.text, len(own)

    def _own_tokens(self, piece: Piece) -> Sequence[int] | None:
        """Return the tokens of a piece that must not be tokenised with its neighbours."""
        if piece.protected:
            return self._content_tokens(piece)
        return self._replies.get(piece.text)

    def _content_tokens(self, piece: Piece) -> list[int]:
        """Tokenise text in which somebody typed special tokens: as plain text.

        llama.cpp matches user-defined tokens even then; those of the template are cut in two.
        """
        if self._broken_pattern is None:
            return self._vocab.tokenize(piece.text, parse_special=False)
        tokens: list[int] = []
        start = 0
        for match in self._broken_pattern.finditer(piece.text):
            middle = match.start() + 1
            tokens.extend(self._vocab.tokenize(piece.text[start:middle], parse_special=False))
            start = middle
        tokens.extend(self._vocab.tokenize(piece.text[start:], parse_special=False))
        return tokens

    def remember_reply(self, prompt: BuiltPrompt, text: str, tokens: Sequence[int]) -> None:
        """Keep a reply's own tokens for the prompts that will contain it.

        In those it stands in one piece with what the prompt left open ("assistant", a new line).
        """
        if not tokens or not text:
            return
        opened = prompt.tokens[len(prompt.tokens) - prompt.open_tokens :]
        key = prompt.open_text + text
        self._replies[key] = (*opened, *tokens)
        self._replies.move_to_end(key)
        while len(self._replies) > _REMEMBERED_REPLIES:
            self._replies.popitem(last=False)
