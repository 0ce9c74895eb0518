"""Who is writing, and whether that process is still alive."""

from __future__ import annotations

import json
import os
import platform
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(frozen=True)
class Writer:
    """A process, told apart from a later one that got the same number.

    Attributes:
        machine: Host and process namespace; containers share hosts, not these.
        pid: Process number there.
        started: When it started, in the kernel's clock ticks; 0 where unknown.
        token: Tells apart the writes of one process.
    """

    machine: str
    pid: int
    started: int
    token: str

    @classmethod
    def current(cls) -> Writer:
        """This process, with a fresh token."""
        pid = os.getpid()
        return cls(_machine(), pid, _started(pid) or 0, os.urandom(8).hex())

    @classmethod
    def from_json(cls, text: str) -> Writer:
        """Reads what `to_json` wrote."""
        return cls(**json.loads(text))

    def to_json(self) -> str:
        """One line that identifies this write."""
        return json.dumps(asdict(self), sort_keys=True)

    def alive(self) -> bool | None:
        """Whether the process runs; None when only its own machine could say."""
        if self.machine != _machine():
            return None
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            pass
        started = _started(self.pid)
        return started is None or not self.started or started == self.started


def _machine() -> str:
    try:
        namespace = os.readlink("/proc/self/ns/pid")
        boot = (
            Path("/proc/sys/kernel/random/boot_id").read_text(encoding="utf-8").strip()
        )
    except OSError:
        namespace = boot = ""
    return f"{platform.node()} {boot} {namespace}"


def _started(pid: int) -> int | None:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    # The command may hold spaces and brackets; fields count from the last bracket.
    fields = stat.rpartition(")")[2].split()
    # A zombie still has a number, but nothing runs under it.
    return -1 if fields[0] == "Z" else int(fields[19])
