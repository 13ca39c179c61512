"""Single settings written into `.coderag.yaml`, and all else left as it is."""

import os
from pathlib import Path

import pytest

from coderag.config.settings import Settings
from coderag.errors import ConfigurationError
from coderag.interfaces.cli.commands.init import render_settings_template
from evals.settings_edit import edit_text, write_settings

WEIGHTS = {"weights": {"dense": 1.25, "length": 0.0}}
LINE = "weights: {dense: 1.25, length: 0.0}"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", f"search:\n  {LINE}\n"),
        ("project: a", f"project: a\nsearch:\n  {LINE}\n"),
        ("search:\n", f"search:\n  {LINE}\n"),
        ("search:\n    top_k: 5  # few\n\n# end\n", f"search:\n    {LINE}\n    top_k: 5  # few\n\n# end\n"),
        ("search: # here\n  # top_k: 5\nproject: a\n", f"search: # here\n  {LINE}\n  # top_k: 5\nproject: a\n"),
        ("search:\n  weights: {}  # mine\n  top_k: 5\n", f"search:\n  {LINE}  # mine\n  top_k: 5\n"),
        (
            "search:\n  weights:  # mine\n    dense: 2  # strong\n  # few\n  top_k: 5\n",
            f"search:\n  {LINE}  # strong\n  # few\n  top_k: 5\n",
        ),
        ("search: {top_k: 5}\n", "search: {" + LINE + ", top_k: 5}\n"),
        ("search: {}\n", "search: {" + LINE + "}\n"),
        ("project: a\r\nsearch:\r\n  top_k: 5\r\n", f"project: a\r\nsearch:\r\n  {LINE}\r\n  top_k: 5\r\n"),
    ],
)
def test_only_the_key_changes(before, after):
    assert edit_text(before, "search", WEIGHTS) == after


def test_several_keys_are_set_at_once_and_again():
    once = edit_text("search:\n  fusion: rrf\n", "search", {"fusion": "scores", "max_per_file": 2})
    assert once == "search:\n  max_per_file: 2\n  fusion: scores\n"
    assert edit_text(once, "search", {"fusion": "scores", "max_per_file": 2}) == once


@pytest.mark.parametrize(
    "before", ["- a\n", "search: 5\n", "{project: a}\n", "search: [\n", "a: &a {top_k: 5}\nsearch: *a\n"]
)
def test_what_cannot_be_edited_safely_is_left_alone_and_told(before, tmp_path):
    (tmp_path / ".coderag.yaml").write_text(before, encoding="utf-8")
    with pytest.raises(ConfigurationError, match="nothing was changed") as error:
        write_settings(tmp_path, "search", WEIGHTS)
    assert LINE in error.value.hint
    assert (tmp_path / ".coderag.yaml").read_text(encoding="utf-8") == before


def test_the_file_that_init_writes_keeps_its_explanations(tmp_path):
    (tmp_path / ".coderag.yaml").write_text(render_settings_template(), encoding="utf-8")
    path = write_settings(tmp_path, "search", WEIGHTS)
    assert Settings.load(tmp_path).search.weights == {"dense": 1.25, "length": 0.0}
    left = [line for line in path.read_text(encoding="utf-8").splitlines() if line.strip() != LINE]
    assert left == render_settings_template().splitlines()


def test_a_repository_without_the_file_gets_one(tmp_path):
    assert write_settings(tmp_path, "search", WEIGHTS).read_text(encoding="utf-8") == f"version: 1\nsearch:\n  {LINE}\n"


@pytest.mark.skipif(os.name != "posix", reason="POSIX modes and links")
def test_the_mode_and_a_link_stay(tmp_path):
    kept = tmp_path / "kept.yaml"
    kept.write_text("project: a\n", encoding="utf-8")
    kept.chmod(0o600)
    (tmp_path / ".coderag.yaml").symlink_to(kept)
    write_settings(tmp_path, "search", WEIGHTS)
    assert Path(tmp_path / ".coderag.yaml").is_symlink()
    assert kept.stat().st_mode & 0o777 == 0o600
    assert LINE in kept.read_text(encoding="utf-8")
