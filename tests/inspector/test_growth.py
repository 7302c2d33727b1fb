"""How many more chats a memory holds."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from gguf_tools.plan import Plan
from inspector.budget import budgets
from inspector.growth import more_chats
from inspector.panel import panel_view
from inspector.session import Session
from tests.inspector.conftest import GIB, loaded, sample

PlanOf = Callable[..., Plan]


def test_more_conversations_fit_than_there_are(plan_of: PlanOf) -> None:
    session = Session()
    session.planned(plan_of(n_ctx=1024))
    plan = session.plan
    assert plan is not None
    for most, fitting in ((None, None), (0, 0), (1, 0), (7, 6)):
        session.plan = msgspec.structs.replace(plan, max_sequences=most)
        growth = panel_view(session).growth
        assert growth is not None
        assert growth.fitting_conversations == fitting


def test_more_conversations_end_at_the_load_line(plan_of: PlanOf) -> None:
    """Of 10 GiB nine lie below it; 4 are free, so one and a half chats of 2 GiB fit, not two."""
    session = Session()
    session.planned(plan_of(n_ctx=1024))
    plan = session.plan
    assert plan is not None
    device = msgspec.structs.replace(
        plan.devices[0],
        total_bytes=10 * GIB,
        free_bytes=6 * GIB,
        weights_bytes=0,
        kv_bytes=2 * GIB,
        state_bytes=0,
        compute_bytes=0,
        output_bytes=0,
        overhead_bytes=0,
    )
    for free, fitting in ((6, 1), (7, 2), (3, 0)):
        here = msgspec.structs.replace(device, free_bytes=free * GIB)
        session.plan = msgspec.structs.replace(plan, devices=(here,), max_sequences=256)
        assert more_chats(session.plan, budgets(session)) == fitting
        growth = panel_view(session).growth
        assert growth is not None
        assert growth.fitting_conversations == fitting
    # Two chats that share those 2 GiB take one each: of 3 GiB below the line there is room for 3.
    settings = msgspec.structs.replace(plan.settings, sequences=2)
    session.plan = msgspec.structs.replace(
        plan, settings=settings, devices=(device,), max_sequences=256
    )
    assert more_chats(session.plan, budgets(session)) == 3


def test_more_conversations_follow_what_memory_has_left(plan_of: PlanOf) -> None:
    """Of 16 GiB 14.4 lie below the load line; the engine has 2.3 GiB, each chat takes 2 GiB.

    Others hold 3.7 GiB at first, so 8.4 are left: four chats. Then the chat has grown, and what the
    engine's process took for it besides its buffers is no room any more.
    """
    session = Session()
    session.planned(plan_of(n_ctx=1024))
    plan = session.plan
    assert plan is not None
    host = msgspec.structs.replace(
        plan.devices[0],
        weights_bytes=0,
        kv_bytes=2 * GIB,
        state_bytes=0,
        compute_bytes=0,
        output_bytes=0,
        overhead_bytes=0,
    )
    session.plan = msgspec.structs.replace(plan, devices=(host,), max_sequences=256)
    loaded(session, after=sample(private_mib=2355, CPU=(16, 10)))
    for private_mib, free, fitting in ((2355, 10, 4), (2355 + 1024, 9, 3), (2355 + 4096, 6, 2)):
        session.memory(sample(private_mib=private_mib, CPU=(16, free)))
        growth = panel_view(session).growth
        assert growth is not None
        assert growth.fitting_conversations == fitting
    session.engine_lost("The engine ended.")
    growth = panel_view(session).growth
    assert growth is not None
    assert growth.fitting_conversations is None
