"""Answers about relations: the count first, then the nearest with their lines; commands list what the answer says."""

import pytest

from tests.support.corpora import make_context
from tests.support.extracted import FILES, cited, extracted, places

CHAIN = {
    "core.py": "def base():\n    return 1\n",
    **{f"near{n}.py": f"from core import base\n\n\ndef near{n}():\n    return base()\n" for n in range(2)},
    **{f"far{n}.py": f"from near0 import near0\n\n\ndef far{n}():\n    return near0()\n" for n in range(30)},
}
TYPED = {
    "box.py": "class Box:\n    def put(self):\n        return 1\n",
    **{f"use{n}.py": f"from box import Box\n\n\ndef use{n}(box: Box):\n    return box\n" for n in range(9)},
    "put.py": "from box import Box\n\n\ndef store():\n    return Box().put()\n",
}
SHAPES = {
    "shapes/base.py": (
        "class Shape:\n    def area(self):\n        raise NotImplementedError\n\n\nclass Polygon(Shape):\n    pass\n"
    ),
    "shapes/square.py": (
        "from shapes.base import Polygon\n\n\nclass Square(Polygon):\n    def area(self):\n        return self.side**2\n"
    ),
    "shapes/circle.py": (
        "from shapes.base import Shape\n\n\nclass Circle(Shape):\n    def area(self):\n        return 3 * self.radius**2\n"
    ),
    "tests/test_shapes.py": (
        "from shapes.base import Shape\nfrom shapes.circle import Circle\n\n\nclass Fake(Shape):\n    pass\n\n\n"
        "def test_area_of_a_circle():\n    assert Circle().area() > 0\n"
    ),
}


@pytest.fixture(scope="module")
def shop():
    return make_context(FILES)


@pytest.fixture(scope="module")
def chain():
    return make_context(CHAIN)


@pytest.fixture(scope="module")
def typed():
    return make_context(TYPED)


@pytest.fixture(scope="module")
def shapes():
    return make_context(SHAPES)


def test_first_sentence_counts_callers_and_names_them(shop):
    answer = extracted(shop, "who calls charge")
    assert answer.lead == "**`charge`** (function, `shop/cart.py:25`) is called by 1 declaration: `Cart.pay`."
    assert "- `Cart.pay`: `return charge(card, self.total())` — `shop/cart.py:22`" in answer.text
    assert answer.shape == "usages"
    assert places(answer) == cited(answer)


def test_all_calls_of_one_caller_are_in_one_entry(shop):
    entry = "- `Cart.total`: `first = round_up(1)` — `shop/cart.py:18`, `shop/cart.py:19`"
    assert entry in extracted(shop, "who calls round_up").text


def test_tests_come_last_and_are_counted_in_the_first_sentence(shop):
    answer = extracted(shop, "who calls round_up")
    assert "Also 1 test" in answer.lead
    assert "test_rounding" not in answer.text.partition("**Tests**")[0]
    assert "- `test_rounding`: `assert round_up(0.2) == 1` — `tests/test_money.py:5`" in answer.text


def test_callees_are_counted_outwards(shop):
    assert "calls 2 declarations: `charge` and `Cart.total`." in extracted(shop, "what does Cart.pay call").lead


def test_direct_users_of_a_change_come_before_distant_ones(chain):
    answer = extracted(chain, "what breaks if base changes")
    assert "is called by 2 declarations: `near0` and `near1`. Also 30 declarations reaching it" in answer.lead
    direct, _, distant = answer.text.partition("**Through those**")
    assert "- `near0`: " in direct
    assert "far0" not in direct
    assert "- `far0` through `near0`: `return near0()` — `far0.py:5`" in distant


def test_distant_users_are_listed_by_impact(chain):
    text = extracted(chain, "what breaks if base changes").text
    assert "- and 25 more: `coderag graph impact base` lists all" in text
    assert "coderag graph callers" not in text


def test_uses_of_a_type_are_listed_by_the_command_of_their_kind(typed):
    assert "- and 2 more: `coderag graph references Box` lists all" in extracted(typed, "who uses Box").text


def test_likeliest_of_several_declarations_is_answered_and_the_others_are_named():
    files = {
        "a/core.py": "def base():\n    return 1\n\n\ndef first():\n    return base()\n",
        "b/core.py": "def base():\n    return 2\n\n\ndef second():\n    return base()\n",
    }
    answer = extracted(make_context(files), "who calls base")
    assert "is called by 1 declaration" in answer.lead
    assert "Others of that name: `base` (`" in answer.text
    assert ("first" in answer.text) != ("second" in answer.text)


