import pytest
from hypothesis import given
from hypothesis import strategies as st

from coderag.codegraph.imports import ImportResolver


def resolved(paths, importing, imported, language):
    resolver = ImportResolver(paths)
    return [paths[file] for file in resolver.resolve(paths.index(importing), imported, language)]


PYTHON = [
    "src/shop/__init__.py",
    "src/shop/cart.py",
    "src/shop/money/__init__.py",
    "src/shop/money/rounding.py",
    "src/shop/money/rates.py",
    "tests/test_cart.py",
    "setup.py",
]


@pytest.mark.parametrize(
    ("importing", "imported", "expected"),
    [
        ("tests/test_cart.py", "shop.cart", ["src/shop/cart.py"]),
        ("tests/test_cart.py", "shop.cart.Cart", ["src/shop/cart.py"]),
        ("tests/test_cart.py", "shop.money", ["src/shop/money/__init__.py"]),
        ("tests/test_cart.py", "shop.money.rounding", ["src/shop/money/rounding.py"]),
        ("tests/test_cart.py", "shop.money.rounding.round_up", ["src/shop/money/rounding.py"]),
        ("tests/test_cart.py", "shop", ["src/shop/__init__.py"]),
        ("src/shop/cart.py", ".money", ["src/shop/money/__init__.py"]),
        ("src/shop/cart.py", ".money.rounding", ["src/shop/money/rounding.py"]),
        ("src/shop/cart.py", ".", ["src/shop/__init__.py"]),
        ("src/shop/money/rounding.py", ".rates", ["src/shop/money/rates.py"]),
        ("src/shop/money/rounding.py", "..cart", ["src/shop/cart.py"]),
        ("src/shop/money/rounding.py", "..cart.Cart", ["src/shop/cart.py"]),
        ("src/shop/money/rounding.py", "..", ["src/shop/__init__.py"]),
        ("src/shop/cart.py", "os", []),
        ("src/shop/cart.py", "os.path", []),
        ("src/shop/cart.py", "numpy.linalg.norm", []),
        ("src/shop/cart.py", "", []),
    ],
)
def test_python(importing, imported, expected):
    assert resolved(PYTHON, importing, imported, "python") == expected


def test_a_python_package_at_the_root():
    assert resolved(["shop/cart.py", "app.py"], "app.py", "shop.cart", "python") == ["shop/cart.py"]


def test_a_repository_that_is_itself_the_package():
    assert resolved(["shop/cart.py", "app.py"], "app.py", "company.shop.cart", "python") == ["shop/cart.py"]


def test_a_module_of_the_standard_library_is_not_a_file_with_the_same_last_name():
    assert resolved(["shop/path.py", "app.py"], "app.py", "os.path", "python") == []
    assert resolved(["deep/errors.py", "app.py"], "app.py", "urllib.error.errors", "python") == []


def test_what_several_files_could_mean_stays_unresolved():
    paths = ["one/utils.py", "two/utils.py", "app.py"]
    assert resolved(paths, "app.py", "utils", "python") == []


def test_of_several_files_the_one_beside_is_meant():
    paths = ["two/deep/utils.py", "two/utils.py", "two/app.py"]
    assert resolved(paths, "two/app.py", "utils", "python") == ["two/utils.py"]


def test_the_nearest_of_several_files_is_meant():
    paths = ["one/utils.py", "two/utils.py", "two/app.py"]
    assert resolved(paths, "two/app.py", "utils", "python") == ["two/utils.py"]


WEB = [
    "web/app.ts",
    "web/loader.ts",
    "web/view.tsx",
    "web/api/index.ts",
    "web/api/client.js",
    "web/types.d.ts",
    "packages/core/src/index.ts",
    "src/components/Button.tsx",
]


