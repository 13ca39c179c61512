import pytest
from markdown_it import MarkdownIt

from tests.support.corpora import make_context
from tests.support.extracted import FILES, extracted


@pytest.fixture(scope="module")
def shop():
    return make_context(FILES)


@pytest.fixture(scope="module")
def text(shop):
    return extracted(shop, "difference between Cart and WishList").text


@pytest.mark.parametrize(
    "row",
    [
        "| Declared in | `shop/cart.py:13-22` | `shop/wish_list.py:4-8` |",
        "| Signature | `class Cart(Basket):` | `class WishList(Basket):` |",
        "| Described as | A basket that can be paid. | A basket that is only looked at. |",
        "| Extends | `Basket` | `Basket` |",
        "| Size | 10 lines, 2 members | 5 lines, 1 member |",
        "| Calls | `charge` and `round_up` | – |",
        "| Called by | `check_out` | – |",
    ],
)
def test_the_two_stand_side_by_side(text, row):
    assert row in text


def test_what_both_have_and_what_only_one_has_is_told(text):
    assert "- Both extend `Basket` — `shop/cart.py:13`, `shop/wish_list.py:4`" in text
    assert "- Only `Cart` has `total` and `pay` — `shop/cart.py:16`, `shop/cart.py:21`" in text
    assert "- Only `WishList` has `share` — `shop/wish_list.py:7`" in text


def test_the_code_of_both_is_shown(text):
    fences = [token.content for token in MarkdownIt().parse(text) if token.type == "fence"]
    assert [fence.split("\n")[0] for fence in fences] == ["class Cart(Basket):", "class WishList(Basket):"]


def test_one_that_extends_the_other_is_told_first(shop):
    text = extracted(shop, "Cart vs Basket").text
    assert text.startswith("**`Cart` and `Basket`** are both classes. `Cart` extends `Basket` (`shop/cart.py:13`).")


def test_one_that_calls_the_other_is_told_with_its_line(shop):
    text = extracted(shop, "compare charge with check_card").text
    assert "are both functions. `charge` calls `check_card` (`shop/cart.py:27`)." in text


def test_different_kinds_are_named(shop):
    assert "are a class and a function." in extracted(shop, "difference between Basket and round_up").text


def test_sides_may_be_named_in_words(shop):
    assert "**`Cart` and `WishList`**" in extracted(shop, "what is the difference between carts and a wish list").text


def test_a_side_that_is_not_known_is_missing(shop):
    draft = extracted(shop, "Cart vs Spaceship")
    sentence = "Nothing that is called or described as `Spaceship` was found to compare with."
    assert sentence in draft.text
    assert draft.missing == [sentence]


def test_two_that_are_both_unknown_are_explained_by_what_is_near(shop):
    assert "| | `" not in extracted(shop, "rounding cents vs shown values").text


def test_bars_in_signatures_do_not_break_the_table():
    source = "def one(a: int | None) -> int | str:\n    return 1\n\n\ndef two(b: str | None):\n    return 2\n"
    text = extracted(make_context({"a.py": source}), "compare `one` with `two`").text
    cells = [
        token
        for token in MarkdownIt("gfm-like", {"linkify": False}).parse(text)
        if token.type in ("td_open", "th_open")
    ]
    rows = [token for token in MarkdownIt("gfm-like", {"linkify": False}).parse(text) if token.type == "tr_open"]
    assert len(cells) == 3 * len(rows) > 0


def test_calls_that_only_one_makes_cite_the_lines_of_the_calls(text):
    assert "- Only `Cart` calls `charge` and `round_up` — `shop/cart.py:22`, `shop/cart.py:18`" in text


def test_a_rust_type_is_compared_and_not_what_is_implemented_for_it():
    source = "pub struct {0};\n\nimpl {0} {{\n    pub fn open(&self) {{}}\n    pub fn shut(&self) {{}}\n}}\n"
    files = {f"src/{name.lower()}.rs": source.format(name) for name in ("Lock", "Gate")}
    text = extracted(make_context(files), "difference between Lock and Gate").text
    assert text.startswith("**`Lock` and `Gate`** are both structs.")
    assert "| Declared in | `src/lock.rs:1` | `src/gate.rs:1` |" in text


def test_constructors_are_not_told_as_what_both_have_but_methods_of_such_a_name_are():
    body = "    def __init__(self):\n        pass\n\n    def init(self):\n        pass\n"
    files = {f"{name}.py": f"class {name}Reader:\n{body}" for name in ("Wide", "Narrow")}
    text = extracted(make_context(files), "difference between WideReader and NarrowReader").text
    assert "- Both have the members `init` — " in text


def test_a_side_in_words_is_the_type_and_not_one_of_its_members():
    rows = "".join(
        f"    def field_{number}(self):\n        return self.stored[{number}] * 7\n\n" for number in range(60)
    )
    original = '    def original(self):\n        """Return the gift cart as it was, for a gift cart may differ."""\n'
    files = FILES | {"shop/gift.py": f"class GiftCartRow:\n{rows}{original}        return self.cart\n"}
    text = extracted(make_context(files), "difference between a wish list and a gift cart").text
    assert "**`WishList` and `GiftCartRow`**" in text
