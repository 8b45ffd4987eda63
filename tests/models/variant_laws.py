"""The laws for a variant of an architecture. Two of them are about all settings of its class at once: test_laws holds
every class to them, and `make test-long` those that begin with a variant."""

import pytest

from rnnlab.testing import ARCHITECTURE_LAWS

PER_CLASS = ("no_option_is_ignored", "the_search_space_is_valid")
VARIANT_LAWS = [pytest.param(law, marks=[pytest.mark.long] if law in PER_CLASS else []) for law in ARCHITECTURE_LAWS]
