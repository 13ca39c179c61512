"""docs/models.md says what the code does."""

import re
from pathlib import Path
from typing import get_args

import pytest
import yaml

from coderag.config.sections import EmbeddingSettings, LLMSettings
from coderag.models.llms.servers import OLLAMA_MODEL
from coderag.models.prefixes import KNOWN_PREFIXES

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "models.md").read_text(encoding="utf-8")
EXAMPLES = [yaml.safe_load(example) for example in re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)]
SECTIONS = {"embedding": EmbeddingSettings, "llm": LLMSettings}
NEEDS_NOTHING = {"embedding": "embedded", "llm": "none"}


@pytest.mark.parametrize("example", EXAMPLES)
def test_page_examples_are_valid_settings(example):
    ((section, values),) = example.items()
    assert SECTIONS[section](**values).provider != NEEDS_NOTHING[section]


@pytest.mark.parametrize("section", SECTIONS)
def test_page_lists_every_provider(section):
    providers = get_args(SECTIONS[section].model_fields["provider"].annotation)
    assert all(f"| `{provider}` |" in PAGE for provider in providers)
    example_providers = {example[section]["provider"] for example in EXAMPLES if section in example}
    assert example_providers == set(providers) - {NEEDS_NOTHING[section]}


@pytest.mark.parametrize("section", SECTIONS)
def test_settings_on_the_page_exist(section):
    named = set(re.findall(rf"`{section}\.(\w+)`", PAGE))
    assert named <= set(SECTIONS[section].model_fields)


@pytest.mark.parametrize("server", ["Groq", "vLLM", "LM Studio", "llama.cpp"])
def test_page_shows_openai_compatible_servers(server):
    (example,) = re.findall(rf"^{re.escape(server)}[^\n]*:\n\n```yaml\n(.*?)```", PAGE, re.DOTALL | re.MULTILINE)
    assert yaml.safe_load(example)["llm"]["base_url"].endswith("/v1")


def test_page_states_the_default_of_ollama():
    assert f"`{OLLAMA_MODEL}` at `http://localhost:11434`" in PAGE


def test_models_on_the_page_have_known_prefixes():
    (listed,) = re.findall(r"knows by name: (.*?)\. What", PAGE, re.DOTALL)
    for name in re.findall(r"`([\w-]+)`", listed):
        assert any(name.lower() in prefix_name for prefix_name in KNOWN_PREFIXES)
