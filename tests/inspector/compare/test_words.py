from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from inspector.compare.words import differing_words
from tests.helpers.work import within_calls


def _marked(answer: str, spans: object) -> list[str]:
    assert isinstance(spans, tuple)
    return [answer[span.start : span.end] for span in spans if span.differs]


def test_words_that_differ_in_both() -> None:
    answers = ["The sky is blue, they say.", "The sky is deep red, they say."]
    first, second = differing_words(answers, 0)
    assert _marked(answers[0], first) == ["blue"]
    assert _marked(answers[1], second) == ["deep red"]


def test_equal_answers_have_no_difference() -> None:
    spans = differing_words(["One two.", "One two.", "One two."], 1)
    assert all(not span.differs for item in spans for span in item)


def test_the_reference_differs_where_any_other_does() -> None:
    answers = ["red fish swims", "one fish swims", "one fish flies"]
    _first, reference, _third = differing_words(answers, 1)
    assert _marked(answers[1], reference) == ["one", "swims"]


def test_words_that_are_missing_mark_the_other_side() -> None:
    answers = ["It is very cold.", "It is cold."]
    first, second = differing_words(answers, 0)
    assert [text.strip() for text in _marked(answers[0], first)] == ["very"]
    assert _marked(answers[1], second) == []


def test_white_space_alone_is_no_difference() -> None:
    answers = ["One  two\nthree", "One two three"]
    assert all(not span.differs for item in differing_words(answers, 0) for span in item)


def test_an_answer_that_is_not_there_yet_marks_nothing() -> None:
    first, second, third = differing_words(["One two", "", "One three"], 0)
    assert second == ()
    assert _marked("One two", first) == ["two"]
    assert _marked("One three", third) == ["three"]


def test_long_answers_take_no_time() -> None:
    long = " ".join(f"word{index % 977}" for index in range(4000))
    other = " ".join(f"term{index % 977}" for index in range(4000))
    # Eight for each word of both: nothing is compared with everything.
    first, second = within_calls(64_000, lambda: differing_words([long, other], 0))
    assert first[0].differs
    assert second[0].differs


@given(st.lists(st.text("ab é,.\n", max_size=40), min_size=2, max_size=4), st.integers(0, 1))
def test_spans_cover_the_answer(answers: list[str], reference: int) -> None:
    for answer, spans in zip(answers, differing_words(answers, reference), strict=True):
        assert "".join(answer[span.start : span.end] for span in spans) == answer
        assert all(a.differs != b.differs for a, b in itertools.pairwise(spans))


def test_words_that_come_often_are_compared_as_well() -> None:
    # More than two hundred words, of which two come all the time: no reason to pass them over.
    same = ["the", "ship"] * 150
    first = " ".join(["one", *same, "old"])
    second = " ".join(["two", *same, "new"])
    found = differing_words([first, second], 0)
    assert _marked(first, found[0]) == ["one", "old"]


def test_a_word_said_once_more_is_the_only_difference() -> None:
    answers = ["no no", "no no no"]
    first, second = differing_words(answers, 0)
    assert _marked(answers[0], first) == []
    assert [text.strip() for text in _marked(answers[1], second)] == ["no"]
    # The words that both texts share from the end are not those that they share from the start.
    answers = ["a b a", "a b a b a"]
    first, second = differing_words(answers, 0)
    assert _marked(answers[0], first) == []
    assert "".join(_marked(answers[1], second)).split() == ["b", "a"]
