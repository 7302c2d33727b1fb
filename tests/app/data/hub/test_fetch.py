from __future__ import annotations

import os
import shutil
import stat
import sys
from pathlib import Path

import pytest

from app.data.hub import fetch as fetch_module
from app.data.hub.client import Hub
from app.data.hub.errors import HubError
from app.data.hub.fetch import download
from app.data.hub.places import (
    INCOMPLETE,
    check_space,
    discard,
    kept_bytes,
    part_path,
    target_path,
    unfinished,
)
from app.data.hub.values import Job, RemoteFile, Transfer, job_of
from app.data.library.places import Place
from app.data.library.walk import candidates
from app.data.lock import ProcessLock
from tests.helpers.hub_server import HubServer

QUICK = (0.01, 0.01, 0.01)


@pytest.fixture
def job(server: HubServer, hub: Hub, blob: Path, tmp_path: Path) -> Job:
    server.add("one/Small-GGUF", [("sub/Small-Q4_0.gguf", blob)])
    listing = hub.listing("one/Small-GGUF")
    server.requests.clear()
    return job_of(listing, listing.variants[0], str(tmp_path / "models"))


def ranges(server: HubServer) -> list[str | None]:
    return [seen.headers.get("range") for seen in server.requests if seen.host == "localhost"]


def models_seen(job: Job) -> list[Path]:
    place = Place("Plimsoll", Path(job.folder))
    return [candidate.path for candidate in candidates(place, lambda: False)]


def test_a_download_ends_in_its_place_and_leaves_nothing_else(
    job: Job, hub: Hub, blob: Path
) -> None:
    moves: list[Transfer] = []
    [path] = download(job, hub, moves.append)
    assert path == Path(job.folder, "one", "Small-GGUF", "sub", "Small-Q4_0.gguf")
    assert path.read_bytes() == blob.read_bytes()
    assert moves[-1].done_bytes == moves[-1].total_bytes == job.size_bytes
    assert not (Path(job.folder) / INCOMPLETE).exists()
    assert not Path(os.environ["HF_HOME"]).exists()  # the hub's library keeps nothing either


def test_it_goes_on_from_the_last_byte(job: Job, hub: Hub, server: HubServer, blob: Path) -> None:
    server.break_after = [1_000_000]
    with pytest.raises(HubError) as caught:
        download(job, hub, lambda _move: None, ())
    assert caught.value.kind == "network"
    assert kept_bytes(job) == 1_000_000
    assert unfinished(Path(job.folder)) == (job,)
    assert models_seen(job) == []
    [path] = download(job, hub, lambda _move: None)
    assert path.read_bytes() == blob.read_bytes()
    assert ranges(server) == [None, "bytes=1000000-"]
    assert unfinished(Path(job.folder)) == ()


def test_breaks_are_waited_out_while_bytes_come(job: Job, hub: Hub, server: HubServer) -> None:
    server.break_after = [500_000, 500_000, 0, 0, 500_000]
    moves: list[Transfer] = []
    download(job, hub, moves.append, QUICK)
    waits = [move for move in moves if move.phase == "waiting"]
    assert [move.done_bytes for move in waits] == [500_000, *3 * [1_000_000], 1_500_000]
    assert waits[0].note.endswith(".")


def test_it_gives_up_when_nothing_comes(job: Job, hub: Hub, server: HubServer) -> None:
    server.break_after = [0] * 20
    with pytest.raises(HubError):
        download(job, hub, lambda _move: None, QUICK)
    assert len(ranges(server)) == 1 + len(QUICK)


def test_a_server_without_ranges_begins_anew(
    job: Job, hub: Hub, server: HubServer, blob: Path
) -> None:
    server.break_after = [1_000_000]
    server.ranges = False
    [path] = download(job, hub, lambda _move: None, QUICK)
    assert path.read_bytes() == blob.read_bytes()


def test_damage_is_found_and_not_kept(job: Job, hub: Hub, server: HubServer) -> None:
    server.damage = True
    with pytest.raises(HubError, match="checksum") as caught:
        download(job, hub, lambda _move: None)
    assert caught.value.kind == "checksum"
    assert kept_bytes(job) == 0
    assert models_seen(job) == []
    server.damage = False
    assert download(job, hub, lambda _move: None)[0].exists()


def test_damage_in_the_part_that_was_kept_is_found_too(
    job: Job, hub: Hub, server: HubServer
) -> None:
    server.break_after = [1_000_000]
    with pytest.raises(HubError):
        download(job, hub, lambda _move: None, ())
    with part_path(job, 0).open("r+b") as part:
        part.seek(1000)
        part.write(b"\0" * 16)
    with pytest.raises(HubError, match="checksum"):
        download(job, hub, lambda _move: None)


def test_git_checksums_of_small_files_are_verified(
    server: HubServer, hub: Hub, blob: Path, tmp_path: Path
) -> None:
    server.add("one/Plain", [("a.gguf", blob)], lfs=False)
    listing = hub.listing("one/Plain")
    job = job_of(listing, listing.variants[0], str(tmp_path / "models"))
    assert download(job, hub, lambda _move: None)[0].read_bytes() == blob.read_bytes()
    discard(job)
    shutil.rmtree(job.folder)
    server.damage = True
    with pytest.raises(HubError, match="checksum"):
        download(job, hub, lambda _move: None)


