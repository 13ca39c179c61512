import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from llama_index.core.utils import get_tokenizer

from coderag.text.token_counts import ESTIMATE_TOLERANCE, count_tokens, estimate_tokens, is_over_limit

REPOSITORIES = Path(__file__).parents[2] / "fixtures" / "repos"
NOT_CODE = {".json", ".rst", ".adoc", ".ipynb"}  # rules and tables of signs are estimated too high
SOURCES = sorted(path for path in REPOSITORIES.rglob("*") if path.is_file() and path.suffix not in NOT_CODE)


@given(st.text(max_size=200))
def test_counts_equal_those_of_llama_index(text):
    assert count_tokens(text) == len(get_tokenizer()(text))


def test_special_tokens_are_counted_as_text():
    assert count_tokens("<|endoftext|>") > 1


def test_loading_the_encoding_preserves_the_environment():
    count = "import os; from coderag.text.token_counts import count_tokens; count_tokens('x')"
    script = f"{count}; print(os.environ.get('TIKTOKEN_CACHE_DIR'))"
    for given_value in (None, "/somewhere/else"):
        environment = {**os.environ, **({"TIKTOKEN_CACHE_DIR": given_value} if given_value else {})}
        done = subprocess.run(
            [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True
        )
        assert done.stdout.strip() == str(given_value)


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_the_estimate_is_close_on_code(path):
    data = path.read_bytes()
    if len(data) > 400:
        actual = count_tokens(data.decode())
        assert abs(estimate_tokens(data) - actual) <= ESTIMATE_TOLERANCE * actual


def test_empty_text_has_no_tokens():
    assert (estimate_tokens(b""), count_tokens("")) == (0, 0)


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_limit_check_near_the_limit_is_exact(path):
    data = path.read_bytes()
    actual = count_tokens(data.decode())
    assert is_over_limit(data, actual - 1) is (actual > 0)
    assert not is_over_limit(data, actual)


def test_a_text_of_fewer_bytes_than_the_limit_never_exceeds_it():
    assert not is_over_limit("解".encode() * 10, 30)


def test_bytes_that_are_not_utf8_are_counted():
    assert is_over_limit(b"\xff\xfe" * 100, 20)
