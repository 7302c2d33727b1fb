"""What a library that is imported in a thread needs of Qt is there before it asks."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[3]
# A program of its own: in this one all types may have been made by other tests.
_PROGRAM = """
import json, threading
from PySide6 import QtCore, QtGui, QtWidgets
from inspector.widgets import plot_slot

def not_made():
    modules = (QtCore, QtGui, QtWidgets)
    return sum(name not in vars(module) for module in modules for name in dir(module))

def imported(loader):
    found["at the import"] = not_made()
    found["in the window's thread"] = threading.current_thread() is threading.main_thread()
    really(loader)

app = QtWidgets.QApplication([])
found = {"at first": not_made()}
really, plot_slot.PlotLoader._import = plot_slot.PlotLoader._import, imported
loader = plot_slot.PlotLoader()
loader.loaded.connect(app.quit)
loader.start()
app.exec()
found["loaded"] = loader.is_loaded
print(json.dumps(found))
"""


def test_no_type_is_left_to_be_made_in_the_thread() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM], cwd=_ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found.pop("at first") > 300
    assert found == {"at the import": 0, "in the window's thread": False, "loaded": True}
