from __future__ import annotations

from pathlib import Path

from app.data.load_records import LoadRecords, turn_records
from app.data.records import Message
from app.paths import Paths
from inspector.plan_record import SettingsRecord
from inspector.records import Identity, LoadRecord, TurnStats

RECORD = LoadRecord(
    at_ms=5, identity=Identity(engine="x"), settings=SettingsRecord(n_ctx=4096), load_s=1.5
)


def test_a_record_comes_back(paths: Paths) -> None:
    record_id = LoadRecords(paths.load_records).keep(RECORD)
    assert record_id == RECORD.id
    assert LoadRecords(paths.load_records).get(record_id) == RECORD
    assert LoadRecords(paths.load_records).keep(RECORD) == record_id
    assert len(list(paths.load_records.iterdir())) == 1


def test_what_is_no_record_is_none(paths: Paths) -> None:
    loads = LoadRecords(paths.load_records)
    assert loads.get(None) is None
    assert loads.get("0" * 16) is None
    assert loads.get("../../etc/passwd") is None
    paths.load_records.mkdir()
    (paths.load_records / ("1" * 16 + ".json")).write_bytes(b"\0" * 100)
    assert loads.get("1" * 16) is None


def test_a_folder_that_takes_nothing_loses_the_record_only(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("in the way")
    loads = LoadRecords(blocked)
    assert loads.get(loads.keep(RECORD)) == RECORD


def test_turns_are_replies_with_figures(paths: Paths) -> None:
    loads = LoadRecords(paths.load_records)
    stats = TurnStats(
        n_ctx=1, prompt_tokens=1, reused_tokens=0, evaluated_tokens=1, reply_tokens=1,
        load_id=loads.keep(RECORD),
    )  # fmt: skip

    def message(name: str, role: str, figures: TurnStats | None) -> Message:
        return Message(
            id=name, conversation_id="c", parent_id=None, role=role,  # type: ignore[arg-type]
            text="", reasoning="", state="complete", stop_reason="end_of_turn",
            model_name="M", created_ms=7, updated_ms=7, stats=figures,
        )  # fmt: skip

    (turn,) = turn_records(
        [
            message("a", "user", None),
            message("b", "assistant", stats),
            message("d", "assistant", None),
        ],
        loads,
    )
    assert turn.message == "b"
    assert turn.load == RECORD
    assert turn.stop == "end_of_turn"
