from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.engine.text.stops import Segment, StopScanner


def run(scanner: StopScanner, *pieces: str) -> list[str]:
    released = ["".join(s.text for s in scanner.feed([Segment(piece)])) for piece in pieces]
    return [*released, "".join(s.text for s in scanner.finish())]


def test_without_stops_everything_passes() -> None:
    assert run(StopScanner(), "a", "b") == ["a", "b", ""]


def test_a_stop_string_may_span_pieces() -> None:
    scanner = StopScanner(["STOP"])
    assert run(scanner, "abc S", "TO", "P def", "ghi") == ["abc ", "", "", "", ""]
    assert scanner.matched == "STOP"


def test_only_what_could_begin_a_stop_is_held() -> None:
    scanner = StopScanner(["\n\nUser:", "###"])
    assert run(scanner, "a\n", "b", "\n\n", "U", "sage", "##", "x") == [
        *("a", "\nb", "", "", "\n\nUsage", "", "##x", ""),
    ]
    assert scanner.matched is None


def test_what_was_held_comes_out_at_the_end() -> None:
    assert run(StopScanner(["STOP"]), "a ST") == ["a ", "ST"]


def test_the_leftmost_stop_wins_and_is_reported() -> None:
    scanner = StopScanner(["two", "one", "one more"])
    assert run(scanner, "zero one more two") == ["zero ", ""]
    assert scanner.matched == "one more"
    scanner = StopScanner(["bc", "abcd"])
    assert run(scanner, "abc") == ["a", ""]
    assert scanner.matched == "bc"


def test_line_stops_count_at_the_start_of_a_line() -> None:
    scanner = StopScanner(line_stops=["USER:"])
    assert run(scanner, "ask USER: ", "U", "SE", "R: no\n", "US", "ER", ": x") == [
        *("ask USER: ", "U", "SE", "R: no\n", "", "", "", ""),
    ]
    assert scanner.matched == "USER:"
    assert run(StopScanner(line_stops=["USER:"]), "USER: hi") == ["", ""]
    resumed = StopScanner(line_stops=["USER:"], at_line_start=False)
    assert run(resumed, "USER: hi\n", "USER") == ["USER: hi\n", "", "USER"]


def test_line_and_control_stops_count_where_the_token_itself_was_emitted() -> None:
    for scanner in (StopScanner(line_stops=["<|u|>x"]), StopScanner(control_stops=["<|u|>x"])):
        out = scanner.feed([Segment("a "), Segment("<|u|>", is_control=True)])
        assert out == [Segment("a ")]
        assert scanner.feed([Segment("xyz")]) == []
        assert scanner.matched == "<|u|>x"
    scanner = StopScanner(control_stops=["<|u|>x"])
    assert run(scanner, "<|u|>x\n<|u|>x") == ["<|u|>x\n<|u|>x", ""]


def test_control_tokens_keep_their_kind_while_held() -> None:
    scanner = StopScanner(["<|a|>bc"])
    assert scanner.feed([Segment("<|a|>", is_control=True)]) == []
    assert scanner.feed([Segment("bd")]) == [Segment("<|a|>", is_control=True), Segment("bd")]


@pytest.mark.parametrize("size", [1, 2, 3, 1000])
def test_a_long_stop_that_repeats_itself(size: int) -> None:
    text = "a" * 1000 + "b" + "a" * 999 + "c"
    pieces = [text[i : i + size] for i in range(0, len(text), size)]
    scanner = StopScanner(["a" * 999 + "c"])
    assert "".join(run(scanner, *pieces)) == "a" * 1000 + "b"
    assert scanner.matched is not None


def test_empty_stops_are_ignored() -> None:
    assert run(StopScanner(["", ""], [""], [""]), "abc") == ["abc", ""]


TEXT = st.text(alphabet="ab\n", max_size=30)
STOPS = st.lists(st.text(alphabet="ab\n", min_size=1, max_size=4), max_size=4)


@given(TEXT, STOPS, STOPS, st.data())
def test_cutting_does_not_matter(
    text: str, stops: list[str], line_stops: list[str], data: st.DataObject
) -> None:
    """Fed in pieces: as the first place of the whole text where any stop string ends."""
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=8)))
    pieces = [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    scanner = StopScanner(stops, line_stops)
    out = "".join(run(scanner, *pieces))
    assert text.startswith(out)
    counting = [
        (at, stop)
        for at in range(len(text))
        for stop in {*stops, *line_stops}
        if text.startswith(stop, at) and (stop in stops or at == 0 or text[at - 1] == "\n")
    ]
    if not counting:
        assert (out, scanner.matched) == (text, None)
    else:
        assert (len(out), scanner.matched) in counting
        # nothing that was released lies behind the end of the first stop string to be complete
        assert len(out) <= min(at + len(stop) for at, stop in counting)
