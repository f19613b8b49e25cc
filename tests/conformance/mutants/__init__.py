"""Deliberately broken stores, each with one defect of a kind that was seen in the field."""

from __future__ import annotations

from importlib import import_module

from tests.conformance.mutants.base import MUTANTS, Mutant

for _name in (
    "guards",
    "moves",
    "turns",
    "creation",
    "operations",
    "windows",
    "listings",
    "ids",
    "declarations",
    "claims",
    "collections",
    "concurrent",
    "interrupted",
    "processes",
):
    import_module(f"{__name__}.{_name}")

__all__ = ["MUTANTS", "Mutant"]
