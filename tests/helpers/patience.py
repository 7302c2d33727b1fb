"""How long a test waits for what is to come: on a slow, busy machine everything comes late.

No promise of speed: those are measured in `tests.bench`. What never comes fails its test by this.
"""

from __future__ import annotations

from typing import Final

__all__ = ["PATIENCE_MS", "PATIENCE_S"]

PATIENCE_S: Final = 120.0
PATIENCE_MS: Final = 120_000
