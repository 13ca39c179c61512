"""Comparisons state what each side is and where they differ."""

import pytest

from tests.support.corpora import make_context
from tests.support.extracted import FILES, cited, extracted, places


@pytest.fixture(scope="module")
def shop():
    return make_context(FILES)


@pytest.fixture(scope="module")
def answer(shop):
    return extracted(shop, "difference between Cart and WishList")


def test_first_sentence_says_what_each_side_is(answer):
    assert answer.lead == (
        "**`Cart`** (class, `shop/cart.py:13`): A basket that can be paid. "
        "**`WishList`** (class, `shop/wish_list.py:4`): A basket that is only looked at."
    )
    assert answer.shape == "comparison"


def test_members_and_calls_that_only_one_side_has_cite_their_lines(answer):
    assert "- Only `Cart` has `total` and `pay` — `shop/cart.py:16`, `shop/cart.py:21`" in answer.text
    assert "- Only `WishList` has `share` — `shop/wish_list.py:7`" in answer.text
    assert "- Only `Cart` calls `charge` and `round_up` — `shop/cart.py:22`, `shop/cart.py:18`" in answer.text
    assert places(answer) == cited(answer)


def test_common_bases_come_after_the_differences(answer):
    assert "- Both extend `Basket` — `shop/cart.py:13`" in answer.text.partition("**In common**")[2]


def test_side_that_extends_the_other_is_named_first(shop):
    assert "`Cart` extends `Basket` (`shop/cart.py:13`)." in extracted(shop, "Cart vs Basket").lead


def test_side_that_calls_the_other_is_named_with_its_line(shop):
    assert "`charge` calls `check_card` (`shop/cart.py:27`)." in extracted(shop, "compare charge with check_card").lead


def test_different_kinds_are_named(shop):
    text = extracted(shop, "difference between Basket and round_up").text
    assert "- `Basket` is a class and `round_up` is a function." in text


def test_sides_may_be_named_in_words(shop):
    lead = extracted(shop, "what is the difference between carts and a wish list").lead
    assert "**`Cart`**" in lead
    assert "**`WishList`**" in lead


def test_unknown_side_is_missing(shop):
    answer = extracted(shop, "Cart vs Spaceship")
    sentence = "Nothing that is called or described as `Spaceship` was found to compare with."
    assert sentence in answer.lead
    assert answer.missing == [sentence]


def test_two_unknown_sides_are_answered_by_the_nearest_place(shop):
    assert extracted(shop, "rounding cents vs shown values").draft.sections[0].kind != "comparison"


def test_alike_functions_show_only_the_lines_that_differ():
    body = "".join(f"    step_{number}(item)\n" for number in range(14))
    files = {
        "a.py": f"def unlink(item):\n{body}    take_lock(item)\n\n\ndef unlink_nolock(item):\n{body}    expect_lock(item)\n"
    }
    text = extracted(make_context(files), "difference between unlink and unlink_nolock").text
    assert "- Only in `unlink`: `a.py:1-16`" in text
    assert "take_lock(item)" in text
    assert "expect_lock(item)" in text
    assert "step_3(item)" not in text


def test_short_functions_are_shown_whole():
    source = "def widen(box):\n    return box + 1\n\n\ndef narrow(box):\n    return box // 2\n"
    text = extracted(make_context({"a.py": source}), "compare `widen` with `narrow`").text
    assert "return box + 1" in text
    assert "return box // 2" in text


def test_types_with_the_same_member_show_its_code():
    files = {
        f"{name.lower()}.py": f"class {name}Matcher:\n    def match(self, path):\n        return {check}\n"
        for name, check in (("Tree", "path.startswith(self.root)"), ("Glob", "self.pattern.search(path)"))
    }
    text = extracted(make_context(files), "TreeMatcher vs GlobMatcher: how do they match a path").text
    assert "return path.startswith(self.root)" in text
    assert "return self.pattern.search(path)" in text


def test_side_without_documentation_does_not_take_that_of_the_other():
    source = 'def widen(box):\n    return box + 1\n\n\ndef narrow(box):\n    """Make a box smaller."""\n    return box // 2\n'
    lead = extracted(make_context({"a.py": source}), "compare `widen` with `narrow`").lead
    assert lead == "**`widen`** (function, `a.py:1`). **`narrow`** (function, `a.py:5`): Make a box smaller."


def test_rust_type_is_compared_and_not_its_implementation():
    source = "pub struct {0};\n\nimpl {0} {{\n    pub fn open(&self) {{}}\n    pub fn shut(&self) {{}}\n}}\n"
    files = {f"src/{name.lower()}.rs": source.format(name) for name in ("Lock", "Gate")}
    lead = extracted(make_context(files), "difference between Lock and Gate").lead
    assert lead == "**`Lock`** (struct, `src/lock.rs:1`) and **`Gate`** (struct, `src/gate.rs:1`)."


def test_constructors_are_not_in_common_but_methods_of_such_a_name_are():
    body = "    def __init__(self):\n        pass\n\n    def init(self):\n        pass\n"
    files = {f"{name}.py": f"class {name}Reader:\n{body}" for name in ("Wide", "Narrow")}
    text = extracted(make_context(files), "difference between WideReader and NarrowReader").text
    assert "- Both have `init` — " in text


def test_side_in_words_is_the_type_and_not_one_of_its_members():
    rows = "".join(
        f"    def field_{number}(self):\n        return self.stored[{number}] * 7\n\n" for number in range(60)
    )
    original = '    def original(self):\n        """Return the gift cart as it was, for a gift cart may differ."""\n'
    files = FILES | {"shop/gift.py": f"class GiftCartRow:\n{rows}{original}        return self.cart\n"}
    lead = extracted(make_context(files), "difference between a wish list and a gift cart").lead
    assert "**`WishList`**" in lead
    assert "**`GiftCartRow`**" in lead
