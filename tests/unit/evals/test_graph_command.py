"""The command of the code graph's evaluation: what it prints, what it keeps, and how it fails."""

import json
import os
import shutil
import sys
from pathlib import Path

import pytest

from evals.graph.__main__ import main
from evals.graph.ground_truth import CallSite, CallTarget, ClassBases, DeclarationSite, EvaluationError, GroundTruth
from evals.graph.language_server import LanguageServer

TOOLS = os.environ.get("GRAPH_EVAL_TOOLS", "")
"""Folder in which npm installed typescript; set, the compiler is asked."""

SOURCES = {
    "src/animals.ts": """
export interface Speaker { speak(): string }
export class Animal implements Speaker {
  constructor(readonly name: string) {}
  speak(): string { return this.name }
}
export class Dog extends Animal {
  speak(): string { return super.speak() }
}
export function twice(value: string): string;
export function twice(value: number): number;
export function twice(value: any): any { return value + value }
const table = { say: (speaker: Speaker) => speaker.speak(), twice };
table.twice("a");
class Ghost extends Missing {}
export const loud = (speaker: Speaker) => speaker.speak().toUpperCase();
""",
    "src/index.ts": 'export { Dog as Hound, loud, twice } from "./animals";\n',
    "main.ts": """
import { Hound, loud as shout } from "./src";
import * as all from "./src";
import { missing } from "nowhere";
const rex = new Hound("rex");
shout(rex); all.twice(2);
missing();
function apply(callback: () => void) { callback() }
apply(() => rex.speak());
""",
    "node_modules/other/index.ts": "export function other() { other() }\n",
}

SERVER = """
import json, sys

def receive():
    length = 0
    while header := sys.stdin.buffer.readline().strip():
        length = int(header.partition(b":")[2])
    return json.loads(sys.stdin.buffer.read(length)) if length else None

def send(**message):
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    sys.stdout.buffer.write(b"Content-Length: %d\\r\\n\\r\\n" % len(body) + body)
    sys.stdout.buffer.flush()

uri = None
while (message := receive()) and message["method"] != "exit":
    if message["method"] == "textDocument/didOpen":
        uri = message["params"]["textDocument"]["uri"]
    elif message["method"] == "textDocument/definition":
        send(id=7, method="workspace/configuration", params={"items": [{"section": "a"}, {"section": "b"}]})
        settings = receive()["result"]
        line = message["params"]["position"]["line"]
        if line == 1:
            send(id=message["id"], error={"code": 1, "message": "no such line"})
        elif line == 2:
            break
        else:
            start = {"line": settings[0]["line"], "character": 3}
            send(id=message["id"], result=[{"uri": uri, "range": {"start": start}}] if settings[1] == {} else None)
    elif "id" in message:
        send(id=message["id"], result=None)
"""


