"""Worlds of a team server: repositories, of which a caller may see some, and every request that they can send."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from coderag import CodeRAG
from coderag.server.access.catalogue import get_checkout
from coderag.server.access.roles import Level
from coderag.server.access.visible_workspace import VisibleRepository
from tests.support.corpora import write_files
from tests.support.mirrors import PAGES, SOURCES, TICKETS, mirror_items

WORDS = ("invoice", "ledger", "beacon", "harbour", "quorum", "sextant")
"""A word for each repository, which its code has often and all others mention once."""

IDS = tuple(f"{number:032x}" for number in range(len(WORDS)))
QUESTIONS = (
    "where is the {word} settled?",
    "settle_{word}",
    "who calls settle_{word}",
    "how does the {word} flow from load_{word} to settle_{word}?",
    "what is the default of MAX_{upper}",
    "which ticket is about totals that are a cent too low?",
    "why was settle_{word} changed?",
)


def build_repositories(folder: Path, count: int = len(WORDS)) -> None:
    """Index a repository for each word; they share names and words, so that statistics would mix."""
    for number, word in enumerate(WORDS[:count]):
        root = get_checkout(folder, IDS[number])
        write_files(root, _write_code(word, rounds=number % 3 + 1))
        with CodeRAG(root, sources=SOURCES) as rag:
            rag.index()
        mirror_items(root, "wiki", PAGES)
        mirror_items(root, "tracker", TICKETS)


def _write_code(word: str, rounds: int) -> dict[str, str]:
    others = " ".join(other for other in WORDS if other != word)
    files = {
        f"{word}/core.py": (
            f'MAX_{word.upper()} = {rounds}\n\n\ndef load_{word}(path):\n    """Load a {word} from a file."""\n'
            f"    return open(path).read()\n\n\ndef settle_{word}(path):\n"
            f'    """Settle the {word}; unlike {others}."""\n    return load_{word}(path)[:MAX_{word.upper()}]\n'
        ),
        f"tests/test_{word}.py": f"from {word}.core import settle_{word}\n\n\ndef test_it():\n    settle_{word}('x')\n",
        "README.md": f"# {word.title()}\n\nSettles each {word}. See `settle_{word}`.\n",
    }
    for number in range(rounds):
        files[f"{word}/part{number}.py"] = (
            f"from {word}.core import settle_{word}\n\n\nclass {word.title()}Part{number}:\n"
            f'    """Part {number} of the {word}."""\n\n    def run(self, path):\n        return settle_{word}(path)\n'
        )
    return files


@dataclass(frozen=True)
class World:
    """Who sees what.

    Attributes:
        levels: Level of the caller on each repository, by its number.
        hidden: Numbers of repositories that exist and that the caller may not see.
        sources: Names of the sources that the caller may see.
    """

    levels: dict[int, Level]
    hidden: tuple[int, ...]
    sources: tuple[str, ...] = ()
    names: dict[int, str] = field(default_factory=dict)

    def get_name(self, number: int) -> str:
        """Return the name of a repository."""
        return self.names.get(number, WORDS[number])

    def list_visible(self, folder: Path) -> list[VisibleRepository]:
        """List what the caller may see."""
        kinds = {"wiki": "documentation", "tracker": "backlog"}
        return [
            VisibleRepository(
                IDS[number],
                self.get_name(number),
                get_checkout(folder, IDS[number]),
                level,
                is_indexed=True,
                source_kinds={name: kinds[name] for name in self.sources},
            )
            for number, level in self.levels.items()
        ]


@dataclass(frozen=True)
class Sent:
    """A request of a caller; `route` is its name in the table of actions."""

    route: str
    method: str
    path: str
    body: Any = None


def list_requests(world: World, folder: Path, question: str, chosen: int) -> Iterator[Sent]:
    """Yield a request for every route, about a repository that may be visible or hidden, by its name or folder.

    Args:
        world: The world.
        folder: Folder of the repositories.
        question: One of `QUESTIONS`.
        chosen: Number of the repository that is asked about.
    """
    word = WORDS[chosen]
    asked = question.format(word=word, upper=word.upper())
    yield from _list_requests(world.get_name(chosen), word, asked)
    by_folder = _list_requests(str(get_checkout(folder, IDS[chosen])), word, asked)
    yield from (sent for sent in by_folder if sent.route in ("POST /search", "GET /status", "POST /repositories"))
    names = [world.get_name(number) for number in (*world.levels, *world.hidden)]
    yield Sent("POST /search", "POST", "/search", {"repositories": names, "query": f"settle_{word}"})


def _list_requests(root: str, word: str, question: str) -> Iterator[Sent]:
    name, path, place = f"settle_{word}", f"{word}/core.py", f"{word}/core.py:1-5"
    asked = {"root": root, "query": question}
    named = {"root": root, "name": name}
    at = f"?root={root}"
    for route, body in (
        ("/ask", asked),
        ("/search", asked),
        ("/search/preview", asked),
        ("/search/text", {"root": root, "text": word}),
        ("/explain", asked),
        ("/context", {**asked, "session": "work"}),
        ("/read", {"root": root, "places": [place]}),
        ("/definition", named),
        ("/chunks", {"root": root}),
        ("/changes", {"root": root, "patch": _PATCH.format(word=word, upper=word.upper())}),
        ("/experiment", {**asked, "variants": [{"weights": {}}]}),
        ("/graph/path", {"root": root, "start": name, "end": f"load_{word}"}),
        ("/graph/cycles", {"root": root}),
        ("/graph/hotspots", {"root": root}),
        ("/graph/outline", {"root": root, "path": path}),
        ("/graph/mentions", named),
        ("/graph/unused", {"root": root}),
        ("/graph/view/overview", {"root": root}),
        ("/graph/view/neighbourhood", named),
        ("/graph/view/arrangement", {"root": root, "nodes": []}),
        ("/graph/view/node", {"root": root, "key": path}),
        ("/graph/view/suggestions", {"root": root, "text": word[:3]}),
        ("/graph/view/mermaid", {"root": root, "nodes": []}),
        ("/projection/points", {"root": root, "generation": "1-0", "points": [0]}),
        ("/projection/similarity", {**asked, "generation": "1-0"}),
        ("/projection/marks", {**asked, "generation": "1-0"}),
        ("/repositories", {"root": root}),
        ("/chat", {"root": root, "text": question, "thread": "t1"}),
        ("/feedback", {**asked, "verdict": "unanswerable"}),
        ("/index", {"root": root}),
    ):
        yield Sent(f"POST {route}", "POST", route, body)
    yield Sent("POST /graph/{question}", "POST", "/graph/callers", named)
    for route, address in (
        ("/repositories", "/repositories"),
        ("/tree", f"/tree{at}"),
        ("/files", f"/files{at}&query={word}"),
        ("/file", f"/file{at}&path={path}"),
        ("/file/links", f"/file/links{at}&path={path}"),
        ("/symbols", f"/symbols{at}&query={word}"),
        ("/declaration", f"/declaration{at}&name={name}"),
        ("/freshness", f"/freshness{at}"),
        ("/freshness/events", f"/freshness/events{at}"),
        ("/history", f"/history{at}&subject={path}"),
        ("/history/blame", f"/history/blame{at}&path={path}"),
        ("/history/authors", f"/history/authors{at}&subject={path}"),
        ("/history/co-changes", f"/history/co-changes{at}&subject={path}"),
        ("/history/commit", f"/history/commit{at}&revision=HEAD"),
        ("/jobs", f"/jobs{at}"),
        ("/jobs/{job_id}", "/jobs/unknown"),
        ("/jobs/{job_id}/events", "/jobs/unknown/events"),
        ("/items", f"/items{at}&q={word}+totals"),
        ("/items/{id:path}", f"/items/SHOP-45{at}"),
        ("/search/options", f"/search/options{at}"),
        ("/projection", f"/projection{at}"),
        ("/projection/points", f"/projection/points{at}&generation=1-0&part=x"),
        ("/status", f"/status{at}"),
        ("/statistics", f"/statistics{at}"),
        ("/coverage", f"/coverage{at}"),
        ("/settings", f"/settings{at}"),
        ("/chat", f"/chat{at}"),
        ("/chat/{thread}", f"/chat/t1{at}"),
        ("/chat/{thread}/export", f"/chat/t1/export{at}"),
        ("/feedback", f"/feedback{at}"),
        ("/feedback/export", f"/feedback/export{at}"),
    ):
        yield Sent(f"GET {route}", "GET", address)
    for route, address in (
        ("/sessions/{session}", f"/sessions/work{at}"),
        ("/chat/{thread}", f"/chat/t1{at}"),
        ("/feedback/{case}", f"/feedback/none{at}"),
        ("/jobs/{job_id}", "/jobs/unknown"),
    ):
        yield Sent(f"DELETE {route}", "DELETE", address)


_PATCH = """\
--- a/{word}/core.py
+++ b/{word}/core.py
@@ -1,1 +1,1 @@
-MAX_{upper} = 1
+MAX_{upper} = 2
"""


def list_tool_calls(world: World, question: str, chosen: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield a call of every tool about a repository that may be visible or hidden."""
    word, repository = WORDS[chosen], world.get_name(chosen)
    asked = question.format(word=word, upper=word.upper())
    yield "coderag_search", {"query": asked, "repository": repository}
    yield "coderag_search", {"query": asked}
    yield "coderag_context", {"query": asked, "repository": repository}
    yield "coderag_explain", {"name": f"settle_{word}", "repository": repository}
    yield "coderag_symbol", {"name": f"settle_{word}", "repository": repository}
    yield "coderag_diff", {"repository": repository}
    yield "coderag_history", {"target": f"{word}/core.py", "repository": repository}
    yield "coderag_docs", {"query": asked, "repository": repository}
    yield "coderag_backlog", {"query": "totals are a cent too low", "repository": repository}
    yield "coderag_status", {"repository": repository}
    yield "coderag_status", {}
    yield "coderag_index", {"repository": repository}
