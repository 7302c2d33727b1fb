from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from app.small_files import keep_private, read_small, require_plain, share_as_usual


def test_a_file_is_read_up_to_its_limit(tmp_path: Path) -> None:
    path = tmp_path / "small"
    path.write_bytes(b"12345")
    assert read_small(path, 5) == b"12345"
    with pytest.raises(OSError, match="far too large") as caught:
        read_small(path, 4)
    assert caught.value.errno == errno.EFBIG


@pytest.mark.skipif(os.name == "nt", reason="named pipes and devices are POSIX")
def test_what_has_no_end_is_refused_before_it_is_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "device").symlink_to("/dev/zero")
    for name in ("pipe", "device"):
        for read in (require_plain, read_small):
            with pytest.raises(OSError, match="not a plain file"):
                read(tmp_path / name)


def test_folders_loops_and_nothing_are_told_apart(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError):
        read_small(tmp_path)
    with pytest.raises(FileNotFoundError):
        read_small(tmp_path / "nothing")
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(OSError, match="symbolic links"):
        read_small(tmp_path / "loop")


@pytest.mark.skipif(os.name == "nt", reason="modes are POSIX")
def test_what_is_made_is_the_users_alone_unless_it_is_shared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PLIMSOLL_USERS_UMASK", raising=False)
    before = os.umask(0o022)
    try:
        keep_private()
        keep_private()  # as a child does, which knows the user's own umask from its parent
        folder, file = tmp_path / "above" / "folder", tmp_path / "above" / "folder" / "file"
        folder.mkdir(parents=True)
        file.touch()
        made = (folder.parent, folder, file)
        assert [path.stat().st_mode & 0o777 for path in made] == [0o700, 0o700, 0o600]
        for path in made:
            share_as_usual(path)
        assert [path.stat().st_mode & 0o777 for path in made] == [0o755, 0o755, 0o644]
        monkeypatch.setenv("PLIMSOLL_USERS_UMASK", "what")
        share_as_usual(file)
        assert file.stat().st_mode & 0o777 == 0o644
    finally:
        os.umask(before)
