from __future__ import annotations

import subprocess
import sys

_CHILD = """
import os, sys
from app.private_stdout import claim_stdout
private = claim_stdout()
print("printed")
sys.stdout.flush()
os.write(1, b"written to 1\\n")
os.write(private, b"answer \\n\\x00\\xff")
"""


def test_answers_alone_reach_stdout() -> None:
    done = subprocess.run([sys.executable, "-c", _CHILD], capture_output=True, check=True)
    assert done.stdout == b"answer \n\x00\xff"
    assert done.stderr.split() == [b"printed", b"written", b"to", b"1"]
