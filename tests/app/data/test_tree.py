from __future__ import annotations

from app.data.tree import MessageTree, Node


def tree(*nodes: tuple[str, str | None], deleted: str = "") -> MessageTree:
    return MessageTree(Node(n, i, p, i in deleted) for n, (i, p) in enumerate(nodes, 1))


def test_siblings_and_forks() -> None:
    shape = tree(("a", None), ("b", "a"), ("c", "a"), ("d", "b"), ("e", "b"), ("f", None))
    assert shape.siblings("c").ids == ("b", "c")
    assert shape.siblings("a").ids == ("a", "f")
    assert {key: s.index for key, s in shape.forks("e").items()} == {"e": 1, "b": 0, "a": 0}
    assert shape.forks(None) == {}
    assert shape.forks("unknown") == {}


def test_deleted_ones_are_passed_over() -> None:
    shape = tree(("a", None), ("b", "a"), ("c", "b"), ("d", "c"), ("e", "a"), deleted="bc")
    assert shape.living_parent("d") == "a"
    assert shape.siblings("d").ids == ("d", "e")
    assert shape.siblings("b").count == 0
    assert shape.newest_leaf("b") == "d"
    assert shape.forks("c") == {}
    assert shape.is_deleted("b")


def test_what_is_shown_after_a_deletion() -> None:
    shape = tree(("a", None), ("b", "a"), ("c", "b"), ("d", "a"), ("e", "d"))
    assert shape.leaf_without("d", {"d", "e"}) == "c"
    assert shape.leaf_without("e", {"e"}) == "d"
    assert shape.leaf_without("a", {"a", "b", "c", "d", "e"}) is None


def test_a_parent_that_comes_later_counts_as_none() -> None:
    shape = tree(("a", "b"), ("b", "a"))
    assert shape.living_parent("a") is None
    assert shape.descendants("a") == ["a", "b"]
    assert "a" in shape
    assert "z" not in shape


def test_a_hundred_thousand_deep() -> None:
    shape = tree(*((str(n), str(n - 1) if n else None) for n in range(100_000)))
    assert shape.newest_leaf("0") == "99999"
    assert len(shape.descendants("0")) == 100_000
    assert shape.forks("99999") == {}
