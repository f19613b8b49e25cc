"""Deliberately broken stores, each with one defect of a kind that was seen in the field."""

from __future__ import annotations

from tests.conformance.mutants import capabilities, concurrent, processes, reading, writing
from tests.conformance.mutants.base import MUTANTS, Mutant

__all__ = ["MUTANTS", "Mutant", "capabilities", "concurrent", "processes", "reading", "writing"]
