"""The planner's sentences, on a machine of round figures: 1 TB/s, 100 TFLOPS, 24 GiB."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from gguf_tools.facts import read_facts
from gguf_tools.hardware import HardwareTable
from gguf_tools.machine import DecodeFit, Device, Machine, cpu_only
from gguf_tools.typed import typed_facts
from inspector.planner_examples import model_named
from inspector.planner_reasons import (
    balance_phrases,
    ceiling_phrases,
    context_phrases,
    machine_phrases,
    prefill_phrase,
    realistic_phrases,
    users_phrases,
)
from inspector.planner_setup import MachineSpec, PlannerSettings, machine_of
from inspector.planner_words import range_text, short_name, tokens, verdict, verdict_detail
from inspector.planning import RowPlan, finish, plan_row
from tests.helpers.tiny_gguf import TinyModel, write_tiny_model

GIB = 1 << 30


def box(**changes: object) -> Machine:
    """Return a card of 24 GiB, 1 TB/s and 100 TFLOPS beside 64 GiB of main memory."""
    spec = MachineSpec(
        source="typed",
        name="Box",
        memory_bytes=24 * GIB,
        bandwidth_bytes_per_s=1e12,
        flops_per_s=100e12,
    )
    found = machine_of(msgspec.structs.replace(spec, **changes), HardwareTable(()), None)
    assert found is not None
    return found


def row(machine: Machine, name: str = "8B, plain Q4", **settings: Any) -> RowPlan:
    wanted = msgspec.structs.replace(PlannerSettings(), **settings)
    return finish(plan_row(typed_facts(model_named(name)), wanted, machine))


SMALL = 8 * GIB
OLD = {"kind": "cpu", "bandwidth_bytes_per_s": 10e9, "flops_per_s": 20e9, "memory_bytes": 16 * GIB}


@pytest.mark.parametrize(
    ("machine", "settings", "words", "tone", "detail"),
    [
        ({}, {}, "Fits, ", "good", "all of its trained 128K"),
        ({"memory_bytes": SMALL}, {"context": 131_072}, "KV breaks it at 28K", "danger", "lacks "),
        (OLD, {"context": 8192}, "Fits, slow", "warning", "tok/s: slower than reading"),
        (
            {},
            {"cache_type": "q8_0", "flash_attention": "off"},
            "Refused by the engine",
            "danger",
            "A quantised V cache needs flash attention.",
        ),
        (
            {},
            {"context": 4096, "conversations": 4},
            "Fits, ",
            "good",
            "cache over the load line at 34K",
        ),
    ],
)
def test_verdicts(
    machine: dict[str, Any], settings: dict[str, Any], words: str, tone: str, detail: str
) -> None:
    found = row(box(**machine), **settings)
    assert (found.lacks_bytes > 0) is (found.plan.fits is False)
    phrase, meant = verdict(found)
    assert str(phrase).startswith(words)
    assert meant == tone
    assert detail in str(verdict_detail(found))


def test_weights_that_do_not_fit() -> None:
    found = row(box(memory_bytes=SMALL), "Llama 3.1 70B")
    assert [str(verdict(found)[0]), verdict(found)[1]] == ["Weights don't fit", "danger"]
    assert found.split is not None
    stay = 81 - found.split.layers_offloaded
    assert str(verdict_detail(found)).endswith(f"; {stay}/81 layers in RAM")
    assert [str(item) for item in context_phrases(found)] == [
        "Weights and buffers leave no room for a cache below the load line."
    ]
    without = row(box(memory_bytes=SMALL, host_bytes=SMALL), "Llama 3.1 70B")
    assert str(verdict_detail(without)).endswith("; no split fits")
    alone = row(box(**OLD), "Llama 3.1 70B")
    assert str(verdict_detail(alone)).startswith("lacks ")
    assert "split" not in str(verdict_detail(alone))
    assert [str(item) for item in realistic_phrases(alone)] == ["Nothing: it does not fit."]


def test_many_chats_are_not_told_as_weights_that_do_not_fit() -> None:
    # 4.2 GiB of weights lie in 8 GiB; 256 caches of a step each, 32 MiB apiece, do not.
    found = row(box(memory_bytes=SMALL), context=256, conversations=256)
    assert (found.verdict, found.cause) == ("cache_breaks", "cache")
    assert str(verdict(found)[0]) == "KV breaks it"
    assert [str(item) for item in context_phrases(found)] == [
        "Not even 256 tokens for each of 256 stay below the load line."
    ]
    (alone,) = context_phrases(replace(found, plan=row(box(memory_bytes=SMALL)).plan))
    assert str(alone) == "Not even 256 tokens stay below the load line."
    tight = replace(found, plan=replace(found.plan, fits=True), verdict="tight")
    assert str(verdict_detail(tight)) == "over the load line at any context"


def test_buffers_that_leave_no_room_are_told_as_such() -> None:
    # 4.2 GiB of weights lie in 5; scores of 2,048 tokens against 16,384 at once do not.
    wanted: dict[str, Any] = {
        "context": 256,
        "batch": 16_384,
        "flash_attention": "off",
        "conversations": 8,
    }
    found = row(box(memory_bytes=5 * GIB), **wanted)
    assert (found.verdict, found.cause) == ("compute_breaks", "compute")
    assert str(verdict(found)[0]) == "Buffers don't fit"


def test_a_cache_that_fits_for_no_token() -> None:
    found = row(box(memory_bytes=SMALL), context=131_072)
    nothing = replace(found, context_breaks=0, memory_ends=0)
    assert str(verdict(nothing)[0]) == "KV breaks it"


def test_beyond_the_trained_length_memory_breaks_where_memory_ends() -> None:
    # 8B with 128 KiB of cache a token was trained for 128K; a box of 80 GiB holds several times it.
    large = {"memory_bytes": 80 * GIB}
    over, holds = row(box(**large), context=700_000), row(box(**large), context=500_000)
    ends = over.memory_ends or 0
    room = 80 * GIB - sum(item.used_bytes for item in row(box(**large), context=256).bars[:1])
    assert ends == pytest.approx(room / (128 * 1024), rel=0.03)
    assert 500_000 < ends < 700_000
    assert over.context_breaks == over.trained_context == 131_072
    assert str(verdict(over)[0]) == f"KV breaks it at {tokens(ends)}"
    assert "The model was trained for no more; " in str(context_phrases(over))
    assert str(verdict(holds)[0]).startswith("Fits, ")
    assert str(verdict_detail(holds)) == "beyond its trained 128K"
    # Where it says that memory ends, it does.
    for more, fits in ((0, True), (1024, False)):
        assert row(box(**large), context=(holds.memory_ends or 0) + more).fits is fits


def test_over_the_load_line() -> None:
    free = row(box()).free_bytes
    assert free is not None
    tight = row(box(memory_bytes=24 * GIB - free + GIB))  # 1 GiB free of 9.5: less than a tenth
    half = row(box(memory_bytes=24 * GIB - free + GIB // 2))
    assert tight.verdict == "fits"
    assert half.verdict == "tight"
    assert [str(verdict(half)[0]), verdict(half)[1]] == ["Over the load line", "warning"]
    # In memory as a whole, and over the line with the least context already.
    least = row(box(), context=256)
    assert least.free_bytes is not None
    full = row(box(memory_bytes=24 * GIB - least.free_bytes + GIB // 8), context=256)
    assert (full.verdict, full.plan.fits, full.cause) == ("tight", True, "weights")
    assert str(verdict_detail(full)) == "even without a cache"


def test_scores_end_a_context_without_flash_attention() -> None:
    # 4 bytes a score, 32 heads, 2,048 tokens at once: 256 KiB a cell beside 128 KiB of cache.
    found = row(box(memory_bytes=SMALL), context=131_072, batch=2048, flash_attention="off")
    at = tokens(found.memory_ends or 0)
    assert str(verdict(found)[0]) == f"Scores break it at {at}"
    fits = row(box(), context=4096, batch=2048, flash_attention="off")
    assert fits.cause == "compute"
    assert str(verdict_detail(fits)) == (
        f"scores over the load line at {tokens(fits.context_breaks or 0)}"
    )


def test_an_unknown_memory_and_unknown_rates() -> None:
    found = row(cpu_only())
    assert [str(verdict(found)[0]), verdict(found)[1]] == ["Memory unknown", "dim"]
    assert str(verdict_detail(found)) == "How much memory there is, is unknown."
    for phrases in (context_phrases(found), users_phrases(found)):
        assert [str(item) for item in phrases] == ["Unknown, as the free memory is."]
    for phrases in (ceiling_phrases(found), realistic_phrases(found)):
        assert [str(item) for item in phrases] == ["Unknown: the memory's bandwidth is."]
    assert [str(item) for item in balance_phrases(found)] == [
        "How many operations this machine does is unknown."
    ]
    assert str(prefill_phrase(found)).startswith("A prompt, 512 tokens at a time: 1,8")
    assert [str(item) for item in machine_phrases(found)] == ["CPU: unknown, unknown (assumed)"]


def test_what_the_machine_is() -> None:
    said = [str(item) for item in machine_phrases(row(box()))]
    assert said == [
        "CPU: 64.0 GiB, 89.6 GB/s (assumed), 0.768 TFLOPS (assumed)",
        "Box: 24.0 GiB, 1.00 TB/s (assumed), 100 TFLOPS (assumed)",
        "100 TFLOPS ÷ 1.00 TB/s = 100 operations for each byte it reads.",
    ]
    measured = replace(box().accelerators[0], bandwidth_basis="measured", flops_basis="table")
    noted = replace(box(), accelerators=(measured,), notes=("borrowed",))
    said = [str(item) for item in machine_phrases(row(noted))]
    assert "Box: 24.0 GiB, 1.00 TB/s (measured), 100 TFLOPS (data sheet)" in said
    assert "borrowed" in said


def test_how_long_a_context() -> None:
    formula = "2 (K and V) × 32 layers × 8 KV heads × 128 values × 2 B (f16) = 131,072 B a token"
    whole = [str(item) for item in context_phrases(row(box()))]
    assert whole == [
        "131,072 tokens for each chat",
        "The model was trained for no more; the memory would hold it.",
        formula,
    ]
    found = row(box(), context=8192, conversations=4)
    shared = [str(item) for item in context_phrases(found)]
    assert shared == [
        f"{found.context_breaks:,} tokens for each of 4",
        "With more the memory would be over its load line.",
        formula,
    ]
    # 15.5 GiB stay free beside four caches of 1 GiB, a tenth of 24 GiB above the load line.
    assert found.context_breaks == pytest.approx((15.5 - 2.4 + 4) / 4 * 8192, rel=0.01)


def test_how_many_conversations() -> None:
    found = row(box(), context=8192)
    assert [str(item) for item in users_phrases(found)] == [
        "17 chats of 8K fit at once",
        "They share the weights; each has a cache of its own: 1.00 GiB.",
        "With one more the memory would be over its load line.",
    ]
    tiny = row(box(), context=256)
    assert tiny.users == 256
    assert str(users_phrases(tiny)[2]) == "The engine takes no more at once."
    several = row(box(), context=8192, conversations=4)
    assert str(users_phrases(several)[1]).endswith("1.00 GiB.")


def test_a_state_is_each_conversation_s_own(tmp_path: Path) -> None:
    tiny = TinyModel(architecture="lfm2", context=8192)
    facts = read_facts(write_tiny_model(tmp_path / "m.gguf", tiny))

    def said(conversations: int) -> str:
        wanted = msgspec.structs.replace(
            PlannerSettings(), context=4096, conversations=conversations
        )
        return str(users_phrases(finish(plan_row(facts, wanted, box())))[1])

    assert said(1) == said(4)


def test_how_the_ceiling_follows() -> None:
    found = row(box())
    full, empty = found.rates.bytes_per_step, found.empty.bytes_per_step
    # 32K tokens of 128 KiB are 4.29 GB; 8.03 billion weights less the table, at 4.5 bits, 4.22.
    assert full - empty == pytest.approx(32_767 * 131_072, rel=0.01)
    assert empty == pytest.approx((8_030_261_248 - 128_256 * 4096) * 4.5 / 8, rel=0.01)
    assert [str(item) for item in ceiling_phrases(found)] == [
        "1,000 GB/s ÷ 8.52 GB a token = 117 tok/s",
        "That is with the context full: the token reads all weights and all of it.",
        "With an empty cache 4.26 GB: 235 tok/s.",
    ]
    four = [str(item) for item in ceiling_phrases(row(box(), context=8192, conversations=4))]
    assert four[0] == "4 × 1,000 GB/s ÷ 8.52 GB a step = 470 tok/s in all"
    weak = [str(item) for item in ceiling_phrases(row(box(flops_per_s=1e11), context=512))]
    assert weak[0] == "At most 6.5 tok/s: arithmetic is the limit"


def test_a_split_has_a_ceiling_of_its_own() -> None:
    found = row(box(memory_bytes=SMALL), context=131_072)
    assert found.split is not None
    assert found.split_rates is not None
    ceiling = found.split_rates.ceiling
    assert ceiling is not None
    assert str(ceiling_phrases(found)[-1]) == (
        f"It does not fit so: with {found.split.layers_offloaded} of the layers on the card, the "
        f"rest read from main memory, the ceiling is {ceiling:.2g} tok/s."
    )


def test_what_to_expect() -> None:
    rates = row(box()).rates
    assert rates.low is not None
    assert rates.high is not None
    said = [str(item) for item in realistic_phrases(row(box()))]
    assert said[0] == f"{rates.low:.0f}–{rates.high:.0f} tok/s"
    assert said[1].endswith("of the ceiling, as such hardware usually reaches.")
    assert said[2].startswith("First token of a 512-token prompt: about ")
    found = row(box(), context=8192, conversations=4)
    rates = found.rates
    assert rates.low is not None
    assert rates.high is not None
    assert str(realistic_phrases(found)[0]) == (
        f"{rates.low:.0f}–{rates.high:.0f} tok/s in all, "
        f"{rates.low / 4:.0f}–{rates.high / 4:.0f} for each"
    )
    # Where arithmetic is the limit, a share of the bandwidth's ceiling would mean nothing.
    weak = [str(item) for item in realistic_phrases(row(box(flops_per_s=1e11), context=512))]
    assert not any("of the ceiling" in text for text in weak)


def test_experts_beside_the_card() -> None:
    found = row(box(), "Qwen3 30B-A3B", context=8192, experts_on_cpu=True)
    assert any("First token" in str(item) for item in realistic_phrases(found))
    assert "roughly" in str(prefill_phrase(found))
    assert "copied from main memory to the card" in str(prefill_phrase(found))


def test_operations_a_byte() -> None:
    # Two operations a weight of 4.5 bits: 3.56 a byte; 512 tokens at once ask for 512 times that.
    said = [str(item) for item in balance_phrases(row(box()))]
    assert said == [
        (
            "Decoding asks for 3.6 operations a byte, this machine can do 100: "
            "it waits for its memory."
        ),
        "About 28 chats with short caches would use all of its arithmetic.",
    ]
    prefill = str(prefill_phrase(row(box())))
    assert prefill.startswith("A prompt, 512 tokens at a time, asks for 1,82")
    assert "arithmetic is its limit, about " in prefill
    weak = [str(item) for item in balance_phrases(row(box(flops_per_s=2e12)))]
    assert weak == [
        "Decoding asks for 3.6 operations a byte, this machine does 2: arithmetic is the limit."
    ]
    strong = str(prefill_phrase(row(box(flops_per_s=1e16))))
    assert "still memory's limit" in strong


def test_ranges_have_no_digits_that_nobody_knows() -> None:
    assert range_text(9.94, 9.96) == "9.9–10"
    assert range_text(65.2, 65.4) == "65"
    assert range_text(1204.0, 2000.0) == "1,204–2,000"


def test_names_without_their_makers() -> None:
    assert short_name("NVIDIA GeForce RTX 4090") == "RTX 4090"
    assert short_name("NVIDIA A100") == "A100"
    assert short_name("AMD Radeon RX 7900") == "RX 7900"
    assert short_name("AMD Ryzen 9 7950X") == "AMD Ryzen 9 7950X"
    assert short_name("4 × NVIDIA H100 SXM") == "4 × H100 SXM"
    assert short_name("Apple M4") == "Apple M4"


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (512, "512"),
        (1023, "1,023"),
        (1024, "1K"),
        (5300, "5.2K"),
        (131_072, "128K"),
        (1 << 20, "1M"),
    ],
)
def test_contexts_as_people_say_them(count: int, text: str) -> None:
    assert tokens(count) == text


def test_a_device_without_a_bandwidth_but_with_a_rate() -> None:
    host = Device(name="CPU", kind="cpu", backend="CPU", flops_per_s=1e12)
    said = [str(item) for item in machine_phrases(row(Machine(name="odd", cpu=host)))]
    assert said == ["CPU: unknown, unknown (assumed), 1 TFLOPS (assumed)"]


def test_what_was_measured_here_is_named_beside_the_share_of_the_ceiling() -> None:
    measured = replace(box(), fit=DecodeFit(weights=1.0, cache=1.0, spread=0.1, key="", runs=3))
    said = [str(item) for item in realistic_phrases(row(measured))]
    assert said[1].endswith(" of the ceiling, from 3 measured runs of this model.")


def test_a_card_that_reads_faster_than_kernels_are_launched_says_so() -> None:
    found = row(box(bandwidth_bytes_per_s=1e14, flops_per_s=1e18))
    said = [str(item) for item in realistic_phrases(found)]
    assert said[1].endswith("% of the ceiling: launching its kernels holds it back (assumed).")
    assert found.plan.prefill.held_by == "launches"
    assert "launching kernels is its limit (assumed), about " in str(prefill_phrase(found))
