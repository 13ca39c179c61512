import sys

import pytest

from coderag.errors import ConfigurationError
from coderag.models.text_window import MAX_TEXT_TOKENS, CountedWindow, TokenizerWindow
from tests.support.model_folders import write_tokenizer


def test_short_texts_are_not_truncated():
    assert CountedWindow().cut("def f():\n    return 1") == "def f():\n    return 1"


@pytest.mark.parametrize("text", ["word " * 40_000, "値を返す関数。" * 4_000, "x = (1, [2, {3: 4}])\n" * 3_000])
def test_long_texts_are_truncated_to_openais_window(text):
    from llama_index.core.utils import get_tokenizer

    sent = CountedWindow().cut(text)
    assert text.startswith(sent)
    assert 0.9 * MAX_TEXT_TOKENS < len(get_tokenizer()(sent)) <= MAX_TEXT_TOKENS


def test_tokenizer_window_leaves_room_for_special_tokens(tmp_path):
    window = TokenizerWindow(write_tokenizer(tmp_path / "tokenizer.json"), max_tokens=6)
    assert window.cut("open(session)") == "open(session)"
    assert window.cut("open the session of the user and close it") == "open the session of"
    assert window.cut("值值 session.user.login") == "值值 session.user"


def test_configured_tokenizer_is_used_for_counting(tmp_path):
    path = write_tokenizer(tmp_path / "tokenizer.json")
    text = "internationalisation " * 40  # one token each here, several for OpenAI's models
    assert TokenizerWindow(path, max_tokens=42).cut(text).split() == ["internationalisation"] * 40
    assert len(CountedWindow(max_tokens=42).cut(text).split()) < 30


def test_missing_tokenizer_is_reported_at_once(tmp_path):
    with pytest.raises(ConfigurationError, match=r"embedding\.tokenizer is .*no-such\.json, which is not a file"):
        TokenizerWindow(tmp_path / "no-such.json")


def test_invalid_tokenizer_file_is_reported(tmp_path):
    pytest.importorskip("tokenizers", reason="the extra tokenizer is not installed")
    (tmp_path / "tokenizer.json").write_text('{"version": "1.0"}')
    with pytest.raises(ConfigurationError, match="cannot be read as a tokenizer"):
        TokenizerWindow(tmp_path / "tokenizer.json").cut("open")


def test_missing_package_says_how_to_install_it(tmp_path, monkeypatch):
    (tmp_path / "tokenizer.json").write_text("{}")
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(ConfigurationError, match=r"embedding\.tokenizer needs an extra") as caught:
        TokenizerWindow(tmp_path / "tokenizer.json")
    assert 'pip install ".[tokenizer]"' in caught.value.hint