@pytest.mark.parametrize(
    ("importing", "imported", "expected"),
    [
        ("web/app.ts", "./loader", ["web/loader.ts"]),
        ("web/app.ts", "./loader.js", ["web/loader.ts"]),
        ("web/app.ts", "./view", ["web/view.tsx"]),
        ("web/app.ts", "./view.jsx", ["web/view.tsx"]),
        ("web/app.ts", "./api", ["web/api/index.ts"]),
        ("web/app.ts", "./api/", ["web/api/index.ts"]),
        ("web/app.ts", "./api/index.js", ["web/api/index.ts"]),
        ("web/app.ts", "./api/client", ["web/api/client.js"]),
        ("web/app.ts", "./api/client.js", ["web/api/client.js"]),
        ("web/api/client.js", "../loader", ["web/loader.ts"]),
        ("web/api/client.js", ".", ["web/api/index.ts"]),
        ("web/api/client.js", "./", ["web/api/index.ts"]),
        ("web/app.ts", "./types", ["web/types.d.ts"]),
        ("web/app.ts", "@/components/Button", ["src/components/Button.tsx"]),
        ("web/app.ts", "react", []),
        ("web/app.ts", "./missing", []),
        ("web/app.ts", "../../outside", []),
        ("web/app.ts", "node:fs", []),
    ],
)
def test_typescript_and_javascript(importing, imported, expected):
    assert resolved(WEB, importing, imported, "typescript") == expected


@pytest.mark.parametrize(
    ("importing", "imported"), [("test/a.ts", ".."), ("test/a.ts", "../"), ("a.ts", "."), ("test/deep/a.ts", "../..")]
)
def test_the_index_file_of_the_repository_itself(importing, imported):
    assert resolved(["index.ts", "lib/index.ts", importing], importing, imported, "typescript") == ["index.ts"]
    assert resolved(["lib/index.ts", importing], importing, imported, "typescript") == []


GO = ["go.mod", "cmd/main.go", "store/db.go", "store/cache.go", "store/sql/query.go", "util/text.go"]


@pytest.mark.parametrize(
    ("imported", "expected"),
    [
        ("github.com/acme/shop/store", ["store/db.go", "store/cache.go"]),
        ("github.com/acme/shop/store/sql", ["store/sql/query.go"]),
        ('"github.com/acme/shop/util"', ["util/text.go"]),
        ("fmt", []),
        ("net/http", []),
    ],
)
def test_a_go_import_means_all_files_of_the_package(imported, expected):
    assert resolved(GO, "cmd/main.go", imported, "go") == expected


JAVA = [
    "src/main/java/com/acme/shop/Cart.java",
    "src/main/java/com/acme/shop/money/Money.java",
    "src/test/java/com/acme/shop/CartTest.java",
]


@pytest.mark.parametrize(
    ("imported", "expected"),
    [
        ("com.acme.shop.Cart", ["src/main/java/com/acme/shop/Cart.java"]),
        ("com.acme.shop.money.Money", ["src/main/java/com/acme/shop/money/Money.java"]),
        ("com.acme.shop.money.Money.round", ["src/main/java/com/acme/shop/money/Money.java"]),
        ("java.util.List", []),
    ],
)
def test_java(imported, expected):
    assert resolved(JAVA, JAVA[2], imported, "java") == expected


RUST = ["src/main.rs", "src/store/mod.rs", "src/store/cache.rs", "src/money.rs"]


@pytest.mark.parametrize(
    ("imported", "expected"),
    [
        ("crate::store::cache", ["src/store/cache.rs"]),
        ("crate::store::cache::Cache", ["src/store/cache.rs"]),
        ("crate::store", ["src/store/mod.rs"]),
        ("crate::money::round_up", ["src/money.rs"]),
        ("std::collections::HashMap", []),
    ],
)
def test_rust(imported, expected):
    assert resolved(RUST, "src/main.rs", imported, "rust") == expected


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
@pytest.mark.parametrize("language", ["c", "cpp"])
def test_c_includes(importing, imported, expected, language):
    assert resolved(C, importing, imported, language) == expected


SEGMENTS = st.sampled_from(["shop", "cart", "money", "index", "__init__", "a.b", "..", ".", ""])


SEPARATORS = st.sampled_from(["/", ".", "::", "\\"])
LANGUAGES = st.sampled_from(["python", "typescript", "go", "rust", "c"])


@given(st.lists(SEGMENTS, max_size=5), SEPARATORS, LANGUAGES)
def test_any_import_is_resolved_to_known_files_or_to_none(segments, separator, language):
    resolver = ImportResolver(PYTHON)
    found = resolver.resolve(0, separator.join(segments), language)
    assert set(found) <= set(range(len(PYTHON)))
    assert len(found) == len(set(found))
