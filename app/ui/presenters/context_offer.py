"""What is said of a prompt that does not fit the context as it is, and what can be chosen."""

from __future__ import annotations

from typing import Final

from PySide6.QtCore import QCoreApplication, QObject, Signal, Slot

from app.engine.protocol import ModelInfo, PromptFit
from app.ui.main_window import MainWindow
from app.ui.numbers import grouped, numbered
from app.ui.shell.views import Choice, Overflow

__all__ = ["OverflowSign", "overflow_of"]

_EDIT_CHARS: Final = 160  # of an edit; it is there to be recognised


def _tr(text: str) -> str:
    return QCoreApplication.translate("ContextPresenter", text)


def overflow_of(
    fit: PromptFit,
    model: ModelInfo | None,
    *,
    blocked: bool,
    has_chat: bool,
    edit: str = "",
) -> Overflow:
    """Return what stands above the composer.

    Args:
        fit: of the prompt, with its problem or the messages that leave with it.
        model: the loaded model, None if there is none.
        blocked: nothing is sent before the user has chosen.
        has_chat: there are messages that could be summarised.
        edit: text of an edited message that is not sent before; its editor is closed already.
    """
    choices = []
    if fit.problem is None and blocked:
        choices.append(Choice("send", _tr("Send without them"), "primary"))
    larger = [] if model is None else _larger(fit, model)
    choices += larger
    sentence = _sentence(fit)
    if fit.problem is not None and model is not None and not larger:
        told = _tr("It was trained for {0}: shorten what is sent, or choose another model.")
        if model.n_ctx >= model.n_ctx_train:
            told = _tr("It was trained for no more: shorten what is sent, or choose another model.")
        sentence += " " + told.format(grouped(model.n_ctx_train))
        choices.append(Choice("model", _tr("Choose another model")))
    if has_chat and fit.problem != "message_too_long":
        choices.append(Choice("summary", _tr("New chat with a summary")))
    if edit and blocked:
        sentence += " " + _tr("Your edit waits: “{0}”").format(_beginning(edit))
    return Overflow(sentence, tuple(choices), "error" if fit.problem else "warning")


def _beginning(text: str) -> str:
    words = " ".join(text[: 4 * _EDIT_CHARS].split())
    return words if len(words) <= _EDIT_CHARS else words[:_EDIT_CHARS].rstrip() + "…"


def _sentence(fit: PromptFit) -> str:
    if fit.problem == "system_too_long":
        return _tr(
            "The system prompt alone takes {0} of {1} tokens; shorten it or raise the context."
        ).format(grouped(fit.system_tokens), grouped(fit.n_ctx))
    if fit.problem is not None:
        return _tr(
            "This needs a context of {0} tokens: {1} for what is sent, the rest as room for "
            "the reply; the model has {2}."
        ).format(grouped(fit.needed_tokens), grouped(fit.prompt_tokens), grouped(fit.n_ctx))
    tokens = numbered(fit.leaving_tokens, _tr("1 token"), _tr("%n tokens"))
    # What left with an earlier turn has a line in the transcript.
    leaving = numbered(
        len(fit.leaving),
        _tr("With this message the oldest one ({0}) leaves the model's memory"),
        _tr("With this message the %n oldest ones ({0}) leave the model's memory"),
    ).format(tokens)
    room = numbered(
        fit.reply_room_tokens,
        _tr("room for a reply of 1 token is kept"),
        _tr("room for a reply of %n tokens is kept"),
    )
    return _tr("{0}: {1}.").format(leaving, room)


def _larger(fit: PromptFit, model: ModelInfo) -> list[Choice]:
    """Return what loads the model again with a context that is long enough, if it goes so far."""
    wanted = max(fit.needed_tokens, fit.n_ctx * 2)
    if model.n_ctx_train:
        wanted = min(wanted, model.n_ctx_train)
    helps = wanted >= fit.needed_tokens or fit.problem is None
    if wanted <= model.n_ctx or not helps:
        return []
    choices = [Choice(f"context:{wanted}", _tr("Context to {0}").format(grouped(wanted)))]
    if model.type_k == "f16":
        choices.append(
            Choice(
                f"cache:{wanted}",
                _tr("Context to {0} with a q8_0 cache").format(grouped(wanted)),
                tooltip=_tr("About the memory of today's f16 cache."),
            )
        )
    return choices


class OverflowSign(QObject):
    """Says it above the draft, and keeps that from being sent where it is wanted so.

    Signals:
        chosen(str): what is to be done; another model is chosen without it.

    Attributes:
        blocks: whether the draft can't be sent so.
    """

    chosen = Signal(str)

    def __init__(self, window: MainWindow, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._window = window
        self.blocks = False
        window.chat.overflow.chosen.connect(self._on_chosen)

    def show(self, overflow: Overflow | None, *, blocks: bool = False) -> None:
        """Say what does not fit, None is nothing."""
        self.blocks = blocks
        self._window.chat.composer.set_blocked(blocks)
        self._window.chat.overflow.set_overflow(overflow)

    @Slot(str)
    def _on_chosen(self, key: str) -> None:
        if key == "model":
            self._window.open_picker()  # nothing has changed yet: the sign stays
        else:
            self.chosen.emit(key)
