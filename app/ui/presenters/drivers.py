"""What drivers of accelerators say, asked in a thread so that the window never waits for one."""

from __future__ import annotations

from PySide6.QtCore import QObject

from app.data.drivers import CardSample, Drivers
from app.engine.qt_client import EngineState
from app.engine.recording import DriverSays
from app.machine import drivers_say
from app.ui import tasks
from inspector.records import LoadRecord

__all__ = ["DriverWatch"]


class DriverWatch(QObject):
    """Keeps the last answer; `ask` brings a new one in its time."""

    def __init__(self, parent: QObject | None = None, drivers: Drivers | None = None) -> None:
        super().__init__(parent)
        self._drivers = drivers
        self._asking = False
        self._cards: tuple[CardSample, ...] = ()
        self.names: tuple[str, ...] = ()

    @property
    def crowded(self) -> str:
        """A sentence about who else computes on a card, empty if nobody does."""
        return next((card.others for card in self._cards if card.others), "")

    def ask(self, pid: int | None) -> None:
        """Ask for the cards as they are now; ``pid`` is the engine's process."""
        if self._asking:
            return
        self._asking = True

        def look() -> tuple[tuple[CardSample, ...], tuple[str, ...]]:
            if self._drivers is None:
                self._drivers = Drivers()
            return self._drivers.sample(pid), self.names or self._drivers.names

        def done(found: tuple[tuple[CardSample, ...], tuple[str, ...]]) -> None:
            self._asking = False
            self._cards, self.names = found

        def failed(error: Exception) -> None:
            self._asking = False
            raise error

        tasks.run(look, done, failed, self)

    def says(self, state: EngineState, load: LoadRecord | None) -> dict[str, DriverSays]:
        """Return what is known of the engine's devices, by their names."""
        if state.hello is None or not self._cards:
            return {}
        buffers = () if load is None else load.buffers
        staged = sum(item.size_bytes for item in buffers if item.device.endswith("_Host"))
        return drivers_say(state.hello.devices, self._cards, staged)
