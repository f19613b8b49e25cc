"""How much the kit does: the same checks, with other counts."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Profile:
    """`scale` multiplies every count of repetitions, tasks and examples; `timeout` is each check's, in seconds."""

    name: str
    scale: float
    timeout: float

    def count(self, full: int, *, least: int = 1) -> int:
        """A count that is `full` in the full profile."""
        return max(least, round(full * self.scale))


PROFILES = {
    profile.name: profile
    for profile in (Profile("quick", 0.1, 30), Profile("full", 1, 60), Profile("thorough", 10, 600))
}
