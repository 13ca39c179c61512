"""The examples run without a key, each in its own way, and find what is there."""

import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from coderag import CodeRAG

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
SCRIPTS = sorted(path.stem for path in EXAMPLES.glob("*.py") if path.stem != "models")
FILES = {
    "shop/money.py": 'def round_up(value):\n    """Round an amount of money up."""\n    return int(value + 0.99)\n',
    "shop/cart.py": (
        "from shop.money import round_up\n\n\nclass Cart:\n"
        '    """What a customer wants to buy."""\n\n'
        '    def total(self):\n        """Add the prices up."""\n        return round_up(sum(self.prices))\n'
    ),
}
QUESTION = "where is round_up defined"


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    root = tmp_path_factory.mktemp("repository")
    for path, text in FILES.items():
        (root / path).parent.mkdir(exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")
    CodeRAG(root).index()
    return root


@pytest.fixture
def output_of(monkeypatch, capsys, repository):
    """Return a function that runs an example and returns what it prints."""
    monkeypatch.syspath_prepend(str(EXAMPLES))

    def run(name, *arguments):
        monkeypatch.setattr(sys, "argv", [name, *(arguments or (str(repository), QUESTION))])
        runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")
        return capsys.readouterr().out

    return run


def test_a_supervisor_has_code_found_before_it_has_code_written(output_of):
    steps = [line for line in output_of("supervisor").splitlines() if not line.startswith(" ")]
    assert [step.split()[0] for step in steps] == ["supervisor", "coderag", "supervisor", "coder", "supervisor"]
    assert "found" in steps[1]
    assert "Change `round_up` at shop/money.py:1-3" in steps[3]
    assert steps[4].split() == ["supervisor", "done"]


def test_a_graph_streams_its_answer_and_keeps_it(output_of):
    told = output_of("custom_graph")
    assert told.index("[analyze]") < told.index("`round_up`") < told.index("The thread has 2 messages")
    assert "citations hold" in told
    assert "  shop/money.py:1-3" in told.splitlines()


# LlamaIndex's workflows look at all attributes of an agent, deprecated ones of pydantic among them.
@pytest.mark.filterwarnings("ignore::pydantic.warnings.PydanticDeprecationWarning")
def test_an_agent_searches_then_looks_the_symbol_up(output_of):
    told = output_of("llamaindex_agent")
    assert told.index("search_code {'query': 'where is round_up defined'") < told.index(
        "get_symbol {'name': 'round_up'}"
    )
    assert (
        "The best match is `round_up` at shop/money.py:1-3. It is called by:\n- `Cart.total` (shop/cart.py:9)" in told
    )


def test_a_query_engine_names_its_sources(output_of):
    told = output_of("retriever")
    assert told.startswith("Look at `round_up` (shop/money.py:1)")
    assert "shop/money.py:1-3  def round_up(value):" in told


def test_llamaindex_pipeline_and_fusion_find_the_declaration(output_of):
    nearest, _, fused = output_of("llamaindex_pipeline").partition("fused retrievers:\n")
    for output in (nearest, fused):
        assert output.count("shop/money.py:1-3  Round an amount of money up.") == 1
    assert "shop/money.py:1-3" in nearest.splitlines()[1]
    assert "shop/money.py:1-3" in fused.splitlines()[0]


def test_an_example_runs_as_a_program_of_its_own_and_indexes_first(tmp_path):
    (tmp_path / "money.py").write_text(FILES["shop/money.py"], encoding="utf-8")
    command = [sys.executable, str(EXAMPLES / "supervisor.py"), str(tmp_path), QUESTION]
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "Change `round_up` at money.py:1-3" in done.stdout


@pytest.mark.parametrize("name", ["llamaindex_agent", "llamaindex_pipeline", "retriever", "custom_graph"])
def test_a_model_that_cannot_be_had_is_named(output_of, repository, name):
    with pytest.raises(SystemExit, match=r"--model is 'nobody:x'; .* anthropic, ollama, openai"):
        output_of(name, str(repository), QUESTION, "--model", "nobody:x")


def test_the_page_tells_of_every_example():
    page = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    assert [name for name in SCRIPTS if f"({name}.py)" not in page] == []