def test_parts_of_a_split_model_appear_together(
    server: HubServer, hub: Hub, blob: Path, tmp_path: Path
) -> None:
    names = [f"M-Q4_0-{number:05d}-of-00003.gguf" for number in (1, 2, 3)]
    server.add("one/Split", [(name, blob) for name in names])
    listing = hub.listing("one/Split")
    job = job_of(listing, listing.variants[0], str(tmp_path / "models"))
    server.break_after = [4_000_000, 4_000_000, 10]
    with pytest.raises(HubError):
        download(job, hub, lambda _move: None, ())
    assert kept_bytes(job) == 2 * 3_000_017 + 10
    assert models_seen(job) == []
    moves: list[Transfer] = []
    paths = download(job, hub, moves.append)
    assert [path.name for path in paths] == names
    assert moves[0].phase == "checking"
    done = [move.done_bytes for move in moves if move.phase == "downloading"]
    assert done == sorted(done)
    assert done[-1] == job.size_bytes


def test_a_kill_between_two_renames_is_made_good(
    server: HubServer, hub: Hub, blob: Path, tmp_path: Path
) -> None:
    names = [f"M-Q4_0-{number:05d}-of-00002.gguf" for number in (1, 2)]
    server.add("one/Split", [(name, blob) for name in names])
    listing = hub.listing("one/Split")
    job = job_of(listing, listing.variants[0], str(tmp_path / "models"))
    first = target_path(job, job.files[0])
    first.parent.mkdir(parents=True)
    shutil.copyfile(blob, first)
    part_path(job, 1).parent.mkdir(parents=True)
    shutil.copyfile(blob, part_path(job, 1))
    server.requests.clear()
    assert all(path.exists() for path in download(job, hub, lambda _move: None))
    assert server.requests == []


def test_a_file_that_is_there_is_not_fetched_or_overwritten(
    job: Job, hub: Hub, server: HubServer, blob: Path
) -> None:
    target = target_path(job, job.files[0])
    target.parent.mkdir(parents=True)
    shutil.copyfile(blob, target)
    assert download(job, hub, lambda _move: None) == (target,)
    assert server.requests == []
    target.write_bytes(b"my own")
    with pytest.raises(HubError, match="other content") as caught:
        download(job, hub, lambda _move: None)
    assert caught.value.kind == "exists"
    assert target.read_bytes() == b"my own"


def test_two_processes_never_write_one_file(job: Job, hub: Hub) -> None:
    from app.data.hub.places import lock_path

    lock_path(job).parent.mkdir(parents=True)
    lock = ProcessLock(lock_path(job))
    assert lock.acquire()
    try:
        with pytest.raises(HubError, match="already") as caught:
            download(job, hub, lambda _move: None)
        assert caught.value.kind == "locked"
    finally:
        lock.release()


def test_room_is_looked_for_before(job: Job, hub: Hub, server: HubServer, tmp_path: Path) -> None:
    free = shutil.disk_usage(tmp_path).free
    huge = RemoteFile(path="huge.gguf", size_bytes=free + 1)
    large = Job(**{name: getattr(job, name) for name in job.__struct_fields__} | {"files": (huge,)})
    with pytest.raises(HubError, match="are free") as caught:
        download(large, hub, lambda _move: None)
    assert caught.value.kind == "disk"
    assert server.requests == []
    with pytest.raises(HubError, match="for what waits"):
        check_space(job, waiting_bytes=free)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a disk that is always full")
def test_a_disk_that_fills_up_is_said(job: Job, hub: Hub) -> None:
    part_path(job, 0).parent.mkdir(parents=True)
    part_path(job, 0).symlink_to("/dev/full")
    with pytest.raises(HubError, match=r"The disk is full\. .* are kept") as caught:
        download(job, hub, lambda _move: None)
    assert caught.value.kind == "disk"


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_cannot_be_written_is_said(job: Job, hub: Hub, tmp_path: Path) -> None:
    Path(job.folder).mkdir()
    Path(job.folder).chmod(stat.S_IRUSR | stat.S_IXUSR)
    with pytest.raises(HubError, match="can't be written"):
        download(job, hub, lambda _move: None)


def test_a_folder_in_whose_place_is_a_file(job: Job, hub: Hub) -> None:
    Path(job.folder).write_text("")
    with pytest.raises(HubError, match="can't be used") as caught:
        download(job, hub, lambda _move: None)
    assert caught.value.kind == "disk"


@pytest.mark.parametrize("path", ["../a.gguf", "/etc/a.gguf", "a//b.gguf", "x/../../a.gguf"])
def test_a_name_that_leads_out_is_refused(job: Job, hub: Hub, path: str) -> None:
    bad = RemoteFile(path=path, size_bytes=1)
    with pytest.raises(HubError, match="no name for a file"):
        target_path(job, bad)


def test_names_are_made_fit_for_windows(job: Job) -> None:
    path = target_path(job, RemoteFile(path='con.gguf/a:b?"c. /x\\y.gguf', size_bytes=1))
    assert path.relative_to(job.folder).parts[2:] == ("_con.gguf", "a_b__c", "x_y.gguf")


def test_the_parts_have_no_names_of_models(job: Job) -> None:
    assert ".gguf" not in str(part_path(job, 0))


def test_a_rate_is_told_while_it_flows(job: Job, hub: Hub, server: HubServer) -> None:
    server.bytes_per_s = 2_500_000
    moves: list[Transfer] = []
    download(job, hub, moves.append)
    rates = [move.bytes_per_s for move in moves if move.bytes_per_s]
    assert rates
    assert 1_500_000 < rates[-1] < 3_500_000
    assert any((move.left_s or 0) > 0 for move in moves)


def test_the_waits_grow() -> None:
    assert list(fetch_module.PATIENCE_S) == sorted(fetch_module.PATIENCE_S)
