"""Changes that are offered: where each begins to make sense."""

from __future__ import annotations

import msgspec
import pytest

from inspector.fixes import smaller_context
from inspector.session import Session
from tests.inspector.conftest import turn


@pytest.mark.parametrize(
    ("context", "used", "half"),
    [
        (4096, 100, 2048),
        (4096, 2047, 2048),
        (4096, 2048, None),  # it would not hold the chat
        (4095, 100, None),  # the half is less than 2,048
        (4608, 100, 2304),
        (5000, 100, 2304),  # in steps of 256
    ],
)
def test_half_the_context_where_the_chat_fits_into_it(
    session: Session, context: int, used: int, half: int | None
) -> None:
    load = session.load
    assert load is not None
    session.load = msgspec.structs.replace(
        load, settings=msgspec.structs.replace(load.settings, n_ctx=context)
    )
    session.conversation([turn(prompt_tokens=used - 10, reply_tokens=10)])
    assert session.used_tokens == used
    found = [(fix.text, fix.changes) for fix in smaller_context(session)]
    assert found == ([] if half is None else [(f"Context to {half:,}", {"n_ctx": half})])
