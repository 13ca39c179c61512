import pytest

from tests.support.corpora import make_context
from tests.support.extracted import cited, extracted, places

FILES = {
    "shop/config.py": (
        "DEFAULT_RETRIES = 3\n\n\nclass Config:\n    def __init__(self, open_hours: int = 8, max_retries=DEFAULT_RETRIES):\n"
        "        self.open_hours = open_hours\n        self.max_retries = max_retries\n"
    ),
    "shop/main.py": (
        "import click\n\n\n@click.command()\n@click.option(\n    '--queue-limit',\n    type=int,\n    default=None,\n"
        "    help='Most customers that wait.',\n)\ndef main(queue_limit):\n    run(queue_limit)\n"
    ),
    "shop/till.py": (
        "import os\n\n\ndef open_till(config):\n    hours = config.open_hours\n    return hours\n\n\n"
        "def charge(config, card):\n    for _ in range(config.max_retries):\n        card.take()\n\n\n"
        "def choose_currency():\n    return os.environ.get('SHOP_CURRENCY', 'EUR')\n\n\n"
        "def choose_scale():\n    scale = os.getenv('SHOP_SCALE')\n    return scale\n"
    ),
    "shop/presets.go": (
        "package shop\n\nfunc SmallShop() *Preset {\n\treturn &Preset{\n\t\tShelfCount: 4,\n\t}\n}\n\n"
        "func LargeShop() *Preset {\n\treturn &Preset{\n\t\tShelfCount: 40,\n\t}\n}\n"
    ),
    "docs/settings.md": (
        "# Settings\n\n| name | meaning |\n|---|---|\n| `open_hours` | Hours a day, in whole numbers. |\n\n"
        "## Limits\n\n- `--queue-limit <int>` - Most customers that wait before the door closes.\n"
    ),
    "tests/test_config.py": "def test_hours():\n    open_hours = 99\n    assert Config(open_hours=99)\n",
}


@pytest.fixture(scope="module")
def shop():
    return make_context(FILES)


@pytest.mark.parametrize(
    ("question", "lead"),
    [
        ("what is the default of open_hours", "**`open_hours`** is `8` by default — `shop/config.py:5`."),
        ("what is the default of openHours?", "is `8` by default — `shop/config.py:5`."),
        ("what is the default of --queue-limit", "**`queue-limit`** is `None` by default — `shop/main.py:8`."),
        ("what is SHOP_CURRENCY by default", "**`SHOP_CURRENCY`** is `'EUR'` by default — `shop/till.py:15`."),
    ],
)
def test_the_first_sentence_quotes_the_default_from_its_line(shop, question, lead):
    answer = extracted(shop, question)
    assert answer.lead.endswith(lead)
    assert places(answer) == cited(answer)


def test_a_constant_is_followed_to_its_value(shop):
    lead = extracted(shop, "what is the default of max_retries").lead
    assert "`3`" in lead
    assert "`shop/config.py:1`" in lead


def test_a_default_asked_for_in_words_is_found_by_the_results(shop):
    assert "`3`" in extracted(shop, "how many retries by default").lead


def test_defaults_of_several_presets_are_listed_in_order(shop):
    lead = extracted(shop, "what is the default of ShelfCount").lead
    assert "`4` in `SmallShop` — `shop/presets.go:5`, `40` in `LargeShop` — `shop/presets.go:11`" in lead


def test_readers_and_documentation_follow(shop):
    text = extracted(shop, "what is the default of open_hours").text
    assert "**Read in**\n\n- `open_till` — `shop/till.py:4-6`" in text
    assert "`docs/settings.md:5`" in text
    assert "99" not in text


def test_a_setting_without_a_known_default_is_located_where_it_is_read(shop):
    answer = extracted(shop, "what is the default of SHOP_SCALE")
    assert answer.lead == (
        "**`SHOP_SCALE`** is read in `choose_scale` — `shop/till.py:18-20`. No default of `SHOP_SCALE` is known."
    )
    assert answer.missing == ["No default of `SHOP_SCALE` is known."]
    assert not answer.draft.sections[0].statements[0].is_claim
