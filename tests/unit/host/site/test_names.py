"""Addresses: stable, safe in every file system and address, and different for different names."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portbench.site.badges import badge
from portbench.site.names import RESERVED, framework_slug, function_slug, slug
from tests.browser.studies import HOSTILE_NAMES


@pytest.mark.parametrize(
    "name", ["torch.linalg.eig", "jax.numpy.ndarray.at", "tf.raw_ops.__x__", "torch-2.9.0-tpu@box"]
)
def test_a_plain_name_is_its_own_address(name: str) -> None:
    assert slug(name) == name


@pytest.mark.parametrize("name", [*HOSTILE_NAMES, "..", ".", "", "a/b", "/etc", "x" * 5000, "torch.é", ".hidden", "-o"])
def test_another_name_gets_a_safe_address_with_a_digest(name: str) -> None:
    found = slug(name)
    assert re.fullmatch(r"(?:[A-Za-z0-9_@+][A-Za-z0-9._@+-]*-)?[0-9a-f]{10}", found)
    assert len(found) < 100
    assert slug(name) == found


def test_folders_of_the_site_are_no_addresses_of_frameworks_and_functions() -> None:
    assert RESERVED.isdisjoint(map(framework_slug, RESERVED))
    assert function_slug("functions") != "functions"


@given(st.lists(st.text(), unique=True, min_size=2, max_size=20))
def test_different_names_have_different_addresses(names: list[str]) -> None:
    assert len({slug(name) for name in names}) == len(names)


@given(st.text(), st.text())
def test_a_badge_is_well_formed_for_any_text(label: str, value: str) -> None:
    from xml.etree import ElementTree

    assert ElementTree.fromstring(badge(label, value, "good")).get("width")
