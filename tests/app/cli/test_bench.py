from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from app.cli import run
from app.cli.bench_text import bench_json, bench_text
from app.data.conversations import ConversationStore
from app.data.load_records import LoadRecords
from app.engine import bandwidth
from app.paths import Paths
from inspector.plan_record import SettingsRecord
from inspector.records import BenchRecord, BenchRow, Identity, LoadRecord, TurnStats
from tests.helpers.tiny_gguf import TinyModel, write_tiny_model


@pytest.fixture(autouse=True)
def small_probe(monkeypatch: pytest.MonkeyPatch) -> None:
    """Probe with small buffers: what is tested here is not the speed."""
    monkeypatch.setattr(bandwidth, "LARGE_BYTES", 4 << 20)
    monkeypatch.setattr(bandwidth, "MOST_BYTES", 2 << 20)


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    return write_tiny_model(tmp_path / "tiny.gguf")


def test_bench_puts_measured_beside_predicted(
    tiny: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = run(
        ["bench", str(tiny), "--prompt", "16", "--generate", "8", "--depth", "0,32", "--repeat",
         "2", "--sequences", "1,2", "--json"]
    )  # fmt: skip
    data = json.loads(capsys.readouterr().out)
    assert code == 0
    rows = data["rows"]
    assert [(row["test"], row["depth"], row["sequences"]) for row in rows] == [
        ("prefill", 0, 1), ("decode", 0, 1), ("prefill", 32, 1), ("decode", 32, 1),
        ("decode", 0, 2), ("decode", 32, 2),
    ]  # fmt: skip
    for row in rows:
        assert len(row["samples"]) == 2
        assert row["mean"] > 0
        assert row["predicted"] > 0
        assert row["efficiency"] == pytest.approx(row["mean"] / row["ceiling"])
    assert data["bandwidth_source"] == "measured"
    assert data["settings"]["n_ctx"] == 256
    assert data["skipped"] == []


def test_bench_as_a_table(tiny: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--prompt", "0", "--generate", "4", "--depth", "0", "--repeat", "1"]
    assert run(["bench", str(tiny), *arguments]) == 0
    text = capsys.readouterr().out
    assert "ceiling" in text
    assert "decode 4" in text
    assert "prefill" not in text
    heads, row = (line.split() for line in text.splitlines()[3:5])
    cells = dict(zip(heads[1:], row[2:], strict=False))
    assert cells["±"] == "–"  # one run deviates from nothing


def test_depths_beyond_the_trained_length_are_not_filled_unasked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(write_tiny_model(tmp_path / "short.gguf", TinyModel(context=512)))
    asked = ["bench", path, "--prompt", "16", "--generate", "8", "--repeat", "1", "--json"]
    assert run([*asked, "--depth", "0,99999"]) == 0
    shown = capsys.readouterr()
    assert (
        "--depth 99,999 is taken as 496: the model was trained for 512 tokens; --ctx allows more."
        in shown.err
    )
    assert {row["depth"] for row in json.loads(shown.out)["rows"]} == {0, 496}
    assert run([*asked, "--depth", "600", "--ctx", "768"]) == 0
    shown = capsys.readouterr()
    assert "is taken as" not in shown.err
    assert {row["depth"] for row in json.loads(shown.out)["rows"]} == {600}


def test_nothing_is_measured_where_one_file_can_not_be(
    tiny: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "bad.gguf").write_bytes(b"GGUF")
    assert run(["bench", str(tmp_path / "bad.gguf"), str(tiny)]) == 3
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.endswith("Nothing was measured: leave out what can't be.\n")


@pytest.mark.parametrize(
    ("busy", "said"),
    [("", "what the next run goes by"), ("Others.", "not kept, as the machine was busy")],
)
def test_what_was_measured_while_busy_is_not_promised_to_count(busy: str, said: str) -> None:
    record = msgspec.structs.replace(_decoded(5.0, ceiling=10.0), busy=busy)
    assert f"(assumed); these figures are {said}." in bench_text(record, None)


def _decoded(*rates: float, ceiling: float) -> BenchRecord:
    load = LoadRecord(at_ms=1, identity=Identity(engine="x"), settings=SettingsRecord(n_ctx=4096))
    row = BenchRow(
        test="decode", depth=0, sequences=1, tokens=4, samples=rates, ceiling=ceiling
    )  # fmt: skip
    return BenchRecord(at_ms=1, load=load, rows=(row,))


@pytest.mark.parametrize(
    ("ceiling", "shown"), [(445.4, "445.4"), (39.0, "39.0"), (34.97, "35.0"), (12_345.6, "12345.6")]
)
def test_ceilings_are_written_as_the_rates_beside_them(ceiling: float, shown: str) -> None:
    record = _decoded(10.0, ceiling=ceiling)
    assert f" {shown} " in bench_text(record, None)
    (row,) = bench_json(record, None)["rows"]
    assert row["stdev"] is None
    assert row["ceiling"] == ceiling
    both = _decoded(10.0, 12.0, ceiling=ceiling)
    assert bench_json(both, None)["rows"][0]["stdev"] == pytest.approx(2**0.5)
    assert " 1.4 " in bench_text(both, None)


@pytest.mark.parametrize(
    ("words", "said"),
    [("--repeat 0", "0 is not between 1 and 1,000"), ("--prompt -1", "-1 is not between 0 and")],
)
def test_bench_refuses_in_a_sentence(
    words: str, said: str, tiny: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        run(["bench", str(tiny), *words.split()])
    assert ended.value.code == 2
    assert said in capsys.readouterr().err
    assert run(["bench", "nothing.gguf"]) == 3
    assert capsys.readouterr().err == "There is no file nothing.gguf.\n"


@pytest.mark.parametrize("depth", ["x", "-5", "1,,2"])
def test_bench_takes_lists_of_numbers(depth: str, tiny: Path) -> None:
    with pytest.raises(SystemExit) as error:
        run(["bench", str(tiny), f"--depth={depth}"])
    assert error.value.code == 2


def test_devices_tell_bandwidth_and_its_basis(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["devices", "--json", "--no-probe"]) == 0
    (host, *_) = json.loads(capsys.readouterr().out)["devices"]
    assert host["bandwidth_source"] in {"unknown", "table"}
    assert host["free_bytes"] <= host["total_bytes"]


def test_devices_keep_the_probe(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from app.cli import devices

    monkeypatch.setattr(devices, "LARGE_BYTES", 1 << 20)
    assert run(["devices", "--json"]) == 0
    first = json.loads(capsys.readouterr().out)["devices"][0]
    assert first["bandwidth_source"] == "measured"
    assert first["bandwidth_threads"] >= 1
    assert run(["devices"]) == 0
    out = capsys.readouterr().out
    assert "measured with" in out


def test_report_of_a_chat(paths: Paths, capsys: pytest.CaptureFixture[str]) -> None:
    record = LoadRecord(at_ms=1, identity=Identity(engine="x"), settings=SettingsRecord(n_ctx=4096))
    stats = TurnStats(
        n_ctx=4096, prompt_tokens=10, reused_tokens=0, evaluated_tokens=10, reply_tokens=21,
        decode_s=2.0, load_id=LoadRecords(paths.load_records).keep(record),
    )  # fmt: skip
    store = ConversationStore(paths.store)
    chat = store.create("Ships")
    question = store.add_message(chat.id, None, "user", "Hello")
    reply = store.start_reply(chat.id, question.id, model_name="M")
    store.save_reply(reply.id, "Hi", state="complete", stats=stats)
    store.close()

    assert run(["report", "Ships"]) == 0
    assert "10.0" in capsys.readouterr().out
    assert run(["report", "Ships", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["turns"][0]["decode_per_s"] == 10
    assert list(data["loads"]) == [record.id]
    output = paths.data / "report.md"
    assert run(["report", "Ships", "--output", str(output)]) == 0
    assert output.read_text().startswith("# Ships")
    assert run(["report", "No such chat"]) == 2
    assert "No chat has the id or title" in capsys.readouterr().err
