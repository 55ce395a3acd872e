"""What all workloads share: how much to do, and what came of it."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

SHOWN_VIOLATIONS = 20


@dataclass
class Effort:
    """How much to do: at most `runs`, and no new run once the time is up."""

    seed: int
    runs: int
    seconds: float = 3600.0
    advance: Callable[[int], None] = lambda done: None
    _started: float = field(default_factory=time.monotonic)

    def random(self, part: str) -> random.Random:
        """Return the generator of one part; the same for the same seed."""
        return random.Random(f"{self.seed}:{part}")

    def goes_on(self, done: int) -> bool:
        """Whether another run is due; tells how many are done."""
        self.advance(done)
        return done < self.runs and time.monotonic() - self._started < self.seconds

    def left_s(self) -> float:
        """The seconds that are left."""
        return max(0.0, self.seconds - (time.monotonic() - self._started))


@dataclass
class Report:
    """What a workload did, and every promise that it saw broken."""

    name: str
    seed: int
    runs: int = 0
    faults: int = 0
    violations: list[str] = field(default_factory=list)
    figures: dict[str, Any] = field(default_factory=dict)

    @property
    def reproduce(self) -> str:
        """The command that does the same again."""
        return f"scripts/soak --only {self.name} --seed {self.seed}"

    def check(self, violations: list[str], where: str = "") -> None:
        """Take note of what a checker has found."""
        self.violations += [f"{where}: {violation}" if where else violation for violation in violations]

    def text(self) -> str:
        """What a failing test prints."""
        shown = "\n".join(self.violations[:SHOWN_VIOLATIONS])
        return f"{self.name}: {len(self.violations)} violations, seed {self.seed}\n{shown}\n{self.reproduce}"

    def as_json(self) -> dict[str, Any]:
        """The workload's entry in the file of results."""
        return {
            "name": self.name,
            "seed": self.seed,
            "runs": self.runs,
            "faults": self.faults,
            "violations": len(self.violations),
            "details": self.violations[:SHOWN_VIOLATIONS],
            "figures": self.figures,
        }
