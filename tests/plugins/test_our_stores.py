"""The stores of this workspace, as `zidane stores` lists them."""

from __future__ import annotations

import pytest

from zidane_core import InstalledStore, installed_stores
from zidane_core.opening.schemes import OUR_SCHEMES

OURS = set(OUR_SCHEMES.values())


@pytest.mark.parametrize(
    "row", [row for row in installed_stores() if row.distribution in OURS], ids=lambda row: row.scheme
)
def test_each_of_our_stores_says_what_it_can_do(row: InstalledStore) -> None:
    assert row.error is None
    assert row.capabilities is not None
    assert row.distribution == OUR_SCHEMES[row.scheme]