def write(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    """Return a folder with a graph of one right and one wrong edge, and a compiler's answers."""
    names = ("id", "kind", "name", "qualified_name", "path", "start_line", "end_line")
    rows = [(0, "file", "a.ts", "a.ts", "a.ts", 1, 9), (1, "function", "f", "f", "a.ts", 1, 2)]
    nodes = [dict(zip(names, row, strict=True)) for row in [*rows, (2, "function", "g", "g", "a.ts", 3, 4)]]
    edge = {"relation": "calls", "source": 0, "resolver": "scope", "confidence": 0.9}
    edges = [{**edge, "target": 1, "line": line} for line in (6, 7)]
    nodes.append({**nodes[0], "id": 3, "path": "b.js"})  # a file that the compiler was not asked about
    edges.append({**edge, "source": 3, "target": 1, "line": 1})
    (tmp_path / "graph.json").write_text(json.dumps({"format": 1, "nodes": nodes, "edges": edges}), encoding="utf-8")
    f, g = (CallTarget(DeclarationSite("a.ts", line, name), "call") for line, name in ((1, "f"), (3, "g")))
    GroundTruth(
        "typescript 5", [CallSite("a.ts", 6, "f", (f,)), CallSite("a.ts", 7, "g", (g,))], [], {}, ("a.ts",)
    ).save(tmp_path / "calls.json")
    return tmp_path


def test_kept_answers_are_measured_without_the_tools(kept: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["typescript", str(kept), "--keep", str(kept), "--graph", str(kept / "graph.json"), "--examples", "5"]
    assert main([*arguments, "--json"]) == 0
    figures = json.loads(capsys.readouterr().out)
    assert (figures["precision"]["calls"]["part"], figures["precision"]["calls"]["total"]) == (1, 2)
    assert (figures["recall"]["calls"]["part"], figures["recall"]["calls"]["total"]) == (1, 2)
    assert figures["wrong"] == ["a.ts:7 -> a.ts:1 f (scope)"]
    assert main(arguments) == 0
    assert "calls by scope  0.500 (0.095 to 0.905)  1/2" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["python", "."], "--python: missing"),
        (["typescript", "."], "--tools: missing"),
        (["typescript", ".", "--tools", "."], "install it with `npm install --prefix . typescript@5`"),
        (["python", "nowhere"], "nowhere: not a folder"),
        (["python", ".", "--graph", "nowhere.json"], "nowhere.json: No such file"),
    ],
)
def test_what_is_missing_is_named(
    arguments: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 1
    output = capsys.readouterr()
    assert message in output.err
    assert output.out == ""


@pytest.mark.parametrize("content", ['{"format": 0}', '{"format": 1, "sites": []}'])
def test_kept_answers_of_another_format_are_an_error(
    content: str, kept: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (kept / "calls.json").write_text(content, encoding="utf-8")
    assert main(["typescript", str(kept), "--keep", str(kept)]) == 1
    assert "delete it to record it again" in capsys.readouterr().err


@pytest.mark.skipif(not TOOLS or not shutil.which("node"), reason="needs node, and GRAPH_EVAL_TOOLS with typescript")
def test_compiler_lists_calls_with_their_declarations(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    repository = write(tmp_path / "repository", SOURCES)
    arguments = ["typescript", str(repository), "--tools", TOOLS, "--keep", str(tmp_path / "kept")]
    assert main(arguments) == 0, capsys.readouterr().err
    truth = GroundTruth.load(tmp_path / "kept" / "calls.json")
    found = {
        (site.path, site.line, site.name): sorted(
            {(target.kind, target.place.name, target.place.line) for target in site.targets}
        )
        for site in truth.sites
    }
    assert found == {
        ("src/animals.ts", 8, "speak"): [("call", "speak", 5)],
        ("src/animals.ts", 13, "speak"): [("call", "speak", 2)],
        ("src/animals.ts", 14, "twice"): [("call", "twice", 10)],
        ("src/animals.ts", 16, "speak"): [("call", "speak", 2)],
        ("src/animals.ts", 16, "toUpperCase"): [],
        ("main.ts", 5, "Hound"): [("new", "Dog", 7)],
        ("main.ts", 6, "shout"): [("call", "loud", 16)],
        ("main.ts", 6, "twice"): [("call", "twice", 10)],
        ("main.ts", 7, "missing"): [],
        ("main.ts", 8, "callback"): [],
        ("main.ts", 9, "apply"): [("call", "apply", 8)],
        ("main.ts", 9, "speak"): [("call", "speak", 8)],
    }
    outside = {site.name for site in truth.sites if site.outside}
    held = {site.name for site in truth.sites if site.held}
    assert (outside, held) == ({"toUpperCase"}, {"callback"})  # the compiler cannot know what `missing` is
    (twice,) = [
        target for site in truth.sites for target in site.targets if (site.path, site.name) == ("main.ts", "twice")
    ]
    assert {place.line for place in twice.also} == {11, 12}
    assert "Ghost" not in {row.declaration.name for row in truth.hierarchy}
    assert set(truth.files) == {"main.ts", "src/animals.ts", "src/index.ts"}
    animal, dog = DeclarationSite("src/animals.ts", 3, "Animal"), DeclarationSite("src/animals.ts", 7, "Dog")
    assert ClassBases(dog, (animal,)) in truth.hierarchy
    assert ClassBases(animal, (DeclarationSite("src/animals.ts", 2, "Speaker"),)) in truth.hierarchy


@pytest.fixture
def server(tmp_path: Path) -> list[str]:
    write(tmp_path, {"server.py": SERVER, "a.py": "f()\n"})
    return [sys.executable, str(tmp_path / "server.py")]


def test_language_server_is_asked_and_answered(server: list[str], tmp_path: Path) -> None:
    with LanguageServer(server, tmp_path, "python", {"a": {"line": 4}}) as client:
        assert client.find_definitions("a.py", 1, 0) == [((tmp_path / "a.py").resolve(), 5, 3)]


def test_error_of_a_language_server_says_what_it_said(server: list[str], tmp_path: Path) -> None:
    with (
        pytest.raises(EvaluationError, match="textDocument/definition: no such line"),
        LanguageServer(server, tmp_path, "python") as client,
    ):
        client.find_definitions("a.py", 2, 0)


def test_language_server_that_ends_is_an_error(server: list[str], tmp_path: Path) -> None:
    with (
        pytest.raises(EvaluationError, match="exited with status 0"),
        LanguageServer(server, tmp_path, "python", {"a": {"line": 4}}) as client,
    ):
        client.find_definitions("a.py", 3, 0)


def test_missing_language_server_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(EvaluationError, match="nowhere: No such file"):
        LanguageServer([str(tmp_path / "nowhere")], tmp_path, "python")


def test_edges_in_files_of_other_languages_are_not_judged(kept: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["python", str(kept), "--keep", str(kept), "--graph", str(kept / "graph.json")]
    assert main([*arguments, "--python", sys.executable, "--tools", str(kept), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["precision"]["calls"]["total"] == 0
