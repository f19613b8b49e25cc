"""Every broken store against every check: `python -m tests.conformance.matrix [mutant ...]`.

It prints, in Markdown, how many checks of each layer caught each of them, who survived, and the MUST checks that caught
nobody.
"""

from __future__ import annotations

import sys
from collections import defaultdict

from tests.conformance.mutants import MUTANTS, Mutant
from zidane_core.conformance import Check, Result, State, all_checks
from zidane_core.conformance.check import LAYERS
from zidane_core.conformance.conformance import Conformance
from zidane_core.conformance.profile import Profile

QUICK = Profile("quick", 0.1, 6)


def killers(mutant: Mutant, checks: list[Check]) -> list[Result]:
    """The results that are failures of the store, by rule and not by what it leaves behind."""
    run = Conformance(mutant.target, QUICK, seed=1)
    results = [run.result(check) for check in checks]
    return [each for each in results if each.state in (State.FAIL, State.KIT_ERROR)]


def main(names: list[str]) -> int:
    checks = list(all_checks())
    caught_by: dict[str, set[str]] = defaultdict(set)
    survivors: list[str] = []
    print(f"| broken store | {' | '.join(LAYERS)} |")
    print("|---|" + "---|" * len(LAYERS))
    for name in names or MUTANTS:
        found = killers(MUTANTS[name], checks)
        caught = [sum(each.check.layer == layer for each in found) for layer in LAYERS]
        print(f"| {name} | {' | '.join(str(number or '') for number in caught)} |", flush=True)
        survivors += [] if found else [name]
        for each in found:
            caught_by[each.check.id].add(name)
    idle = [each.id for each in checks if each.level == "MUST" and each.id not in caught_by]
    print(
        f"\nSurvivors: {', '.join(survivors) or 'none'}. MUST checks that caught nobody: {', '.join(idle) or 'none'}."
    )
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
