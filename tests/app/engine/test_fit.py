"""What is sent when a conversation outgrows the window: situations A21, A22, A23, A26."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from app.engine.fit import fit_prompt, needed_context, reply_room
from app.engine.protocol import ChatMessage, PromptFit

SCAFFOLD = 4  # tokens around each message


def tokens_of(messages: Sequence[ChatMessage]) -> int:
    """Count one token a word, as a template with a little scaffold would."""
    return sum(len(m.content.split()) + SCAFFOLD for m in messages)


class Counter:
    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, messages: Sequence[ChatMessage]) -> int:
        self.calls += 1
        return tokens_of(messages)


def message(id_: str, role: str, words: int) -> ChatMessage:
    return ChatMessage(id=id_, role=role, content="w " * words)  # type: ignore[arg-type]


def chat(turns: int, words: int = 26, system: int = 0) -> list[ChatMessage]:
    """A conversation that waits for a reply: each message of ``words`` + scaffold tokens."""
    messages = [message("s", "system", system)] if system else []
    for number in range(turns):
        messages.append(message(f"u{number}", "user", words))
        if number < turns - 1:
            messages.append(message(f"a{number}", "assistant", words))
    return messages


def fit(
    messages: Sequence[ChatMessage],
    n_ctx: int,
    *,
    max_tokens: int | None = None,
    keep_from: str | None = None,
    trim: bool = True,
    count: Callable[[Sequence[ChatMessage]], int] = tokens_of,
) -> PromptFit:
    return fit_prompt(
        messages, n_ctx=n_ctx, max_tokens=max_tokens, count=count, keep_from=keep_from, trim=trim
    )


def kept(messages: Sequence[ChatMessage], result: PromptFit) -> list[ChatMessage]:
    return [m for m in messages if m.id not in result.dropped]


def test_what_fits_is_sent_whole() -> None:
    counter = Counter()
    messages = chat(5, system=6)
    result = fit(messages, 4096, count=counter, keep_from="u3")
    assert result.dropped == ()
    assert (result.problem, result.keep_from, result.needed_tokens) == (None, None, 0)
    assert result.prompt_tokens == tokens_of(messages)
    assert result.system_tokens == 10
    assert result.reply_room_tokens == 1024
    assert counter.calls == 2


def test_a21_oldest_turns_are_left_out_in_whole_pairs() -> None:
    messages = chat(40, system=6)
    result = fit(messages, 512)
    assert result.problem is None
    rest = kept(messages, result)
    assert [m.role for m in rest[:3]] == ["system", "user", "assistant"]
    assert rest[-1].id == "u39"
    assert result.keep_from == rest[1].id
    assert result.prompt_tokens == tokens_of(rest) <= 512 - result.reply_room_tokens
    assert result.dropped == tuple(m.id for m in messages[1 : 1 + len(result.dropped)])
    assert len(messages) == 80


def test_a21_a_prompt_never_fills_the_window() -> None:
    words = 512 - SCAFFOLD
    assert fit([message("u", "user", words)], 512, max_tokens=1).problem == "message_too_long"
    assert fit([message("u", "user", words - 1)], 512, max_tokens=1).problem is None
    assert reply_room(512, 0) == 1
    assert reply_room(3, None) == 1


@pytest.mark.parametrize(
    ("n_ctx", "max_tokens", "room"),
    [
        (8192, None, 2048),
        (16_384, None, 4096),
        (131_072, None, 4096),  # not the 32,768 that a quarter would be
        (1_048_576, None, 4096),
        (131_072, 20_000, 20_000),  # who asks for long replies gets the room
        (131_072, 100_000, 32_768),
    ],
)
def test_a_huge_window_keeps_the_room_of_a_long_reply(
    n_ctx: int, max_tokens: int | None, room: int
) -> None:
    assert reply_room(n_ctx, max_tokens) == room
    long = [message("u", "user", n_ctx - room - SCAFFOLD)]
    assert fit(long, n_ctx, max_tokens=max_tokens).problem is None


def test_a21_one_message_that_is_too_long_is_refused_with_numbers() -> None:
    messages = [*chat(3, system=6)[:-1], message("long", "user", 1000)]
    result = fit(messages, 512)
    assert result.problem == "message_too_long"
    assert result.prompt_tokens == 10 + 1004
    assert result.needed_tokens == 1536
    again = fit(messages, result.needed_tokens)
    assert again.problem is None
    assert kept(messages, again)[-1].id == "long"


def test_a22_what_was_left_out_is_named_and_counted() -> None:
    messages = chat(40, system=6)
    result = fit(messages, 512)
    dropped = [m for m in messages if m.id in result.dropped]
    assert result.dropped_tokens == tokens_of(dropped) > 0
    assert dropped[0].id == "u0"
    assert dropped[-1].role == "assistant"


def test_a22_what_left_before_is_not_told_again() -> None:
    messages = chat(40, system=6)
    first = fit(messages, 512)
    assert (first.leaving, first.leaving_tokens) == (first.dropped, first.dropped_tokens)
    again = fit(messages, 512, keep_from=first.keep_from)
    assert again.dropped == first.dropped
    assert (again.leaving, again.leaving_tokens) == ((), 0)
    longer = chat(48, system=6)
    second = fit(longer, 512, keep_from=first.keep_from)
    assert second.leaving
    assert second.dropped == first.dropped + second.leaving
    assert second.leaving_tokens == second.dropped_tokens - first.dropped_tokens


def test_a22_nothing_is_left_out_unless_asked() -> None:
    messages = chat(40, system=6)
    result = fit(messages, 512, trim=False)
    assert (result.problem, result.dropped, result.keep_from) == ("does_not_fit", (), None)
    assert result.prompt_tokens == tokens_of(messages)
    assert fit(messages, result.needed_tokens, trim=False).problem is None


def test_a23_the_system_message_is_always_kept() -> None:
    messages = [message("s1", "system", 50), message("s2", "system", 50), *chat(40)]
    rest = kept(messages, fit(messages, 512))
    assert [m.id for m in rest[:2]] == ["s1", "s2"]
    assert rest[2].role == "user"


def test_a23_a_system_message_that_is_too_long_is_said() -> None:
    messages = chat(3, system=600)
    result = fit(messages, 512)
    assert result.problem == "system_too_long"
    assert result.system_tokens == 604
    assert fit(messages, result.needed_tokens).problem is None


def test_a23_system_and_question_together_do_not_fit() -> None:
    messages = [message("s", "system", 300), message("u", "user", 200)]
    result = fit(messages, 512)
    assert result.problem == "message_too_long"
    assert result.prompt_tokens == 508


def test_a26_most_turns_reuse_the_prefix() -> None:
    n_ctx = 2048
    messages = chat(1, system=20)
    cut: str | None = None
    first_kept: list[str] = []
    for turn in range(1, 120):
        result = fit(messages, n_ctx, keep_from=cut)
        assert result.problem is None
        cut = result.keep_from
        first_kept.append(kept(messages, result)[1].id)
        messages += [message(f"a{turn}", "assistant", 26), message(f"u{turn}", "user", 26)]
    changes = sum(a != b for a, b in itertools.pairwise(first_kept))
    overflowed = len([f for f in first_kept if f != "u0"])
    assert overflowed > 80
    # each trim frees a quarter of the window, which takes eight turns of 60 tokens to fill
    assert 5 <= changes <= overflowed / 8


def test_a26_a_trim_goes_down_to_half_the_window() -> None:
    result = fit(chat(100, system=20), 2048)
    assert 0.45 * 2048 < result.prompt_tokens <= 0.5 * 2048


def test_a26_the_cut_stays_until_the_next_overflow() -> None:
    messages = chat(40)
    first = fit(messages, 1024)
    longer = [*messages, message("a39", "assistant", 26), message("u40", "user", 26)]
    second = fit(longer, 1024, keep_from=first.keep_from)
    assert second.keep_from == first.keep_from
    assert second.dropped == first.dropped
    # further back than what was kept before would not fit, further on is the next step
    assert fit(longer, 600, keep_from=first.keep_from).keep_from != first.keep_from


def test_a_cut_is_forgotten_with_its_message_or_with_a_larger_window() -> None:
    messages = chat(40)
    first = fit(messages, 1024)
    assert fit(messages, 8192, keep_from=first.keep_from).keep_from is None
    assert fit(messages, 1024, keep_from="deleted") == first
    # an answer of the turn serves as well as its question
    assert first.keep_from is not None
    answer = "a" + first.keep_from[1:]
    assert fit(messages, 1024, keep_from=answer).keep_from == first.keep_from


def test_the_exchange_before_is_kept_if_it_fits_at_all() -> None:
    messages = [
        *(message("u0", "user", 100), message("a0", "assistant", 100)),
        *(message("u1", "user", 200), message("a1", "assistant", 100)),
        message("u2", "user", 20),
    ]
    result = fit(messages, 500)
    assert [m.id for m in kept(messages, result)] == ["u1", "a1", "u2"]


def test_a_reply_that_goes_on_belongs_to_its_turn() -> None:
    messages = [*chat(40), message("a39", "assistant", 26)]
    rest = kept(messages, fit(messages, 512))
    assert [m.id for m in rest[-2:]] == ["u39", "a39"]


def test_unanswered_questions_are_turns_of_their_own() -> None:
    messages = [message(f"u{n}", "user", 50) for n in range(20)]
    result = fit(messages, 512)
    assert result.problem is None
    assert 0 < len(result.dropped) < 19


def test_a_greeting_goes_first() -> None:
    messages = [message("hello", "assistant", 50), *chat(10)]
    result = fit(messages, 512)
    assert result.dropped[0] == "hello"
    assert kept(messages, result)[0].role == "user"


def test_a_system_message_in_the_middle_stays_with_the_question_after_it() -> None:
    messages = chat(10)
    messages.insert(10, message("mid", "system", 5))
    for n_ctx in range(200, 1200, 20):
        rest = [m.id for m in kept(messages, fit(messages, n_ctx))]
        assert ("mid" in rest) == ("u5" in rest)


def test_nothing_at_all() -> None:
    assert fit([], 512) == PromptFit(n_ctx=512, prompt_tokens=0, reply_room_tokens=128)
    assert fit([message("s", "system", 600)], 512).problem == "system_too_long"


def test_few_counts_for_many_turns() -> None:
    counter = Counter()
    assert fit(chat(2000, system=5), 8192, count=counter).problem is None
    assert counter.calls <= 16
    counter = Counter()
    messages = chat(2000, system=5)
    cut = fit(messages, 8192).keep_from
    fit(messages, 8192, keep_from=cut, count=counter)
    assert counter.calls == 3


@pytest.mark.parametrize("max_tokens", [None, 1, 100, 5000])
@pytest.mark.parametrize("prompt_tokens", [0, 1, 255, 256, 1000, 100_000])
def test_the_needed_window_is_the_smallest(prompt_tokens: int, max_tokens: int | None) -> None:
    n_ctx = needed_context(prompt_tokens, max_tokens)
    assert n_ctx % 256 == 0
    assert n_ctx - reply_room(n_ctx, max_tokens) >= prompt_tokens
    smaller = n_ctx - 256
    assert smaller <= 0 or smaller - reply_room(smaller, max_tokens) < prompt_tokens


CHATS = st.lists(
    st.tuples(st.sampled_from(["system", "user", "assistant"]), st.integers(0, 120)),
    max_size=30,
).map(lambda turns: [message(str(n), role, words) for n, (role, words) in enumerate(turns)])


@given(
    CHATS,
    st.integers(16, 1500),
    st.one_of(st.none(), st.integers(1, 2000)),
    st.one_of(st.none(), st.integers(0, 30).map(str)),
    st.booleans(),
)
def test_what_always_holds(
    messages: list[ChatMessage],
    n_ctx: int,
    max_tokens: int | None,
    keep_from: str | None,
    trim: bool,
) -> None:
    counter = Counter()
    result = fit(
        messages, n_ctx, max_tokens=max_tokens, keep_from=keep_from, trim=trim, count=counter
    )
    room = reply_room(n_ctx, max_tokens)
    head = next((n for n, m in enumerate(messages) if m.role != "system"), len(messages))
    rest = kept(messages, result)
    body = rest[head:]

    assert counter.calls <= 12
    # the system part, and the newest question with what follows it, are never left out
    assert rest[:head] == messages[:head]
    questions = [m.id for m in messages if m.role == "user"]
    assert not questions or questions[-1] in {m.id for m in rest}
    # what is left out lies at the front, in one stretch, in order
    assert result.dropped == tuple(m.id for m in messages[head : head + len(result.dropped)])
    if result.dropped:
        assert trim
        first = next(m for m in body if m.role != "system")
        assert first.role == "user"
        assert result.keep_from == body[0].id
        assert tokens_of(messages) > n_ctx - room
    else:
        assert result.keep_from is None
    assert result.prompt_tokens == tokens_of(rest)
    assert result.dropped_tokens == tokens_of(messages) - tokens_of(rest)
    assert result.leaving == result.dropped[len(result.dropped) - len(result.leaving) :]
    leaving = [m for m in messages if m.id in result.leaving]
    assert result.leaving_tokens == tokens_of(leaving)
    assert keep_from is None or keep_from not in result.dropped or keep_from in result.leaving
    if result.problem is None:
        assert result.prompt_tokens + room <= n_ctx
    else:
        again = fit(messages, result.needed_tokens, max_tokens=max_tokens, trim=trim)
        assert again.problem is None
    # asked again with its own answer, it gives the same answer
    if result.problem is None and result.keep_from is not None:
        same = fit(messages, n_ctx, max_tokens=max_tokens, keep_from=result.keep_from, trim=trim)
        assert same == replace(result, leaving=(), leaving_tokens=0)
