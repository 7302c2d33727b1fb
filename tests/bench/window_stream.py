"""The window under a fast stream: ``python -m tests.bench.window_stream``.

Opening 500 messages, 300 tokens a second into them, and 20,000 tokens in one reply with what the
window's memory grows by: three cases of `tests.bench.window_cases`, which has more.
"""

from __future__ import annotations

from tests.bench.window_cases import main

__all__: list[str] = []

if __name__ == "__main__":
    raise SystemExit(min(main(["--only", "open-500,stream,reply"]), 1))
