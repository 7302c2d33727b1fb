from __future__ import annotations

from typing import Any

import pytest
from PySide6.QtWidgets import QLabel

from app.ui.shell.page_stack import PageStack


@pytest.fixture
def stack(qtbot: Any) -> PageStack:
    made = PageStack()
    qtbot.addWidget(made)
    return made


def test_an_offered_page_is_made_when_it_is_asked_for_and_once(stack: PageStack) -> None:
    made: list[QLabel] = []

    def make() -> None:
        made.append(QLabel("models"))
        assert stack.add("models", made[-1])

    stack.offer("models", make)
    assert stack.count() == 0
    page = stack.page("models")
    assert stack.page("models") is page
    assert made == [page]
    assert stack.count() == 1


def test_a_page_that_was_not_offered_is_added_too(stack: PageStack) -> None:
    page = QLabel("planner")
    assert not stack.add("planner", page)
    assert stack.page("planner") is page


def test_there_is_one_page_of_a_key(stack: PageStack) -> None:
    stack.add("models", QLabel())
    with pytest.raises(ValueError, match="models"):
        stack.add("models", QLabel())
    with pytest.raises(ValueError, match="models"):
        stack.offer("models", QLabel)
    with pytest.raises(KeyError):
        stack.page("nothing")


def test_it_knows_which_page_leads_to_another(stack: PageStack) -> None:
    stack.offer("get_models", lambda: stack.add("get_models", QLabel()), within="models")
    assert stack.leading_to("get_models") == "models"
    stack.page("get_models")
    assert stack.leading_to("get_models") == "models"
    assert stack.leading_to("models") == "models"
