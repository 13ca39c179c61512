"""Questions from what people wrote about code (commit messages, test names), and filters for poor ones."""

import re
from collections.abc import Collection, Iterable

from coderag.text.tokenizer import extract_content_words, split_identifier, tokenize_query, tokenize_text

MIN_WORDS = 3
_MAX_QUESTION_CHARS = 300  # characters
_MIN_SHARED_TERMS = 0.8  # Jaccard similarity from which two questions are duplicates

_PULL_REQUEST = re.compile(
    r"Merge (?:pull request|PR) #?\d+[^\n]*\n+|Merge branch '[^\n]*' into '?[^\n]*\n+|Merge commit from fork\n+"
)
_TRAILER = re.compile(
    r"^(?:[A-Z][\w-]+-by|Change-Id|See merge request|Reviewed-on|PR-URL|git-svn-id)\b.*$", re.MULTILINE
)
_PREFIX = re.compile(r"^(?:\[[^\]]{1,30}\]\s*|\w{1,12}(?:\([^)]*\))?!?:\s+|[A-Z]{2,}-\d+[:\s]+|#\d+[:\s]+|:\w+:\s*)+")
_NUMBER = re.compile(
    r"\s*[(\[]?(?:(?:close|fixe?|resolve|address)[sd]?|see|refs?|issues?|pr)?:?\s*(?:\w+/\w+)?#\d+[)\]]?", re.IGNORECASE
)
_REVERT = re.compile(r"(?:revert\b|this reverts commit|reland\b|back ?out\b)", re.IGNORECASE)
_CHORE = re.compile(
    r"""(?:bump|pin|unpin)\b
    | (?:update|upgrade)\b.*(?:\bto\s+v?\d|\bversions?\b|\bdep(?:endenc\w+|s)?\b|\brequirements?\b
      |\block\s?file|\bsubmodules?\b)
    | (?:chore|build|ci|style|release|deps|docs?|tests?)(?:\([^)]*\))?!?:
    | (?:release|prepare|version|v)\s*v?\d | (?:set|new)\s+version | .*\b(?:changelog|typos?|spelling)\b
    | .*\b(?:type\s+hints?|(?:type\s+)?annotations?|annotated\s+type|typing|docstrings?|noqa|mypy|pyright|pre-commit)\b
    | document(?:s|ed)?\b | (?:add|fix|update|improve)\s+(?:the\s+)?doc(?:s|umentation)?\b | drop\b.*\bpython\b
    | (?:re-?format|lint)\b | (?:run|apply)\s+(?:black|ruff|isort|prettier|gofmt|rustfmt|clang-format|pre-commit)\b
    | (?:re-?name|move|reorder|tidy)\b | .*\bclean[\s-]?ups?\b | .*\b(?:redundant|unused)\s+imports?\b
    | apply\s+suggestions | address\s+(?:review|comments) | fix\s+(?:lint|style|formatting|indent\w*|whitespace|flake8|mypy)\b
    | (?:wip|fixup!|squash!|tmp|initial\s+commit|first\s+commit|merge)(?!\w)""",
    re.IGNORECASE | re.VERBOSE,
)
_BOT = re.compile(
    r"\[bot\]|\b(?:dependabot|renovate|pre-commit-ci|greenkeeper|snyk|github-actions|weblate)\b", re.IGNORECASE
)
_TEST_NAME = re.compile(r"^(?i:tests?|should|it|spec)(?=_|[A-Z0-9])_*|(?<=[a-z])(?:_test|Test)$")


def extract_question(message: str, *, is_merge: bool) -> str:
    """Extract a question from a commit message: one line, without prefixes, trailers and issue numbers.

    It is the subject, with the first sentence of the body if the subject is short. For a pull request it is the title.

    Args:
        message: Subject and body.
        is_merge: Whether the commit is a merge; the result is empty for a merge without a title of its own.
    """
    if is_merge and message.startswith("Merge"):
        without = _PULL_REQUEST.sub("", message, count=1)
        message = "" if without == message else without
    subject, _, body = _TRAILER.sub("", message).strip().partition("\n")
    question = _clean_line(subject)
    if len(extract_content_words(question)) < MIN_WORDS + 1 and question:
        paragraph = body.strip().partition("\n\n")[0].replace("\n", " ")
        sentence = _clean_line(re.split(r"(?<=[.!?])\s", paragraph, maxsplit=1)[0])
        is_prose = sentence and sentence[0] not in "*-+" and len(sentence) < _MAX_QUESTION_CHARS
        question = f"{question}: {sentence}" if is_prose else question
    return question


def find_message_fault(message: str, author: str, question: str, *, is_merge: bool) -> str:
    """Return the reason why a commit message is no question; empty if it is one."""
    subject = question if is_merge else message.partition("\n")[0]
    if _BOT.search(author):
        return "by a bot"
    if _REVERT.match(subject):
        return "reverts another"
    if not question:
        return "merge without a title" if is_merge else "no message"
    if _CHORE.match(subject) or _CHORE.match(question):
        return "chore: version, format, rename, changelog"
    return find_length_fault(question)


def find_length_fault(question: str) -> str:
    """Return the reason why a text is too short or too long for a question; empty if it is neither."""
    if len(extract_content_words(question)) < MIN_WORDS:
        return "too few words"
    return "too long" if len(question) > _MAX_QUESTION_CHARS else ""


def extract_test_question(name: str, docstring: str) -> str:
    """Extract a question from a test: the first sentence of its docstring, else the words of its name."""
    sentence = re.split(r"(?<=[.!?])\s|\n\s*\n", docstring.strip(), maxsplit=1)[0]
    documented = _clean_line(" ".join(sentence.split()))
    if len(extract_content_words(documented)) >= MIN_WORDS and documented:
        return re.sub(r"^(?:tests?|checks?|ensures?|verif(?:y|ies)) (?:that )?", "", documented, flags=re.IGNORECASE)
    return " ".join(split_identifier(_TEST_NAME.sub("", name)))


def is_test_name(name: str) -> bool:
    """Return whether a function is named like a test."""
    return bool(_TEST_NAME.search(name))


def has_answer_name(question: str, names: Iterable[str], paths: Iterable[str]) -> bool:
    """Return whether a question contains the identifier of an answer, or the name of its file."""
    words = set(tokenize_text(question))
    raw = {word.casefold() for word in extract_content_words(question)}
    identifiers = [*names, *(path.rpartition("/")[2].partition(".")[0] for path in paths)]
    return any(name.casefold() in raw or _has_all_words(name, words) for name in identifiers if name)


def extract_terms(question: str) -> frozenset[str]:
    """Return the stemmed terms of a question, for comparison with others."""
    return frozenset(tokenize_query(question))


def is_alike(terms: frozenset[str], known: Collection[frozenset[str]]) -> bool:
    """Return whether a question has almost the same terms as a known one."""
    return any(len(terms & other) >= _MIN_SHARED_TERMS * len(terms | other) for other in known)


def _has_all_words(identifier: str, terms: Collection[str]) -> bool:
    """Return whether an identifier is a compound of words that are all among some terms."""
    parts = tokenize_text(" ".join(split_identifier(identifier)))
    return len(parts) > 1 and all(part in terms for part in parts)


def _clean_line(line: str) -> str:
    return _NUMBER.sub("", _PREFIX.sub("", line.strip())).strip().rstrip(".").strip()
