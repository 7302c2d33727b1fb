"""One entry, three faces: processes that work for the others, the command line, the window.

Each face is imported when it is chosen, so that the worker never loads Qt and a command never
loads what it does not need.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run what the arguments ask for and return the exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    early = None
    if arguments[:1] == ["--worker"]:
        from app.early_input import EarlyInput

        early = EarlyInput()  # before anything that takes time to import
    from app.small_files import keep_private

    keep_private()
    if early is not None:
        from app.engine.worker import main as worker

        return worker(early)
    if arguments[:1] == ["--template-child"]:
        from app.engine.templates.child import main as template_child

        return template_child()
    if arguments[:1] == ["--hub"]:
        from app.data.hub.child import main as hub_child

        return hub_child()
    if arguments[:1] == ["--report-pictures"] and len(arguments) == 2:
        from app.ui.report_pictures import main as report_pictures

        return report_pictures(arguments[1:])
    from app.cli import is_command, run

    if is_command(arguments):
        return run(arguments)
    from app.cli.window import model_of, refusal

    why = refusal(arguments)
    if why is not None:
        print(f"plimsoll: {why}", file=sys.stderr)
        return 2
    from app.ui.start import run as open_window

    return open_window(model_of(arguments))


if __name__ == "__main__":
    sys.exit(main())
