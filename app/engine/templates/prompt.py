"""Turns a conversation into the text that a model gets, with the file's template or another."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from app.engine.protocol import ChatMessage
from app.engine.templates.builtin import BUILTIN_TEMPLATES, BuiltinTemplate, fallback_for
from app.engine.templates.errors import TemplateError
from app.engine.templates.probe import Marks, learn_manners, learn_marks
from app.engine.templates.renderer import TemplateRenderer
from app.engine.templates.turns import Manners, Turn, arrange, as_values
from app.engine.text.reasoning import (
    HARMONY,
    HARMONY_ANSWER,
    TAGS,
    opened_by,
    without_empty_reasoning,
)
from app.engine.text.reply import ReplyText

__all__ = ["ChatTemplate"]

FROM_FILE: Final = "file"

_CONTENT: Final = "plimsollcontent"
_REASONING: Final = "plimsollreasoning"


def _knows_nothing(_token: str) -> bool:
    return False


class ChatTemplate:
    """The chat format of a loaded model.

    Args:
        source: the template that the file carries, if any.
        name: a built-in format that the user chose instead.
        bos: text of the token that begins a text, empty if there is none.
        eos: text of the token that ends one.
        renderer: renders the file's template; closing it stays with the caller.
        known_tokens: whether the vocabulary has a special token of this text, which tells which
            built-in format to fall back on.

    Attributes:
        used: ``"file"``, or the name of the built-in format.
        notice: a sentence for the user about a format that was not asked for, else None.
        failure: why the file's template can't be used, if it can't.
        source: the template in use.
        stops: texts that end a reply in the built-in format wherever they appear, besides
            `turn_end`.
    """

    def __init__(
        self,
        source: str | None,
        name: str | None,
        bos: str,
        eos: str,
        renderer: TemplateRenderer,
        *,
        known_tokens: Callable[[str], bool] = _knows_nothing,
    ) -> None:
        self._bos = bos
        self._eos = eos
        self._renderer = renderer
        self._known_tokens = known_tokens
        self.used = FROM_FILE
        self.notice: str | None = None
        self.failure: TemplateError | None = None
        self.stops: tuple[str, ...] = ()
        self.source = source or ""
        self._manners = Manners()
        self._marks = Marks()
        chosen = BUILTIN_TEMPLATES.get(name) if name is not None else None
        if chosen is not None:
            self._use_builtin(chosen)
            return
        if not self.source.strip():
            self._use_builtin(fallback_for(known_tokens))
            self.notice = (
                f"This model has no chat template, so the {self._title} format is used; "
                "choose another if the replies make no sense."
            )
        else:
            try:
                self._learn()
            except TemplateError as error:
                self.failure = error
                self._use_builtin(fallback_for(known_tokens))
                self.notice = (
                    f"{str(error).removesuffix('.')}, so the {self._title} format is used instead."
                )
        if name is not None:
            self.notice = f"There is no chat format called {name}. {self.notice or ''}".rstrip()

    @property
    def supports_system(self) -> bool:
        """Whether it takes a system message; else that goes into the first user message."""
        return self._manners.system

    @property
    def thinking(self) -> bool:
        """Whether it has a switch for reasoning."""
        return self._manners.thinking

    def turn_end(self) -> str:
        """Return the text right after a reply, without white space; empty if there is none."""
        return self._marks.turn_end

    def role_markers(self) -> tuple[str, ...]:
        """Return the texts that open a turn of the user or the system."""
        return self._marks.roles

    def reasoning_tags(self) -> dict[str, str]:
        """Return the opening tags of reasoning that replies may use, each with its closing tag."""
        learnt = self._marks.reasoning
        # the channel format has more than two tags, and is understood without them
        if learnt is None or learnt[0] == HARMONY:
            return TAGS
        return {learnt[0]: learnt[1], **TAGS}

    def reply_text(
        self, prompt: str, *, stops: Iterable[str] = (), continued: ChatMessage | None = None
    ) -> ReplyText:
        """Return what makes text of the tokens of the reply to a prompt.

        Args:
            prompt: what `render` returned.
            stops: the user's stop strings.
            continued: the reply that is gone on with, if it is (``continue_reply`` of `render`).
        """
        tags = self.reasoning_tags()
        opened: str | None = None
        resumed = continued is not None and bool(continued.content or continued.reasoning)
        if not resumed:
            opened = opened_by(prompt, tags)
        elif continued is not None and not continued.content:
            opened = max((*tags, HARMONY), key=prompt.rfind)
        return ReplyText(
            stops=stops,
            turn_ends=(self.turn_end(), *self.stops),
            role_markers=self.role_markers(),
            is_special=self._known_tokens,
            opened_by=opened,
            resumed=resumed,
            tags=tags,
        )

    def render(
        self,
        messages: Sequence[ChatMessage],
        *,
        add_generation_prompt: bool = True,
        continue_reply: bool = False,
        now: str | None = None,
        thinking: bool | None = None,
    ) -> str:
        """Return the prompt for a conversation.

        Args:
            messages: oldest first; marks of `app.engine.templates.protect` stay in their content.
            add_generation_prompt: open the turn of the assistant.
            continue_reply: leave the last message, a reply, open so that the model goes on with it.
            now: the time that the template is told, ISO 8601; None is the time of the call.
            thinking: the switch for reasoning, None leaves it to the template.

        Raises:
            TemplateError: the template refuses this conversation or passes a limit.
        """
        if continue_reply and messages and messages[-1].role == "assistant":
            return self._render_open(messages, now, thinking)
        turns = arrange(messages, self._manners)
        try:
            return self._render_turns(turns, self._manners, add_generation_prompt, now, thinking)
        except TemplateError as error:
            if error.kind not in {"raised", "undefined"} or any(t.role == "user" for t in turns):
                raise
            # a template may insist on a question, also when only the system part is measured
            turns = [*turns, Turn("user", "")]
            return self._render_turns(turns, self._manners, add_generation_prompt, now, thinking)

    @property
    def _title(self) -> str:
        return BUILTIN_TEMPLATES[self.used].title

    def _use_builtin(self, template: BuiltinTemplate) -> None:
        self.used = template.name
        self.source = template.source
        self._learn()
        self.stops = tuple(stop for stop in template.stops if stop != self._marks.turn_end)

    def _learn(self) -> None:
        self._manners = learn_manners(self._render_probe, self.source)
        self._marks = learn_marks(self._render_probe, self._manners, self._bos, self._eos)

    def _render_probe(
        self,
        turns: Sequence[Turn],
        manners: Manners,
        *,
        add_generation_prompt: bool,
        thinking: bool | None = None,
    ) -> str:
        return self._render_turns(turns, manners, add_generation_prompt, None, thinking)

    def _render_turns(
        self,
        turns: Sequence[Turn],
        manners: Manners,
        add_generation_prompt: bool,
        now: str | None,
        thinking: bool | None,
    ) -> str:
        values: dict[str, object] = {
            "messages": as_values(turns, manners),
            "tools": None if manners.tools else [],
            "add_generation_prompt": add_generation_prompt,
            "bos_token": self._bos,
            "eos_token": self._eos,
        }
        if thinking is not None:
            # the two names that templates use for the same switch
            values |= {"enable_thinking": thinking, "thinking": thinking}
        if self.used == FROM_FILE:
            return self._renderer.render(self.source, values, now)
        # our own templates need no guard, and must work when no child can be started
        from app.engine.templates.environment import render

        return render(self.source, values, now)

    def _render_open(
        self, messages: Sequence[ChatMessage], now: str | None, thinking: bool | None
    ) -> str:
        """Render with the last reply open, so that the text ends exactly where the reply does.

        Either the template writes up to the reply's own text, or (where it would leave its
        reasoning out) the text stands as the model generated it: after the generation prompt.
        """
        *before, reply = messages
        opening = self.render(before, now=now, thinking=thinking)
        reasoning, content = reply.reasoning or "", reply.content or ""
        if not reasoning and not content:
            return opening
        written = self._written_up_to(before, reply, now, thinking)
        if written is not None:
            lead = written.removeprefix(opening)
            if lead.isspace() and lead != written and content.startswith(lead):
                written = opening  # the model generated that white space itself
            return written + content
        return self._as_generated(opening, reasoning, content)

    def _written_up_to(
        self,
        before: Sequence[ChatMessage],
        reply: ChatMessage,
        now: str | None,
        thinking: bool | None,
    ) -> str | None:
        """Return what the template writes up to the content of the last reply, with its reasoning.

        None if it rejects or leaves out part of it.
        """
        stand_in = ChatMessage(
            id=reply.id,
            role="assistant",
            content=_CONTENT,
            reasoning=_REASONING if reply.reasoning else None,
        )
        try:
            text = self.render(
                [*before, stand_in], add_generation_prompt=False, now=now, thinking=thinking
            )
        except TemplateError as error:
            if error.kind in {"raised", "undefined"}:
                return None
            raise
        head, found, _tail = text.rpartition(_CONTENT)
        if not found:
            return None
        if not reply.reasoning:
            return head
        start, found, rest = head.rpartition(_REASONING)
        if not found:
            return None
        return start + reply.reasoning + (rest if reply.content else "")

    def _as_generated(self, opening: str, reasoning: str, content: str) -> str:
        """Return a reply as a model would have written it after a generation prompt."""
        if not reasoning:
            return opening + content
        tags = self.reasoning_tags()
        tag = opened_by(opening, tags)
        if tag is None:
            # a prompt that closed the reasoning beforehand did not belong to this reply
            opening = without_empty_reasoning(opening, tags)
            tag = next((t for t in tags if t in self.source), next(iter(tags)))
            reasoning = f"{tag}\n{reasoning}"
        if content:
            line_end = "" if reasoning.endswith("\n") else "\n"
            reasoning += HARMONY_ANSWER if tag == HARMONY else f"{line_end}{tags[tag]}\n\n"
        return opening + reasoning + content
