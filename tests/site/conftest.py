"""The built site. ``scripts/docs`` builds it and runs these tests."""

from pathlib import Path

import pytest

SITE = Path(__file__).parents[2] / "build" / "site"


@pytest.fixture(scope="session")
def site():
    """The folder of the built site."""
    if not (SITE / "index.html").exists():
        pytest.skip("the site is not built: scripts/docs does that")
    return SITE
