"""What the embedded model learns from: which files enter the corpus, and which pairs of words and code are mined."""

import json
import sys
import tarfile
from pathlib import Path

import numpy as np
import pytest

TOOLS = Path(__file__).parents[2] / "tools" / "embedding"

DELETE = '''
def delete_user(store, user_id):
    """Remove an account for good."""
    row = store.rows.pop(user_id)
    store.session.expire(row)
    return row
'''
TEST = """
from store import delete_user, make_store

def test_removed_people_cannot_come_back():
    store = make_store()
    delete_user(store, 1)
    assert 1 not in store.rows
"""
MANUAL = """# Goodbye

People who leave are taken out of every list by `delete_user`, and nothing of theirs is kept.
"""


@pytest.fixture(autouse=True)
def tools(monkeypatch):
    monkeypatch.syspath_prepend(str(TOOLS))
    yield
    for name in ("collect", "mining", "pairs", "layout", "vocabulary", "asset"):
        sys.modules.pop(name, None)


@pytest.fixture
def package(tmp_path):
    for path, text in {"src/store.py": DELETE, "tests/test_store.py": TEST, "README.md": MANUAL}.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text, "utf-8")
    return tmp_path


def mined(package, kind):
    from mining import mine_package

    return [pair for pair in mine_package(package) if pair.kind == kind]


def test_a_docstring_leads_to_its_declaration(package):
    [pair] = [pair for pair in mined(package, "doc") if "account" in pair.query]
    assert pair.query == "Remove an account for good."
    assert "store.rows.pop" in pair.code.text


def test_what_is_asked_is_not_in_the_code_that_answers(package):
    from pairs import TermCounts

    words = {word: number for number, word in enumerate(["remov", "account", "row", "user", "delet", "session"])}
    [pair] = [pair for pair in mined(package, "doc") if "account" in pair.query]
    counted = TermCounts(words).count_body(pair.code)
    assert words["account"] not in counted
    assert counted[words["row"]] == 4


def test_a_name_leads_to_a_body_without_that_name(package):
    from pairs import TermCounts

    [pair] = [pair for pair in mined(package, "name") if pair.query.startswith("delete user")]
    words = {"=deleteuser": 0, "=userid": 1}
    assert TermCounts(words).count_body(pair.code) == {1: 2}


def test_a_test_leads_to_what_it_calls(package):
    [pair] = mined(package, "test")
    assert pair.query.split() == ["removed", "people", "cannot", "come", "back"]
    assert "store.session.expire" in pair.code.text


def test_a_manual_leads_to_what_it_names_without_naming_it(package):
    [pair] = mined(package, "section")
    assert "taken out of every list" in pair.query
    assert "delete_user" not in pair.query
    assert "store.session.expire" in pair.code.text


def test_mining_again_gives_the_same_pairs(package):
    from mining import mine_package

    assert list(mine_package(package)) == list(mine_package(package))


def test_copies_with_a_changed_line_have_one_signature():
    from pairs import Counter, compute_signature

    code = Counter(dict.fromkeys(range(200), 1))
    changed = Counter({**code, 777_777: 1})
    other = Counter(dict.fromkeys(range(500, 700), 1))
    assert compute_signature(code) != compute_signature(other)
    assert (
        sum(compute_signature(code + Counter({extra: 1})) == compute_signature(code) for extra in range(10_000, 10_100))
        > 80
    )
    assert len(compute_signature(changed)) == len(compute_signature(code))


@pytest.mark.parametrize(
    "name",
    ["flask", "golang-github-spf13-cobra", "librust-tokio-dev", "httpie", "ruby-danger", "@guice/core", "Kingfisher"],
)
def test_what_is_measured_on_is_not_learned_from(name):
    from collect import _PARAPHRASED, Exclusions

    held_out = [row["name"] for row in json.loads(_PARAPHRASED.read_text("utf-8"))]
    assert Exclusions(["flask", "cobra", "tokio", *held_out]).has_package(name)


