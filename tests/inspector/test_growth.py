"""How many more chats a memory holds."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from gguf_tools.plan import Plan
from inspector.budget import budgets
from inspector.growth import more_chats
from inspector.panel import panel_view
from inspector.plan_record import PlanRecord
from inspector.session import Session
from tests.inspector.conftest import GIB, loaded, sample

PlanOf = Callable[..., Plan]


def _planned(plan_of: PlanOf, **device: int) -> tuple[Session, PlanRecord]:
    """Return a session of a plan that takes nothing of its memory but a cache of 2 GiB."""
    session = Session()
    session.planned(plan_of(n_ctx=1024))
    assert session.plan is not None
    bare = dict.fromkeys(
        ("weights_bytes", "state_bytes", "compute_bytes", "output_bytes", "overhead_bytes"), 0
    )
    host = msgspec.structs.replace(session.plan.devices[0], **bare, kv_bytes=2 * GIB, **device)
    session.plan = msgspec.structs.replace(session.plan, devices=(host,), max_sequences=256)
    return session, session.plan


def _more(session: Session) -> int | None:
    growth = panel_view(session).growth
    assert growth is not None
    return growth.fitting_conversations


def test_more_conversations_fit_than_there_are(plan_of: PlanOf) -> None:
    session = Session()
    session.planned(plan_of(n_ctx=1024))
    plan = session.plan
    assert plan is not None
    for most, fitting in ((None, None), (0, 0), (1, 0), (7, 6)):
        session.plan = msgspec.structs.replace(plan, max_sequences=most)
        assert _more(session) == fitting


def test_more_conversations_end_at_the_load_line(plan_of: PlanOf) -> None:
    """Of 10 GiB nine lie below it; 4 are free, so one and a half chats of 2 GiB fit, not two."""
    for free, fitting in ((6, 1), (7, 2), (3, 0)):
        session, plan = _planned(plan_of, total_bytes=10 * GIB, free_bytes=free * GIB)
        assert more_chats(plan, budgets(session)) == fitting
        assert _more(session) == fitting
    # Two chats that share those 2 GiB take one each: of 3 GiB below the line there is room for 3.
    session, plan = _planned(plan_of, total_bytes=10 * GIB, free_bytes=6 * GIB)
    settings = msgspec.structs.replace(plan.settings, sequences=2)
    shared = msgspec.structs.replace(plan, settings=settings)
    assert more_chats(shared, budgets(session)) == 3


def test_more_conversations_follow_what_memory_has_left(plan_of: PlanOf) -> None:
    """Of 16 GiB 14.4 lie below the load line; the engine has 2.3 GiB, each chat takes 2 GiB.

    Others hold 3.7 GiB at first, so 8.4 are left: four chats. Then the chat has grown, and what the
    engine's process took for it besides its buffers is no room any more.
    """
    session, _ = _planned(plan_of)
    loaded(session, after=sample(private_mib=2355, CPU=(16, 10)))
    for private_mib, free, fitting in ((2355, 10, 4), (2355 + 1024, 9, 3), (2355 + 4096, 6, 2)):
        session.memory(sample(private_mib=private_mib, CPU=(16, free)))
        assert _more(session) == fitting
    session.engine_lost("The engine ended.")
    assert _more(session) is None
