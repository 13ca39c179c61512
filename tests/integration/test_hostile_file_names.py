"""Names of files and declarations with controls, marks and markup: every output shows them, and none obeys them."""

import json
import os
import re
import xml.etree.ElementTree as ElementTree

import pytest
from typer.testing import CliRunner

from coderag.interfaces.cli.main import app

pytestmark = pytest.mark.skipif(os.name == "nt", reason="Windows has no such file names")

HARMFUL = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\U000e0000-\U000e007f\ud800-\udfff]"
)
NAMES = (
    b"esc\x1b[2J.py", b"new\nline.py", b"cr\rx.py", b"tab\tx.py", "bidi\u202egnp.py".encode(), b"bell\x07.py",
    "zero\u200bwidth\ufeff.py".encode(), b"latin\xff\xfe.py", b"--help.py", b"-rf.py", b"$(touch ran).py", b"a;b.py",
    b"`tick`.py", b"pi|pe.py", b"<script>alert(1)<script>.py", b"quo\"te'.py", b"]]>.py", b"back\\slash.py",
    b"l" * 240 + b".py", b"[link](http:x).py", "line\u2028separator.py".encode(), "\U000e0041tag.py".encode(),
    "c1\u009b2J.py".encode(), b"&amp;.py", b"#hash.py", b" space.py",
)  # fmt: skip
TEXT = (
    'def price_{0}(item):\n    """Return the price | of <b>goods</b> ]]> \x1b[31mred\x07 \u202eevil\u202c."""\n'
    "    return shared(item)\n"
)
COMMANDS = {
    "plan": ["index", "--plan"],
    "index": ["index", "--full"],
    "status": ["status"],
    "doctor": ["doctor", "--offline"],
    "search": ["search", "price of goods", "-n", "50"],
    "explain": ["search", "price of goods", "-n", "50", "--explain"],
    "exact": ["search", "--exact", "price", "-n", "200", "--context-lines", "1"],
    "files": ["search", "--regex", "evil", "--files"],
    "count": ["search", "--regex", "evil", "--count"],
    "ask": ["ask", "who calls shared?"],
    "ask code": ["ask", "what does price_0 do?"],
    "callers": ["graph", "callers", "shared"],
    "callers deeper": ["graph", "callers", "shared", "--depth", "3"],
    "outline": ["graph", "outline", "esc\x1b[2J.py"],
    "hotspots": ["graph", "hotspots"],
    "missing name": ["graph", "callers", "no\x1b[2J\u202e"],
    "missing language": ["search", "x", "--language", "no\x1b[2J"],
    "missing file": ["context", "--file", "no\x1b[2J\n.py:1"],
    "bad pattern": ["search", "--regex", "(\x1b[2J"],
    "bad option": ["search", "--no\x1b[2J"],
    "bad command": ["no\x1b[2J"],
}


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    folder = tmp_path_factory.mktemp("names")
    for number, name in enumerate(NAMES):
        try:
            (folder / os.fsdecode(name)).write_text(TEXT.format(number))
        except OSError:  # a file system that takes no such name
            continue
    (folder / "shared.py").write_text("def shared(item):\n    return item\n")
    (folder / ".coderag.yaml").write_text("ingestion: {workers: 0}\n")
    return folder


@pytest.fixture
def run(root, monkeypatch):
    monkeypatch.chdir(root)
    CliRunner().invoke(app, ["index"])

    def run(*arguments):
        done = CliRunner().invoke(app, list(arguments))
        assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
        assert "Traceback" not in done.output
        return done

    return run


@pytest.mark.parametrize("arguments", COMMANDS.values(), ids=list(COMMANDS))
def test_text_has_no_harmful_characters(run, arguments) -> None:
    done = run(*arguments)
    assert not HARMFUL.findall(done.stdout + done.stderr)


@pytest.mark.parametrize(
    "name", ["plan", "status", "search", "explain", "exact", "ask", "callers", "outline", "missing name"]
)
def test_json_is_json_without_harmful_characters(run, name) -> None:
    done = run(*COMMANDS[name], "--json")
    printed = done.stdout or done.stderr  # errors
    assert isinstance(json.loads(printed), dict)
    assert not HARMFUL.findall(printed)


def test_json_keeps_the_names(run) -> None:
    paths = {hit["path"] for hit in json.loads(run("search", "price", "-n", "100", "--json").stdout)["hits"]}
    assert {"esc\x1b[2J.py", "new\nline.py", "bidi\u202egnp.py", "pi|pe.py", "<script>alert(1)<script>.py"} <= paths


def test_files_of_names_outside_utf_8_are_reported(run) -> None:
    assert "name is not valid UTF-8" in run("index", "--full").stdout


@pytest.mark.parametrize("export", ["json", "graphml", "cypher"])
def test_an_export_can_be_read(run, export) -> None:
    printed = run("graph", "export", "--to", export).stdout
    if export == "json":
        assert "bidi\u202egnp.py" in {node["name"] for node in json.loads(printed)["nodes"]}
    elif export == "graphml":
        names = {data.text for data in ElementTree.fromstring(printed).iter() if data.get("key") == "node_name"}
        assert "<script>alert(1)<script>.py" in names
    else:
        assert "quo\"te\\'.py" in printed or "quo\\\"te'.py" in printed


def test_a_context_as_xml_is_not_broken_out_of(run) -> None:
    printed = run("context", "price", "--format", "xml", "--budget", "4000").stdout
    tree = ElementTree.fromstring(printed if printed.count("<?xml") else f"<all>{printed}</all>")
    assert not list(tree.iter("b"))
    assert not list(tree.iter("script"))
    assert isinstance(json.loads(run("context", "price", "--format", "json").stdout), dict | list)
