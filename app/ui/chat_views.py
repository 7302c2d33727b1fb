"""From stored messages to what the transcript shows: figures, notes, where memory begins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from PySide6.QtCore import QCoreApplication

from app.data.records import ContextEvent, Message, Siblings
from app.ui.give_way import giving_way
from app.ui.numbers import numbered
from app.ui.transcript.items import AttachmentView, Figure, MessageView, NoticeAction, lines_of
from inspector.records import TurnStats

__all__ = [
    "CUT_PREFIX",
    "LiveReply",
    "StillViews",
    "cut_view",
    "figures_of",
    "message_view",
    "path_views",
    "still_views",
]

CUT_PREFIX = "cut:"


def _tr(text: str) -> str:
    return QCoreApplication.translate("ChatViews", text)


@dataclass(frozen=True, slots=True)
class LiveReply:
    """A reply that is being written, over what the store has of it."""

    message_id: str
    text: str
    reasoning: str
    reasoning_tokens: int
    reply_tokens: int
    waiting: bool
    progress: tuple[int, int] | None
    decode_per_s: float | None


_NOTES = {
    "token_limit": "Stopped at the token limit of this chat.",
    "context_full": "Stopped: the context is full.",
    "stop_string": "Ended by a stop string.",
    "role_marker": "Stopped: the model began to speak for somebody else.",
    "stopped": "Stopped by you.",
}
_CAN_GO_ON = {"token_limit", "context_full", "stopped"}


def _rate(value: float | None) -> str:
    if value is None:
        return "—"
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


def _tokens_figure(tokens: int) -> Figure:
    return Figure("", f"{tokens:,}", _tr("token") if tokens == 1 else _tr("tokens"))


def figures_of(stats: TurnStats, *, has_text: bool = True) -> tuple[Figure, ...]:
    """Return the line of figures below a reply; what is unknown is left out."""
    figures = []
    tokens = stats.whole_reply_tokens
    if tokens or not has_text:  # text of no tokens is text whose tokens nobody counted
        figures.append(_tokens_figure(tokens))
    reused = ""
    if stats.reused_tokens:
        reused = _tr("({0} of {1} prompt tokens reused)").format(
            f"{stats.reused_tokens:,}", f"{stats.prompt_tokens:,}"
        )
    if stats.first_token_s > 0:
        figures.append(
            Figure(
                _tr("first token"),
                f"{stats.first_token_s:.2f}",
                _tr("s"),
                reused,
                tip=_tr("Measured from the request to the first token."),
            )
        )
    if stats.prefill_per_s is not None:
        figures.append(
            Figure(
                _tr("prefill"),
                _rate(stats.prefill_per_s),
                _tr("tok/s"),
                tip=numbered(
                    stats.evaluated_tokens,
                    _tr("1 prompt token was evaluated in {0:.2f} s."),
                    _tr("%n prompt tokens were evaluated in {0:.2f} s."),
                ).format(stats.prefill_s),
            )
        )
    if stats.decode_per_s is not None:
        figures.append(
            Figure(
                _tr("decode"),
                _rate(stats.decode_per_s),
                _tr("tok/s"),
                tip=_tr("Tokens of the reply after the first, over their time."),
            )
        )
    if stats.accepted_share is not None:
        figures.append(
            Figure(
                _tr("draft"),
                f"{stats.accepted_share * 100:.0f}",
                _tr("% right"),
                tip=numbered(
                    stats.drafted_tokens,
                    _tr("The draft model guessed 1 token; of what this model wrote it had {0}."),
                    _tr("The draft model guessed %n tokens; of what this model wrote it had {0}."),
                ).format(f"{stats.accepted_tokens:,}"),
            )
        )
    if stats.batch_per_s is not None:
        figures.append(
            Figure(
                _tr("{0} at once").format(stats.replies_at_once),
                _rate(stats.batch_per_s),
                _tr("tok/s"),
                tip=_tr(
                    "{0} replies were decoded in one batch: each reading of the weights served "
                    "all of them. This is their rate together, measured."
                ).format(stats.replies_at_once),
            )
        )
    return tuple(figures)


def _live_figures(live: LiveReply) -> tuple[Figure, ...]:
    if live.waiting or not live.reply_tokens:
        return ()
    figures = [_tokens_figure(live.reply_tokens)]
    if live.decode_per_s is not None:
        figures.append(Figure(_tr("decode"), _rate(live.decode_per_s), _tr("tok/s")))
    return tuple(figures)


def message_view(
    message: Message,
    siblings: Siblings | None = None,
    live: LiveReply | None = None,
    *,
    figures: bool = True,
    versions_live: bool = False,
    is_last: bool = False,
) -> MessageView:
    """Return what the transcript shows of a message.

    ``versions_live`` tells that several versions are written at once, so that one may look at
    the others.
    """
    attachments = tuple(AttachmentView(a.name, a.tokens) for a in message.attachments)
    index, count = (siblings.index, siblings.count) if siblings is not None else (0, 1)
    common = {
        "id": message.id,
        "role": message.role,
        "model": message.model_name or "",
        "version_index": index,
        "version_count": count,
        "attachments": attachments,
        "is_last": is_last,
    }
    if live is not None and live.message_id == message.id:
        return MessageView(
            text=live.text,
            reasoning=live.reasoning,
            reasoning_tokens=live.reasoning_tokens,
            state="waiting" if live.waiting else "streaming",
            progress=live.progress,
            figures=_live_figures(live) if figures else (),
            versions_live=versions_live,
            **common,  # type: ignore[arg-type]
        )
    stats = message.stats
    return MessageView(
        text=message.text,
        reasoning=message.reasoning,
        reasoning_tokens=stats.reasoning_tokens if stats is not None else 0,
        state=message.state if message.state != "streaming" else "interrupted",
        note=_note(message),
        figures=_still_figures(message, figures=figures),
        actions=_actions(message),
        lines=lines_of(message.text),
        **common,  # type: ignore[arg-type]
    )


def _still_figures(message: Message, *, figures: bool) -> tuple[Figure, ...]:
    """Return what stands below a reply that is not being written."""
    found: tuple[Figure, ...] = ()
    if message.stop_reason == "edited":  # it stands under the model's name
        tip = _tr("A person changed this reply; the version before it is the model's.")
        found = (Figure("", _tr("edited by you"), bold_value=False, tip=tip),)
    if message.stats is not None and figures:
        has_text = bool(message.text or message.reasoning)
        found += figures_of(message.stats, has_text=has_text)
    return found


def _note(message: Message) -> str:
    if message.role == "user":
        return ""
    if message.state == "failed":
        return message.stop_reason or _tr("There is no reply.")
    if message.state in {"interrupted", "streaming"}:
        return message.stop_reason or _tr("Interrupted: the program or the engine ended here.")
    stats = message.stats
    if message.stop_reason == "context_full" and stats is not None and stats.replies_at_once > 1:
        return _tr(
            "Stopped: the context is full. {0} replies at once shared its {1} tokens."
        ).format(stats.replies_at_once, f"{stats.n_ctx:,}")
    return _tr(_NOTES[message.stop_reason]) if message.stop_reason in _NOTES else ""


def _actions(message: Message) -> tuple[NoticeAction, ...]:
    if message.role == "user":
        return ()
    if message.state == "failed" and not message.text:
        return (NoticeAction(_tr("Try again"), "regenerate"),)
    if message.state in {"interrupted", "stopped", "streaming"} or (
        message.stop_reason in _CAN_GO_ON
    ):
        actions = (NoticeAction(_tr("Continue"), "continue"),)
        if message.stop_reason == "context_full":
            return (*actions, NoticeAction(_tr("Raise the context"), "raise_context"))
        return actions
    return ()


def cut_view(event: ContextEvent | None, dropped: int, tokens: int, anchor: str) -> MessageView:
    """Return the line that marks where the model's memory begins."""
    n_ctx = event.n_ctx if event is not None else 0
    text = numbered(
        dropped,
        _tr("The model's memory begins here: an earlier message ({0}) left the context."),
        _tr("The model's memory begins here: %n earlier messages ({0}) left the context."),
    )
    return MessageView(
        id=CUT_PREFIX + anchor,
        role="memory_cut",
        text=text.format(numbered(tokens, _tr("1 token"), _tr("%n tokens"))),
        note="" if not n_ctx else _tr("The context holds {0} tokens.").format(f"{n_ctx:,}"),
        actions=(
            NoticeAction(_tr("Raise the context"), "raise_context"),
            NoticeAction(_tr("What left it"), "show_dropped"),
        ),
    )


