"""Some PySide6 versions lose a reference to True on every emit and abort after a few hundred."""

from __future__ import annotations

import subprocess
import sys

from tests.helpers.patience import PATIENCE_S

# In a process of its own: a version that has the fault ends the process that finds it.
_SCRIPT = """
import sys
from PySide6.QtCore import QCoreApplication, QObject, Qt, Signal, Slot

class Sender(QObject):
    flag = Signal(bool)
    thing = Signal(object)
    late = Signal(object)

class Receiver(QObject):
    def __init__(self):
        super().__init__()
        self.count = 0

    @Slot(bool)
    def on_flag(self, value):
        self.count += value is True

    @Slot(object)
    def on_thing(self, value):
        self.count += 1

app = QCoreApplication([])
sender, receiver = Sender(), Receiver()
sender.flag.connect(receiver.on_flag)
sender.flag.connect(lambda value: None)
sender.thing.connect(receiver.on_thing)
sender.late.connect(receiver.on_thing, Qt.ConnectionType.QueuedConnection)
marker = object()
singles = (True, False, None, marker)
before = [sys.getrefcount(value) for value in singles]
for number in range(5000):
    sender.flag.emit(True)
    sender.thing.emit(singles[number % 4])
    sender.late.emit(singles[number % 4])
app.processEvents()
after = [sys.getrefcount(value) for value in singles]
assert receiver.count == 15000, receiver.count
for value, one, other in zip(singles, before, after):
    assert abs(one - other) < 100, (value, one, other)
print("sound")
"""


def test_emitting_keeps_references() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _SCRIPT],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "sound"
