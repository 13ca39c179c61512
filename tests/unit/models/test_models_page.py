"""docs/models.md says what the code does."""

import re
from pathlib import Path
from typing import get_args

import pytest
import yaml

from coderag.models.prefixes import KNOWN_PREFIXES
from coderag.settings import EmbeddingSettings

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "models.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)


@pytest.mark.parametrize("example", EXAMPLES)
def test_its_examples_are_settings(example):
    assert EmbeddingSettings(**yaml.safe_load(example)["embedding"]).provider != "embedded"


def test_it_has_every_provider():
    providers = get_args(EmbeddingSettings.model_fields["provider"].annotation)
    assert all(f"| `{provider}` |" in PAGE for provider in providers)
    shown = {yaml.safe_load(example)["embedding"]["provider"] for example in EXAMPLES}
    assert shown == set(providers) - {"embedded"}


def test_the_settings_that_it_names_exist():
    named = set(re.findall(r"`embedding\.(\w+)`", PAGE))
    assert named <= set(EmbeddingSettings.model_fields)


def test_the_models_that_it_says_are_known_are():
    (listed,) = re.findall(r"knows by name: (.*?)\. What", PAGE, re.DOTALL)
    for name in re.findall(r"`([\w-]+)`", listed):
        assert any(name.lower() in known for known in KNOWN_PREFIXES)
