"""Import resolution by path suffixes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coderag.codegraph.linking.import_paths import ImportResolver


def resolve_paths(paths, importing, imported, *, by_name=False):
    resolver = ImportResolver(paths)
    return [paths[file] for file in resolver.resolve(paths.index(importing), imported, by_name=by_name)]


RUBY = [
    "lib/shop/cart.rb",
    "lib/shop/money/index.rb",
    "lib/shop.rb",
    "test/cart_test.rb",
    "deep/down/json.rb",
    "run.rb",
]


@pytest.mark.parametrize(
    ("importing", "imported", "expected"),
    [
        ("test/cart_test.rb", "shop/cart", ["lib/shop/cart.rb"]),
        ("test/cart_test.rb", "'shop/cart.rb'", ["lib/shop/cart.rb"]),
        ("test/cart_test.rb", "shop", ["lib/shop.rb"]),
        ("test/cart_test.rb", "../lib/shop/cart", ["lib/shop/cart.rb"]),
        ("test/cart_test.rb", "../lib/shop/money", ["lib/shop/money/index.rb"]),
        ("lib/shop/cart.rb", "./money", ["lib/shop/money/index.rb"]),
        ("lib/shop/cart.rb", "cart_test", ["test/cart_test.rb"]),
        ("lib/shop/cart.rb", "run", ["run.rb"]),
        ("lib/shop/cart.rb", "json", []),
        ("deep/down/json.rb", "json", ["deep/down/json.rb"]),
        ("lib/shop/cart.rb", "other/cart", []),
        ("lib/shop/cart.rb", "./missing", []),
        ("lib/shop/cart.rb", "../../../outside", []),
        ("run.rb", ".", []),
        ("run.rb", "", []),
        ("run.rb", "::", []),
    ],
)
def test_paths_resolve_without_root_and_extension(importing, imported, expected):
    assert resolve_paths(RUBY, importing, imported) == expected


KOTLIN = [
    "src/main/kotlin/com/acme/shop/Cart.kt",
    "src/main/kotlin/com/acme/shop/money/Money.kt",
    "src/test/kotlin/com/acme/shop/CartTest.kt",
    "shop/Deep.kt",
]


@pytest.mark.parametrize(
    ("imported", "expected"),
    [
        ("com.acme.shop.Cart", ["src/main/kotlin/com/acme/shop/Cart.kt"]),
        ("com.acme.shop.money.Money", ["src/main/kotlin/com/acme/shop/money/Money.kt"]),
        ("com.acme.shop.money.Money.round", ["src/main/kotlin/com/acme/shop/money/Money.kt"]),
        ("com.acme.shop.Deep", ["shop/Deep.kt"]),
        ("com::acme::shop::Cart", ["src/main/kotlin/com/acme/shop/Cart.kt"]),
        ("com.acme\\shop\\Cart", ["src/main/kotlin/com/acme/shop/Cart.kt"]),
        ("java.util.List", []),
        ("Money", []),
        ("org.other.Cart", []),
    ],
)
def test_qualified_names_resolve_without_trailing_members(imported, expected):
    assert resolve_paths(KOTLIN, KOTLIN[2], imported) == expected


def test_sibling_file_wins():
    paths = ["two/deep/utils.rb", "two/utils.rb", "two/app.rb", "utils.rb"]
    assert resolve_paths(paths, "two/app.rb", "utils") == ["two/utils.rb"]


def test_nearest_file_wins():
    paths = ["one/lib/utils.rb", "two/lib/utils.rb", "two/app.rb"]
    assert resolve_paths(paths, "two/app.rb", "utils") == ["two/lib/utils.rb"]


def test_ambiguous_import_returns_all_files():
    paths = ["one/lib/utils.rb", "two/lib/utils.rb", "app.rb"]
    assert resolve_paths(paths, "app.rb", "utils") == paths[:2]


C = [
    "include/shop/cart.h",
    "src/cart.c",
    "src/cart.h",
    "src/util.c",
    "src/util.h",
    "src/deep/util.h",
    "src/deep/only.h",
    "src/deep/only.c",
    "lib/main.h",
]


@pytest.mark.parametrize(
    ("importing", "imported", "expected"),
    [
        ("src/cart.c", "shop/cart.h", ["include/shop/cart.h"]),
        ("src/cart.c", "<shop/cart.h>", ["include/shop/cart.h"]),
        ("src/cart.c", '"util.h"', ["src/util.h"]),
        ("src/cart.c", "only.h", ["src/deep/only.h"]),
        ("src/cart.c", "cart.h", ["src/cart.h"]),
        ("src/cart.c", "main.h", ["lib/main.h"]),
        ("src/cart.c", "deep/util.h", ["src/deep/util.h"]),
        ("src/cart.c", "stdio.h", []),
        ("src/cart.c", "sys/types.h", []),
        ("src/cart.c", "../include/shop/cart.h", ["include/shop/cart.h"]),
    ],
)
def test_c_includes_resolve(importing, imported, expected):
    assert resolve_paths(C, importing, imported, by_name=True) == expected


SEGMENTS = st.sampled_from(["shop", "cart", "money", "index", "a.b", "..", ".", "", "rb", "🙂"])
SEPARATORS = st.sampled_from(["/", ".", "::", "\\"])


@given(st.lists(SEGMENTS, max_size=5), SEPARATORS, st.booleans())
def test_any_import_resolves_to_existing_files_or_none(segments, separator, by_name):
    resolver = ImportResolver(RUBY)
    files = resolver.resolve(0, separator.join(segments), by_name=by_name)
    assert set(files) <= set(range(len(RUBY)))
    assert len(files) == len(set(files))
