from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from app.small_files import read_small, require_plain


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