@dataclass(frozen=True, slots=True)
class _Still:
    """A view, and what it was made of."""

    message: Message
    siblings: Siblings | None
    is_last: bool
    view: MessageView


@dataclass(frozen=True, slots=True)
class StillViews:
    """How messages are shown that nobody is writing, by id; ``figures`` as in `message_view`."""

    figures: bool = True
    by_id: Mapping[str, _Still] = field(default_factory=dict)

    def get(self, message_id: str, *, figures: bool) -> MessageView | None:
        """Return a message's view, None where it is to be made."""
        found = self.by_id.get(message_id) if figures is self.figures else None
        return None if found is None else found.view


def still_views(
    path: Sequence[Message],
    forks: Mapping[str, Siblings],
    before: StillViews | None = None,
    *,
    figures: bool = True,
) -> StillViews:
    """Return the views of a branch; those of ``before`` whose message is the same are kept.

    Any thread may call this.
    """
    known: Mapping[str, _Still] = {}
    if before is not None and before.figures is figures:
        known = before.by_id
    made: dict[str, _Still] = {}
    for message in giving_way(path):
        siblings, is_last = forks.get(message.id), message is path[-1]
        old = known.get(message.id)
        if (
            old is None
            or old.message is not message
            or old.siblings != siblings
            or old.is_last is not is_last
        ):
            view = message_view(message, siblings, figures=figures, is_last=is_last)
            old = _Still(message, siblings, is_last, view)
        made[message.id] = old
    return StillViews(figures, made)


def path_views(
    path: Sequence[Message],
    forks: Mapping[str, Siblings],
    events: Sequence[ContextEvent],
    keep_from: str | None,
    lives: Mapping[str, LiveReply],
    *,
    figures: bool = True,
    versions_live: bool = False,
    still: StillViews | None = None,
) -> list[MessageView]:
    """Return a branch as the transcript shows it, with the memory line where it belongs.

    ``still`` has views that were made before, of the same branch.
    """
    views: list[MessageView] = []
    last = events[-1] if events else None
    still = still or StillViews()
    for message in path:
        if keep_from is not None and message.id == keep_from and views:
            dropped = len(last.dropped) if last is not None else len(views)
            tokens = last.dropped_tokens if last is not None else 0
            views.append(cut_view(last, dropped, tokens, message.id))
        made = None if message.id in lives else still.get(message.id, figures=figures)
        if made is None:
            made = message_view(
                message,
                forks.get(message.id),
                lives.get(message.id),
                figures=figures,
                versions_live=versions_live,
                is_last=message is path[-1],
            )
        views.append(made)
    return views