def test_importers_of_a_type_do_not_break_with_a_method_that_they_do_not_use(typed):
    answer = extracted(typed, "what breaks if Box.put changes")
    assert "`store`" in answer.lead
    assert "importing" not in answer.text


def test_tests_at_file_level_are_called_by_their_file():
    files = {
        "src/run.js": "export function run() {\n  return 1\n}\n\nexport function start() {\n  return run()\n}\n",
        "src/run.test.js": "import { start } from './run'\n\nstart()\n",
    }
    answer = extracted(make_context(files), "what tests start")
    assert "is exercised by 1 test: file level of `src/run.test.js`." in answer.lead


def test_subtypes_are_counted_without_those_of_tests(shapes):
    answer = extracted(shapes, "which classes extend Shape")
    assert "is extended by 2 types: `Polygon` and `Circle`; 1 more through those; 1 more in tests." in answer.lead
    assert "- `Square` through `Polygon`: `class Square(Polygon):` — `shapes/square.py:4`" in answer.text


def test_overrides_are_counted_with_their_places(shapes):
    answer = extracted(shapes, "what overrides Shape.area")
    assert "is overridden by 2 methods: " in answer.lead
    assert "- `Circle.area`: `def area(self):` — `shapes/circle.py:5`" in answer.text


def test_function_that_nothing_can_override_is_answered_by_its_users(shop):
    answer = extracted(shop, "which classes implement charge")
    assert "is called by 1 declaration: `Cart.pay`" in answer.lead


def test_tests_of_a_behaviour_are_found_by_its_words():
    tests = "".join(
        f"def test_expired_card_is_refused_{case}():\n    assert pay(expired_card, {case!r}) is None\n\n\n"
        for case in ("online", "in_a_shop")
    )
    files = {**FILES, "tests/test_cards.py": f"{tests}def test_empty_cart():\n    assert not cart\n"}
    answer = extracted(make_context(files), "which tests check that an expired card is refused online?")
    assert answer.lead.startswith("**`test_expired_card_is_refused_online`** in `tests/test_cards.py:1-2`")
    assert "`test_expired_card_is_refused_in_a_shop`" in answer.lead
    assert "test_empty_cart" not in answer.lead


def test_filters_hold_for_relations(shop):
    filters = {"languages": [], "kinds": [], "paths": ["docs/**"], "roles": []}
    assert "`Cart.pay`" not in extracted(shop, "who calls charge", filters=filters).text


def test_outside_the_filters_nothing_is_listed(shop):
    filters = {"languages": [], "kinds": [], "paths": ["shop"], "roles": []}
    text = extracted(shop, "who calls round_up", filters=filters).text
    assert "shop/cart.py" in text
    assert "tests/test_money.py" not in text


def test_long_lists_are_cut_and_say_how_to_see_the_rest():
    users = "".join(f"def user_{number}():\n    target()\n\n\n" for number in range(30))
    answer = extracted(make_context({"a.py": f"def target():\n    pass\n\n\n{users}"}), "who calls target")
    assert "is called by 30 declarations: `user_0`, `user_1`, `user_2` and 27 more." in answer.lead
    assert "- and 22 more: `coderag graph callers target` lists all" in answer.text


def test_imports_have_their_lines(shop):
    answer = extracted(shop, "who imports shop.cart")
    assert "is imported by 2 files" in answer.lead
    assert "`from shop.cart import Basket` — `shop/wish_list.py:1`" in answer.text


def test_declaration_without_a_test_is_said_before_the_tests_that_are_near(shop):
    answer = extracted(shop, "what tests unused_rate")
    assert answer.lead.startswith("No test of **`unused_rate`** (function, `shop/money.py:9`) could be resolved")
    assert "**`test_rounding`** in `tests/test_money.py:4-5` is the test that is nearest by its words." in answer.text
    assert answer.missing == ["No test of `unused_rate` could be resolved."]


def test_misspelt_name_is_said_to_be_unknown_before_the_nearest_is_answered(shop):
    answer = extracted(shop, "who calls round_upp")
    assert answer.lead.startswith(
        "Nothing is called `round_upp`. Close by spelling: `round_up`. **`round_up`** (function"
    )
    assert "is called by 1 declaration: `Cart.total`" in answer.lead
    assert answer.missing == ["Nothing is called `round_upp`. Close by spelling: `round_up`."]


def test_unknown_name_is_not_answered_by_something_else(shop):
    answer = extracted(shop, "who calls launch_rocket")
    assert answer.lead.startswith("**Nothing is called `launch_rocket`.")
    assert "Called by" not in answer.text
