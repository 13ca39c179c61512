"""References of commit messages: tickets, pull requests, commits and trailers. All of them rest on the text alone."""

import re
from typing import Final, NamedTuple

from coderag.schema.lineage import CommitReference, ReferencePlace, ReferenceTarget
from coderag.text.references import STANDARD_PREFIXES

_RELATIONS: Final = (
    r"fix(?:e[sd])?|close[sd]?|resolve[sd]?|implement(?:s|ed)?|ref(?:s|erences)?|see(?:\s+also)?|part\s+of|relates?\s+to"
    r"|reverts?|reverted|reviewed-on|issue|ticket|bug|closes|change-id"
)
_PULL_WORDS: Final = r"(?:pull\s+request|merge\s+request|pr|mr)"
_REFERENCE: Final = re.compile(
    rf"""(?P<url>https?://[^\s<>()\[\]"'`]+)
    | (?P<pull>\b{_PULL_WORDS}\s*:?\s*[#!]?(?P<pull_number>\d{{1,9}})\b)
    | (?<![\w/&#-])(?P<repository>[A-Za-z0-9][\w.-]{{0,99}}/[\w.-]{{0,99}}\w)?(?P<mark>[#!])(?P<number>\d{{1,9}})\b(?![-\w])
    | \bGH-(?P<gh>\d{{1,9}})\b
    | (?<![A-Za-z0-9_/-])(?P<ticket>[A-Z][A-Z0-9]{{1,14}}-(?:[1-9]\d{{0,8}}))\b(?![-\w])
    | \b(?:revert(?:s|ed)?|commit|cherry[ ]picked[ ]from[ ]commit|backports?|amends|fix(?:e[sd])?:?)[ ]
      (?:commit[ ])?(?P<commit>[0-9a-f]{{7,64}})\b""",
    re.VERBOSE | re.IGNORECASE,
)
_UPPER_KEY: Final = re.compile(r"[A-Z][A-Z0-9]+-\d+")
_ISSUE_URL: Final = re.compile(
    r"""https?://[^/\s]+(?:/[\w.~%+-]+)*?(?:/-)?/
    (?P<kind>issues?|pull|pulls|pull-requests|pullrequest|merge_requests|commit|commits|browse|_workitems/edit|t)
    /(?P<id>[\w-]+)""",
    re.VERBOSE,
)
_RELATION_BEFORE: Final = re.compile(
    rf"\b(?P<word>{_RELATIONS})\b\s*:?\s*(?:(?:issues?|tickets?|bugs?)\s+)?[(\[]?$", re.IGNORECASE
)
_LIST_BEFORE: Final = re.compile(r"(?:,|\band\b|&)\s*$")
_TRAILER: Final = re.compile(r"^(?P<key>[A-Za-z][A-Za-z0-9-]{1,39}):[ \t]+(?P<value>\S.*)$")
_PULL_KINDS: Final = ("pull", "pulls", "pull-requests", "pullrequest", "merge_requests")
_SQUASHED: Final = re.compile(r"\(#(\d+)\)\s*$")
_MERGED_PULL: Final = re.compile(r"^Merge(?:d)? (?:pull request|PR|branch .* \(pull request) [#!](\d+)", re.IGNORECASE)
_CO_AUTHOR: Final = re.compile(
    r"^co-authored-by:[ \t]*(?P<name>[^<\n]*?)[ \t]*(?:<[^>\n]*>)?[ \t]*$", re.IGNORECASE | re.MULTILINE
)


class _Line(NamedTuple):
    text: str
    place: ReferencePlace
    relation: str


def find_references(subject: str, body: str) -> tuple[CommitReference, ...]:
    """Find the references of a commit message, each once, in order of position.

    ``#12`` is a ticket unless the text says that it is a pull request: by a word, a URL, GitLab's ``!12``, GitHub's
    ``Merge pull request #12``, or GitHub's ``(#12)`` at the end of a squashed commit's subject.
    """
    references: dict[tuple[str, str], CommitReference] = {}
    pulls = {match[1] for pattern in (_SQUASHED, _MERGED_PULL) if (match := pattern.search(subject))}
    for line in _list_lines(subject, body):
        previous_relation, previous_end = "", -1
        for match in _REFERENCE.finditer(line.text):
            parsed = _parse(match, line, pulls)
            if parsed is None:
                continue
            kind, text = parsed
            before = line.text[: match.start()]
            word = _RELATION_BEFORE.search(before)
            relation = _read_relation(match) or (" ".join(word["word"].lower().split()) if word else "")
            if (
                not relation
                and previous_end >= 0
                and _LIST_BEFORE.fullmatch(line.text[previous_end : match.start()].strip())
            ):
                relation = previous_relation
            relation = relation or line.relation
            references.setdefault((kind, text), CommitReference(kind, text, line.place, relation))
            previous_relation, previous_end = relation, match.end()
    return tuple(references.values())


