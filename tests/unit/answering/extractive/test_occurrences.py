import re

import pytest

from tests.support.corpora import make_context
from tests.support.extracted import cited, extracted, places

HEAD = "# Settings\n\n## {section}\n\n| option | default | meaning |\n|---|---|---|\n"
TABLE = HEAD + "| `days_kept`      | {days}           | {text} |\n"
FILES = {
    "docs/settings.md": TABLE.format(section="Baskets", days=30, text="how long a basket is kept"),
    "docs/vouchers.md": TABLE.format(section="Vouchers", days=7, text="how long a voucher is kept"),
    "docs/de/settings.md": TABLE.format(section="Körbe", days=30, text="wie lange ein Korb bleibt"),
    "shop/basket.py": 'def clean(options):\n    return drop_older(options["days_kept"])\n',
    "shop/defaults.py": 'DEFAULTS = {\n    "days_kept": 30,\n}\n',
    "tests/test_basket.py": 'def test_it():\n    assert clean({"days_kept": 1})\n',
}


@pytest.fixture(scope="module")
def shop():
    return make_context(FILES)


def told(context, question):
    draft = extracted(context, question)
    assert places(draft) == cited(draft)
    return (
        draft.text.split("**`days_kept` is written in ")[1].split("The code for this")[0].split("The text for this")[0]
    )


def test_a_setting_is_told_by_the_documents_then_by_where_it_is_set(shop):
    lines = told(shop, "what does the days_kept option do").split("\n- ")[1:]
    assert {lines[0].split("—")[1].strip(), lines[1].split("—")[1].strip()} == {
        "`docs/settings.md:7`",
        "`docs/vouchers.md:7`",
    }
    assert "how long a" in lines[0]
    assert '`"days_kept": 30,` — `shop/defaults.py:2`' in lines[2]


def test_translations_and_tests_do_not_tell_of_it(shop):
    text = told(shop, "what does the days_kept option do")
    assert "docs/de" not in text
    assert "tests/" not in text


@pytest.mark.parametrize(("of", "path"), [("vouchers", "docs/vouchers.md:7"), ("baskets", "docs/settings.md:7")])
def test_of_several_settings_the_one_that_the_question_means_comes_first(shop, of, path):
    assert f"`{path}`" in told(shop, f"what does the days_kept option of {of} mean").split("\n- ")[1]


FLAGS = {
    "README.md": "# Tool\n\n- `--dry-run` shows what would be done\n- `--force` does it without a question\n",
    "tool/options.py": 'def add(parser):\n    parser.add_argument("--dry-run")\n    parser.add_argument("--force")\n',
    "tool/help.py": "".join(f'HELP_{number} = "see --dry-run"\n' for number in range(9)),
    "tool/force.py": "def force(door):\n    return door.run_dry()\n",
}


def test_an_option_of_the_command_line_is_told_by_the_lines_that_write_it():
    draft = extracted(make_context(FLAGS), "what does the --dry-run option do")
    said = draft.text.split("The code for this")[0].split("The text for this")[0]
    assert "- `` - `--dry-run` shows what would be done `` — `README.md:3`" in said
    assert '- `parser.add_argument("--dry-run")` — `tool/options.py:2`' in said
    assert "\n- `coderag search --exact -- --dry-run` lists all" in said


def test_change_logs_tell_of_an_option_only_where_no_other_document_does():
    logs = {"CHANGELOG.md": "# 2.0\n\n- `--dry-run` is new\n\n# 1.0\n\n- `--dry-run` was planned\n"}
    usage = {"docs/usage.md": "# Usage\n\nCall it with `--dry-run` first.\n\nThen without `--dry-run` at last.\n"}
    told = [
        re.split("The (?:code|text) for this", extracted(make_context(files), "what does --dry-run do").text)[0]
        for files in (FLAGS | logs, FLAGS | logs | usage)
    ]
    assert ["`CHANGELOG.md:3`" in text for text in told] == [True, False]
    assert "`docs/usage.md:3`" in told[1]


def test_options_that_are_compared_are_no_declarations_of_such_a_name():
    draft = extracted(make_context(FLAGS), "what is the difference between --force and --dry-run")
    assert draft.shape == "explanation"
    assert "does it without a question" in draft.text
    assert "shows what would be done" in draft.text


def test_a_name_that_is_declared_has_no_such_list(shop):
    assert "is written in" not in extracted(shop, "how does clean() work").text


def test_a_line_that_stands_in_many_files_leaves_room_for_others():
    pages = {f"man/page-{number}.txt": "The key is taken from SHOP_KEY_FILE.\n" for number in range(30)}
    context = make_context({**pages, "zoo.txt": "Never commit SHOP_KEY_FILE to a repository.\n"})
    answer = extracted(context, "where is SHOP_KEY_FILE read").text
    assert "Never commit" in answer
    assert answer.count("is taken from") == 3
    assert "and 27 more" in answer