def test_native_sources_of_a_plugin_are_kept_beside_its_javascript_sources():
    from collect import drop_builds

    files = dict.fromkeys(
        ["src/index.ts", "lib/index.js", "dist/index.js", "ios/Camera.swift", "android/Camera.kt"], b""
    )
    assert sorted(drop_builds(files)) == ["android/Camera.kt", "ios/Camera.swift", "lib/index.js", "src/index.ts"]


def test_a_package_of_built_files_only_is_taken_as_it_is():
    from collect import drop_builds

    assert list(drop_builds({"dist/index.js": b""})) == ["dist/index.js"]


@pytest.mark.parametrize(
    ("licence", "free"), [("MIT", True), ("", False), ("UNLICENSED", False), ("SEE LICENSE IN x", False)]
)
def test_what_gives_no_licence_is_left_out(licence, free):
    from collect import _NO_LICENCE

    assert bool(_NO_LICENCE.match(licence)) is not free


@pytest.mark.parametrize(
    ("path", "text", "licence"),
    [
        ("LICENSE", "Copyright (c) Someone.\n\nPermission is hereby granted, free of charge, to any person", "MIT"),
        ("p-1.0.dist-info/licenses/LICENSE.rst", "Redistribution and use in source and binary forms, with", "BSD"),
        (
            "p-1.0.dist-info/COPYING",
            "                 GNU LESSER GENERAL PUBLIC LICENSE\n under the GNU General",
            "LGPL",
        ),
        ("LICENCE.md", "All rights reserved. Do not copy.", ""),
        ("vendored/LICENSE", "MIT License", ""),
    ],
)
def test_a_licence_that_is_not_declared_is_read_from_the_packages_own_licence_file(path, text, licence):
    from collect import detect_licence

    assert detect_licence({"README.md": b"MIT License", path: text.encode()}) == licence


@pytest.mark.parametrize(
    ("declared", "file", "skipped", "licence"),
    [
        ("ISC", "MIT License", "", "ISC"),
        ("", "MIT License", "", "MIT"),
        ("UNLICENSED", "MIT License", "no licence", "UNLICENSED"),
        ("", "All rights reserved.", "no licence", ""),
    ],
)
def test_a_package_is_taken_with_the_licence_it_declares_or_carries(tmp_path, declared, file, skipped, licence):
    from collect import Exclusions, collect_package

    contents = tmp_path / "package"
    contents.mkdir()
    (contents / "package.json").write_text(json.dumps({"version": "1.2.0", "license": declared}))
    (contents / "LICENSE").write_text(file)
    (contents / "index.js").write_text("export function sum(a, b) {\n  return a + b\n}\n" * 5)
    downloads = tmp_path / "corpus" / "downloads" / "npm" / "sum"
    downloads.mkdir(parents=True)
    with tarfile.open(downloads / "sum-1.2.0.tgz", "w:gz") as archive:
        archive.add(contents, "package")
    (downloads / ".complete").touch()
    package = collect_package("npm", "sum", corpus=tmp_path / "corpus", exclusions=Exclusions([]), limits={})
    assert (package.version, package.skipped, package.licence) == ("1.2.0", skipped, licence)
    assert (tmp_path / "corpus" / "source" / "npm" / "sum" / "index.js").exists() is (not skipped)


def test_an_asset_gives_back_what_was_trained(tmp_path):
    from asset import write_asset

    from coderag.models.word_vectors import WordVectors

    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(3, 64)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    card = {"name": "n", "version": "1", "field_weights": {"body": 1, "names": 2, "path": 1}, "context_share": 0}
    weights = np.array([1, 2, 3], np.float32)
    write_asset(
        tmp_path, terms=["b", "a", "c"], vectors=vectors, weights=weights, query_weights=weights[::-1], card=card
    )
    words = WordVectors.load(tmp_path)
    expected = 2 * vectors[1] + 1 * vectors[0]
    np.testing.assert_allclose(
        words.embed_terms(["a", "b"], "code") @ expected / np.linalg.norm(expected), 1, atol=1e-3
    )
    expected = 2 * vectors[1] + 3 * vectors[0]
    np.testing.assert_allclose(words.embed_terms(["a", "b"]) @ expected / np.linalg.norm(expected), 1, atol=1e-3)