def find_co_authors(body: str) -> tuple[str, ...]:
    """Find the names in ``Co-authored-by`` trailers, each once."""
    if "o-authored-by" not in body.lower():
        return ()
    return tuple(dict.fromkeys(match["name"] for match in _CO_AUTHOR.finditer(body) if match["name"]))


def normalize_reference(text: str) -> str:
    """Return the canonical form of a reference as a reader writes it: ``proj-45`` is ``PROJ-45``, ``gh-12`` ``#12``."""
    text = text.strip()
    match = _REFERENCE.fullmatch(text)
    parsed = _parse(match, _Line(text, "body", ""), set()) if match is not None else None
    if parsed is not None:
        return parsed[1]
    return f"#{text}" if text.isdecimal() else text.upper() if re.fullmatch(r"[A-Za-z][A-Za-z0-9]*-\d+", text) else text


def _list_lines(subject: str, body: str) -> list[_Line]:
    lines = [_Line(subject, "subject", "")]
    if not body:
        return lines
    rows = body.rstrip().split("\n")
    first = len(rows)  # trailers are the last paragraph, if all of its lines are trailers or continue them
    while first > 0 and (
        _TRAILER.match(rows[first - 1]) or (rows[first - 1][:1] in (" ", "\t") and rows[first - 1].strip())
    ):
        first -= 1
    has_trailers = first < len(rows) and (first == 0 or not rows[first - 1].strip())
    for number, row in enumerate(rows):
        trailer = _TRAILER.match(row) if has_trailers and number >= first else None
        lines.append(_Line(row, "trailer", trailer["key"].lower()) if trailer else _Line(row, "body", ""))
    return lines


def _parse(match: re.Match[str], line: _Line, pulls: set[str]) -> tuple[ReferenceTarget, str] | None:
    if match["url"]:
        return _parse_url(match["url"])
    if match["pull"]:
        return "pull_request", f"#{match['pull_number']}"
    if match["number"]:
        number, repository = match["number"], match["repository"] or ""
        is_pull = match["mark"] == "!" or (line.place == "subject" and not repository and number in pulls)
        return "pull_request" if is_pull else "ticket", f"{repository}#{number}"
    if match["gh"]:
        return "ticket", f"#{match['gh']}"
    if match["ticket"]:
        key = match["ticket"]
        is_key = _UPPER_KEY.fullmatch(key) and key.partition("-")[0] not in STANDARD_PREFIXES
        return ("ticket", key) if is_key else None
    commit = match["commit"].lower()
    return ("commit", commit) if not commit.isdecimal() or len(commit) >= 40 else None


def _parse_url(url: str) -> tuple[ReferenceTarget, str] | None:
    match = _ISSUE_URL.match(url)
    if match is None:
        return None
    kind, name = match["kind"], match["id"]
    if kind in ("commit", "commits"):
        return ("commit", name.lower()) if re.fullmatch(r"[0-9a-fA-F]{7,64}", name) else None
    if kind in ("browse", "t") and not name.isdecimal():
        return ("ticket", name.upper()) if re.fullmatch(r"[A-Za-z][A-Za-z0-9]*-\d+", name) else None
    if not name.isdecimal():
        return None
    return "pull_request" if kind in _PULL_KINDS else "ticket", f"#{name}"


def _read_relation(match: re.Match[str]) -> str:
    """Return the word inside a reference to a commit, such as ``reverts``."""
    if not match["commit"]:
        return ""
    word = match[0].partition(" ")[0].rstrip(":").lower()
    return "" if word == "commit" else "reverts" if word.startswith("revert") else word
