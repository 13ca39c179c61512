import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coderag.schema.chunks import get_module_name
from coderag.text.path_masking import MaskedPaths, PathMask

MASK = PathMask(b"k" * 32)
PATHS = [
    "billing/invoices/invoice.test.ts",
    "billing/invoices/invoice.ts",
    "billing/ledger.py",
    ".github/workflows/ci.yml",
    "Makefile",
    "docs/how to/[slug] page.md",
    "acme.corp/notes.properties",
    ".env",
]
HERE = MaskedPaths(MASK, PATHS)

names = st.text(st.characters(exclude_characters="/\0"), min_size=1, max_size=12).filter(lambda name: name.strip("."))
paths = st.lists(names, min_size=1, max_size=5).map("/".join)


def token(name):
    return MASK.get_token(name)


# Masking


@given(paths)
def test_masked_path_unmasks_to_itself(path):
    assert MaskedPaths(MASK, [path]).unmask_text(MASK.mask_path(path)) == path


@given(paths)
def test_masking_keeps_the_number_of_components_and_hides_names(path):
    masked = MASK.mask_path(path).split("/")
    assert len(masked) == path.count("/") + 1
    assert all(re.fullmatch(r"\.*[0-9a-f]{12}", component) for component in masked[:-1])
    assert re.fullmatch(r"\.*[0-9a-f]{12}(\.[A-Za-z0-9]{1,6})?", masked[-1])


@given(paths, names, names)
def test_files_of_a_folder_are_masked_into_one_folder(folder, first_name, second_name):
    masked = MASK.mask_folder(folder)
    assert MASK.mask_path(f"{folder}/{first_name}").rpartition("/")[0] == masked
    assert MASK.mask_path(f"{folder}/{second_name}").rpartition("/")[0] == masked


@given(paths, st.binary(min_size=32, max_size=32), st.binary(min_size=32, max_size=32))
def test_another_key_gives_another_mask(path, first_key, second_key):
    assert (PathMask(first_key).mask_path(path) == PathMask(second_key).mask_path(path)) == (first_key == second_key)


@given(st.lists(paths, min_size=1, unique=True))
def test_different_paths_have_different_masks(several):
    assert len({MASK.mask_path(path) for path in several}) == len(several)


@pytest.mark.parametrize(
    ("path", "shape"),
    [
        ("src/session.py", "{src}/{session}.py"),
        ("invoice.test.ts", "{invoice.test}.ts"),
        (".env", ".{env}"),
        (".eslintrc.json", ".{eslintrc}.json"),
        (".github/ci.yml", ".{github}/{ci}.yml"),
        ("Makefile", "{Makefile}"),
        ("my.project/a.b/c", "{my.project}/{a.b}/{c}"),
        ("notes.acmecorporation", "{notes.acmecorporation}"),
        ("v1./x.", "{v1.}/{x.}"),
        ("naïve/Straße.PY", "{naïve}/{Straße}.PY"),
        ("caf\udce9.py", "{caf\udce9}.py"),
    ],
)
def test_separators_leading_dots_and_short_extensions_are_kept(path, shape):
    assert MASK.mask_path(path) == re.sub(r"\{(.*?)\}", lambda match: token(match[1]), shape)


@pytest.mark.parametrize("path", ["src/session.py", "src/session.test.ts", ".env", "Makefile", "a.b/c"])
def test_module_is_masked_like_its_file_without_the_extension(path):
    assert MASK.mask_path(path).startswith(MASK.mask_module(path))
    assert MaskedPaths(MASK, [path]).unmask_text(MASK.mask_module(path)) == get_module_name(path)


def test_key_is_in_no_description_of_the_mask():
    assert "kkkk" not in repr(MASK) + repr(HERE) + MASK.fingerprint


# Back again, in texts


@pytest.mark.parametrize(
    "text",
    [
        "It is in `{}`.",
        "See {}:10-20, and {}:7.",
        "See {}.",
        "[{}:3]({})",
        "/work/repo/{}#L3",
        '"{}"',
        "{}",
    ],
)
@pytest.mark.parametrize("path", PATHS)
def test_masked_paths_in_a_text_are_unmasked(text, path):
    masked = text.replace("{}", MASK.mask_path(path))
    assert HERE.unmask_text(masked) == text.replace("{}", path)


def test_partial_masked_paths_are_unmasked():
    assert HERE.unmask_text(f"{token('ledger')}.py in {token('billing')}/") == "ledger.py in billing/"
    assert HERE.unmask_text(f"{token('invoices')}/{token('invoice')}.ts") == "invoices/invoice.ts"
    assert HERE.unmask_text(f"{token('github')}/{token('workflows')}") == "github/workflows"


@pytest.mark.parametrize(
    "invented",
    [
        "deadbeef0123/0123deadbeef.py",
        f"{token('billing')}/deadbeef0123.py",
        f"{token('ledger')}/{token('billing')}.py",
        f"{token('workflows')}/{token('ledger')}.py",
    ],
)
def test_unknown_masked_path_is_kept(invented):
    assert HERE.unmask_text(f"see `{invented}:3`") == f"see `{invented}:3`"


@pytest.mark.parametrize("text", ["commit 3f9a1c0d27b43f9a1c0d27b43f9a1c0d27b43f9a", "x" + token("billing"), ""])
def test_other_hexadecimal_numbers_are_kept(text):
    assert HERE.unmask_text(text) == text


# Questions


@pytest.mark.parametrize(
    ("question", "hidden"),
    [
        ("what does billing/ledger.py do?", "what does {billing}/{ledger}.py do?"),
        ("what is in ledger.py.", "what is in {ledger}.py."),
        ("explain billing/invoices/", "explain {billing}/{invoices}/"),
        ("see ./billing/ledger.py:12-14", "see ./{billing}/{ledger}.py:12-14"),
        ("is /home/me/billing/ledger right", "is /home/me/{billing}/{ledger} right"),
        ("`billing/missing.py`, (billing/ledger.py)", "`{billing}/missing.py`, ({billing}/{ledger}.py)"),
        ("what of docs/how to/[slug] page.md", "what of {docs}/{how to}/{[slug] page}.md"),
        ("how does billing read/write a ledger", "how does billing read/write a ledger"),
        ("what is in .env and the Makefile", "what is in .{env} and the Makefile"),
    ],
)
def test_masked_query_has_no_names_of_paths(question, hidden):
    expected = re.sub(r"\{(.*?)\}", lambda match: token(match[1]), hidden)
    assert HERE.mask_text(question) == expected


@given(st.lists(paths, min_size=1, max_size=4), st.text(max_size=50))
def test_masking_and_unmasking_accept_any_text(several, text):
    masked = MaskedPaths(MASK, several)
    masked.unmask_text(masked.mask_text(text))


def test_token_collision_is_detected():
    class Colliding(PathMask):
        def get_token(self, name):
            return "0" * 12

    with pytest.raises(AssertionError, match="share a token"):
        MaskedPaths(Colliding(b"k"), ["a/b.py"]).unmask_text("0" * 12)
