from __future__ import annotations

import stat
import sys

import pytest

from app.data.hub.access import forget_token, keep_token, kept_token, token_path
from app.paths import Paths


def test_a_token_is_kept_for_its_owner_alone(paths: Paths) -> None:
    assert kept_token(paths.data) is None
    keep_token(paths.data, " hf_abc \n")
    assert kept_token(paths.data) == "hf_abc"
    if sys.platform != "win32":
        assert stat.S_IMODE(token_path(paths.data).stat().st_mode) == 0o600
    forget_token(paths.data)
    assert kept_token(paths.data) is None
    forget_token(paths.data)


@pytest.mark.parametrize("text", ["", "  ", "two words", "hf_\x00", "hf_ü"])
def test_what_is_no_token_is_not_kept(paths: Paths, text: str) -> None:
    with pytest.raises(ValueError, match="access token"):
        keep_token(paths.data, text)
    assert kept_token(paths.data) is None


def test_a_damaged_file_is_no_token(paths: Paths) -> None:
    for content in (b"\xff\xfe", b"hf_a\r\nHost: elsewhere", b"hf_" + b"x" * 5000):
        token_path(paths.data).write_bytes(content)
        assert kept_token(paths.data) is None
