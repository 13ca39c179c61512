"""Exact names and texts: what stands in a file is found first, whatever its spelling, down to its declaration or line."""

import re
import subprocess

import pytest

from coderag import CodeRAG
from coderag.errors import InvalidQueryError

FILES = {
    "deploy/gateway.toml": '[service]\nname = "gate"\nidle-grace = 30\n\n[service.cluster]\nrejoin-delay = "4s"\n',
    "deploy/gateway.yaml": "gateway:\n  burst_ceiling: 12\n  probe:\n    warm-up-window: 5s\n",
    "web/style.css": ".btn-subtle {\n  color: grey;\n}\n\n.card {\n  --edge-radius: 3px;\n}\n",
    "web/package.json": '{\n  "name": "@harbour/dock-kit",\n  "scripts": {"lint:styles": "stylelint web"}\n}\n',
    "scripts/clean.ps1": "function Remove-StaleLease {\n  param($Days)\n  Get-ChildItem -Path $Days\n}\n",
    "scripts/flags.sh": "#!/bin/sh\nexec gate --fabric.rejoin-limit 5 --dry-mode\n",
    "src/grace.py": (
        'def idle_graces(days):\n    """Return the grace of idle days."""\n    return [day for day in days if day]\n\n\n'
        'def rejoin_delays(cluster):\n    """Return the delays of a cluster that rejoins."""\n    return cluster.delays\n'
    ),
    "src/client.py": (
        "class Client:\n    maxRedials = 4\n\n    def send(self, headers):\n        body = self.encode(headers)\n"
        '        headers["X-Trace-Token"] = self.token\n        return self.post(body, headers)\n'
    ),
    "src/small.py": (
        "def stow(box):\n    box.full = True\n\n\ndef heave(rope):\n    rope.tight = True\n\n\n"
        "def moor(ship, pier):\n    ship.at = pier\n    heave(ship.rope)\n"
    ),
    "src/tokens.py": 'ENCODINGS = {"w200k_plain": 3, "w100k_plain": 2}\n',
    "src/Parser.hs": "module Parser where\n\nrun p q = p >>= \\x -> q x\n",
    "src/anchorage.py": (
        'def drop_anchor(ship):\n    """Drop the anchor of a ship, so that the anchor holds it."""\n'
        "    ship.anchor.drop()\n    return ship.anchor\n"
    ),
    "tests/test_first.py": "def anchor():\n    return 1\n",
    "tests/test_second.py": "def anchor():\n    return 2\n",
    "docs/guide.md": "# Guide\n\nThe gate waits for idle days of grace before the delay of a cluster that rejoins.\n",
}


@pytest.fixture(scope="module")
def rag(tmp_path_factory):
    root = tmp_path_factory.mktemp("literals")
    for path, text in FILES.items():
        file = root / path
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
    subprocess.run(["git", "init", "-q", root], check=True)
    with CodeRAG(root, ingestion={"workers": 0}) as engine:
        engine.index()
        yield engine


@pytest.mark.parametrize(
    ("query", "location"),
    [
        ("idle-grace", "deploy/gateway.toml:3-3"),
        ("rejoin-delay", "deploy/gateway.toml:6-6"),
        ("service.cluster.rejoin-delay", "deploy/gateway.toml:6-6"),
        ("--fabric.rejoin-limit", "scripts/flags.sh:2-2"),
        ("fabric.rejoin-limit", "scripts/flags.sh:2-2"),
        ("--edge-radius", "web/style.css:6-6"),
        ("@harbour/dock-kit", "web/package.json:2-2"),
        ("lint:styles", "web/package.json:3-3"),
        ("w200k_plain", "src/tokens.py:1-1"),
        ("X-Trace-Token", "src/client.py:4-7"),
        ("x-trace-token", "src/client.py:4-7"),
        ("`heave`", "src/small.py:5-6"),
        ("heave", "src/small.py:5-6"),
        ("moor", "src/small.py:9-11"),
        (">>=", "src/Parser.hs:3-3"),
        ('"warm-up-window: 5s"', "deploy/gateway.yaml:4-4"),
    ],
)
def test_a_literal_comes_first_as_its_declaration_or_line(rag, query, location):
    hits = rag.search(query)
    assert hits[0].location == location
    assert hits.evidence == "found"


@pytest.mark.parametrize("query", [".btn-subtle", "btn-subtle"])
def test_a_class_of_a_style_sheet_is_found_with_and_without_its_sign(rag, query):
    hits = rag.search(query)
    assert (str(hits[0].path), hits[0].start_line) == ("web/style.css", 1)


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("max-redials", "maxRedials"),
        ("MAX_REDIALS", "maxRedials"),
        ("rejoinDelays", "rejoin_delays"),
        ("IDLE_GRACES", "idle_graces"),
        ("burst-ceiling", "burst_ceiling"),
        ("BurstCeiling", "burst_ceiling"),
    ],
)
def test_a_name_in_another_convention_comes_first(rag, query, name):
    hits = rag.search(query)
    assert name in hits[0].text.split("\n", 1)[0]
    assert hits.evidence == "found"


@pytest.mark.parametrize(
    ("question", "path"),
    [
        ("what is idle-grace set to", "deploy/gateway.toml"),
        ("where is rejoin-delay configured?", "deploy/gateway.toml"),
        ("which header is X-Trace-Token", "src/client.py"),
    ],
)
def test_a_question_with_a_literal_finds_what_has_it(rag, question, path):
    assert str(rag.search(question)[0].path) == path


@pytest.mark.parametrize("question", ["what is idle-grace set to", "idle-grace"])
def test_an_answer_states_the_line_of_a_literal(rag, question):
    answer = rag.ask(question)
    assert re.search(r"`idle-grace`\*\* is `30`|idle-grace = 30", answer.text)
    assert any(citation.path == "deploy/gateway.toml" for citation in answer.citations)


@pytest.mark.parametrize("query", ["idle_pardon_v2", "--fabric.rejoin-pardon", "@harbour/crane-kit", "<=>"])
def test_a_name_that_stands_nowhere_is_not_found(rag, query):
    assert rag.search(query).evidence in ("not_found", "weak")
    assert rag.search(query).evidence != "found"


def test_a_word_that_several_tests_use_as_a_name_is_no_exact_name(rag):
    assert str(rag.search("anchor")[0].path) == "src/anchorage.py"


def test_signs_alone_give_their_occurrences_only(rag):
    assert [str(hit.path) for hit in rag.search(">>=")] == ["src/Parser.hs"]
    assert rag.search("<=>") == []


def test_one_sign_is_refused_with_the_exact_search(rag):
    with pytest.raises(InvalidQueryError) as refused:
        rag.search("?")
    assert "--exact" in str(refused.value.hint)


def test_a_context_of_a_literal_has_its_line(rag):
    assert "rejoin-delay" in rag.context("rejoin-delay").text


@pytest.mark.parametrize("query", ["HARBOUR_DUES", "where is HARBOUR_DUES set?"])
def test_name_that_only_a_file_over_the_limit_has_is_unknown(tmp_path, query):
    (tmp_path / "pier.py").write_text("def moor(ship):\n    return ship\n")
    (tmp_path / "tariffs.py").write_text("ROWS = [1]\n" * 200 + "HARBOUR_DUES = 5\n")
    with CodeRAG(tmp_path, ingestion={"workers": 0, "max_file_bytes": 1_000}) as engine:
        engine.index()
        found = engine.search(query)
        assert (found.evidence, found.not_indexed) == ("unknown", ["tariffs.py: larger than 1,000 bytes"])
        assert engine.search("HARBOUR_FEES").evidence == "not_found"
