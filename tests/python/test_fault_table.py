"""The table of faults in docs/reliability.md names tests that exist."""

import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
PAGE = (TESTS.parents[1] / "docs" / "reliability.md").read_text()
NAMED = re.findall(r"`(test_\w+\.py)::(test_\w+)`", PAGE)


def test_the_table_names_tests():
    assert len(NAMED) > 30


@pytest.mark.parametrize(("file", "name"), sorted(set(NAMED)))
def test_a_named_test_exists(file, name):
    assert re.search(rf"^def {name}\(", (TESTS / file).read_text(), re.MULTILINE)
