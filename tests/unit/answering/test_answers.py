import pytest

from coderag.errors import ModelUnavailableError
from coderag.models.llms.scripted import ScriptedModel
from tests.support.corpora import make_context
from tests.support.graphs import ask

FILES = {
    "shop/money.py": 'def round_up(value):\n    """Round a value up."""\n    return int(value + 0.5)\n',
    "shop/cart.py": (
        "from shop.money import round_up\n\n\nclass Basket:\n    size = 1\n\n\nclass Cart(Basket):\n"
        "    def total(self):\n        return round_up(sum(self.items))\n"
    ),
    "tools/stray.py": "def stray(values):\n    return [round_up(value) for value in values]\n",
    "tests/test_money.py": "from shop.money import round_up\n\n\ndef test_rounding():\n    assert round_up(0.2) == 1\n",
    "docs/money.md": "# Money\n\nValues are rounded up before they are shown.\n",
}

QUESTIONS = [
    "where is round_up defined",
    "who calls round_up",
    "what extends Basket",
    "what tests round_up",
    "how does rounding of a total work",
    "code like shop/money.py:2",
    "what do the docs say about rounding",
    "which ticket is about rounding",
    "rounding values",
]


@pytest.fixture
def shop(tmp_path):
    def make(**values):
        return make_context(FILES, tmp_path, **values)

    return make


@pytest.mark.parametrize("query", QUESTIONS)
async def test_every_citation_of_an_extracted_answer_holds(shop, query):
    answer = await ask(shop(), query)
    assert answer.generator == "extractive"
    assert answer.total == answer.verified == len(answer.citations) > 0


async def test_a_citation_of_an_edited_file_does_not_hold(shop, tmp_path):
    context = shop()
    (tmp_path / "shop/money.py").write_text("def round_up(value):\n    return value\n")
    answer = await ask(context, "where is round_up defined")
    assert answer.verified < answer.total
    assert {one.path for one in answer.citations if not one.verified} == {"shop/money.py"}


async def test_callers_that_nothing_binds_are_not_counted_as_users(shop):
    answer = await ask(shop(), "who calls round_up")
    sure = answer.text.split("Also near")[0]
    assert "**2 places " in sure
    assert "tools/stray.py" not in sure


async def test_a_model_writes_the_answer_if_there_is_one(shop):
    model = ScriptedModel("Values are rounded by `round_up` [1]. Also [42].")
    answer = await ask(shop(language_model=model), "how does rounding of a total work")
    assert answer.generator == "scripted/1"
    assert "rounded by `round_up` [1]" in answer.text
    assert (len(answer.citations), answer.verified, answer.total) == (1, 1, 2)
    assert "int(value + 0.5)" in model.prompts[0].text


async def test_a_model_that_fails_is_an_error_not_an_answer(shop):
    with pytest.raises(ModelUnavailableError):
        await ask(shop(language_model=ScriptedModel(ModelUnavailableError("down"))), "who calls round_up")


async def test_a_question_that_finds_nothing_is_answered_honestly(tmp_path):
    answer = await ask(make_context({}, tmp_path), "how does rounding work")
    assert (answer.evidence, answer.citations, answer.total) == ("not_found", [], 0)
    assert "Nothing in the index" in answer.text
