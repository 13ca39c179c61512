"""docs/reranking.md says what the code does."""

import re
from pathlib import Path
from typing import get_args

import pytest
import yaml

from coderag.config.sections import RerankerSettings

PAGE = (Path(__file__).resolve().parents[4] / "docs" / "reranking.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)


@pytest.mark.parametrize("example", EXAMPLES)
def test_page_examples_are_valid_settings(example):
    assert RerankerSettings(**yaml.safe_load(example)["reranker"]).provider != "none"


def test_page_lists_every_provider():
    assert all(f"| `{name}` |" in PAGE for name in get_args(RerankerSettings.model_fields["provider"].annotation))


def test_settings_on_the_page_exist():
    assert set(re.findall(r"`reranker\.(\w+)`", PAGE)) <= set(RerankerSettings.model_fields)
