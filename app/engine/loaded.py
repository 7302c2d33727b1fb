"""A loaded model with what belongs to it: its template, what its cache holds, its prompts."""

from __future__ import annotations

from app.engine.cache import PrefixCache
from app.engine.drafting import Draft
from app.engine.interface import EngineModel
from app.engine.prompting import BuiltPrompt, PromptBuilder
from app.engine.protocol import Generate
from app.engine.templates.prompt import ChatTemplate
from app.engine.text import ReplyText

__all__ = ["LoadedModel"]


class LoadedModel:
    """A model with what belongs to it."""

    def __init__(
        self, model: EngineModel, template: ChatTemplate, draft: Draft | None = None
    ) -> None:
        self.model = model
        self.draft = draft
        self.template = template
        self.cache = PrefixCache(model)
        self.prompts = PromptBuilder(model, template)
        self.load_s: float | None = model.info.load_s
        self._bench: tuple[int, int] | None = None  # depth and sequences that a test left behind

    def keep_bench(self, depth: int, sequences: int) -> None:
        """Note that the memory is left as a test filled it; `cache` knows nothing of that."""
        self._bench = (depth, sequences)

    def take_bench(self) -> tuple[int, int] | None:
        """Return the depth and the sequences that a test left in memory; who asks follows on."""
        left, self._bench = self._bench, None
        return left

    def forget_bench(self) -> None:
        """Clear the memory of what a test left, before anything else uses it."""
        if self.take_bench() is not None:
            self.cache.clear()

    def abort(self, on: bool) -> None:
        """Make evaluations end early, or no longer."""
        self.model.abort(on)
        if self.draft is not None:
            self.draft.model.abort(on)

    def close(self) -> None:
        """Free what it holds."""
        if self.draft is not None:
            self.draft.close()
        self.model.close()

    def reply_text(self, prompt: BuiltPrompt, request: Generate) -> ReplyText:
        """Return what will turn the reply's tokens into text, and end it where it has to end."""
        chat = request.chat
        if request.sampling.ignore_eos:
            # A reply that is forced on (benchmarks) must not be ended by what it writes.
            return ReplyText(stops=request.sampling.stop, resumed=True)
        return self.template.reply_text(
            prompt.text,
            stops=request.sampling.stop,
            continued=chat.messages[-1] if chat.continue_reply else None,
        )
