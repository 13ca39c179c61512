"""Every pattern finds what it describes, whatever is looked for first."""

import re
import warnings

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from coderag.models.redaction.patterns import _ANCHORS, build_detector_rules, build_provider_rules
from coderag.models.redaction.redactor import get_redactor

RULES = [*build_provider_rules(), *build_detector_rules()]
MARKER = re.compile(r"\[secret removed: [^\]]*\]")
ASCII = st.characters(codec="ascii", exclude_categories=["Cc"])


@pytest.mark.no_cover  # as other property tests, see tests/conftest.py
@pytest.mark.parametrize("rule", RULES, ids=lambda rule: f"{rule.kind}-{rule.pattern.pattern[:12]}")
def test_matching_line_has_the_anchor_and_is_redacted(rule):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # hypothesis' own, of some flags
        matching = st.from_regex(rule.pattern, alphabet=ASCII)

    @settings(max_examples=5, deadline=None, suppress_health_check=list(HealthCheck))
    @given(matching)
    def check(line):
        match = rule.pattern.search(line)
        if match is None:
            return  # what is around the match counts as well
        assert re.search(rule.anchor, line.casefold())
        redacted = get_redactor().redact(line)
        assert redacted.secrets or "[secret removed: " in line
        secret = match[rule.group]
        assert MARKER.sub("", redacted.text).count(secret) < line.count(secret)

    check()


def test_anchors_belong_to_detector_kinds():
    assert set(_ANCHORS) <= {rule.kind for rule in build_detector_rules()}


def test_ip_addresses_are_not_secrets():
    assert get_redactor().redact("host = '93.184.216.34'").secrets == 0
