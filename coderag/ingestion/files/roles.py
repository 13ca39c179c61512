"""Role of a file, judged by its path alone.

Directories take precedence, in the order of `_DIRECTORY_PATTERNS`: tests of vendored code are vendored. The file name
decides next, by the conventions of its language.
"""

import re
from functools import lru_cache

from coderag.schema.vocabulary import Role

_OUTSIDE_SOURCES = r"(?<!src/)"
_DIRECTORY_NAMES: tuple[tuple[Role, str], ...] = (
    (
        "vendored",
        r"(?i:_?vendor(?:s|ed)?|third[-_]?party|3rd-?party|node_modules|bower_components|externs?|site-packages"
        r"|godeps|pods|carthage|\.yarn)",
    ),
    ("generated", r"(?i:__generated__|generated|generated[-_](?:src|sources|code)|autogen|auto[-_]generated)"),
    (
        "test",
        r"(?i:tests?|__tests?__|specs?|test[-_]?data|test[-_]?utils|(?:__)?fixtures?(?:__)?|(?:__)?mocks?(?:__)?"
        r"|__snapshots__|e2e|cypress|[\w.-]+[-_.]tests|tests[-_][\w-]+"
        r"|(?:integration|unit|functional|acceptance|e2e)[-_]?test)"
        r"|\w*[a-z0-9]Tests?(?:Fixtures)?|testFixtures",  # commonTest, AlamofireTests
    ),
    (
        "example",
        r"(?i:_?examples?|samples?|demos?|tutorials?|quick-?starts?|bench(?:es|marks?)?|playgrounds?|showcases?"
        r"|docs_src)",
    ),
    ("docs", rf"{_OUTSIDE_SOURCES}(?i:_?docs?|documentation|website|wiki|man)"),
    ("config", r"\.(?:github|gitlab|circleci|vscode|idea|husky|devcontainer)"),
)
_DIRECTORY_PATTERNS = [(role, re.compile(rf"(?:^|/)(?:{names})(?:/|$)")) for role, names in _DIRECTORY_NAMES]

_PRODUCTION = re.compile(r"(?:^|/)src/main(?:/|$)")
"""Packages below it have arbitrary names (``com.example.demo``, ``org.springframework.test``); tests are elsewhere."""

_GENERATED_NAME = re.compile(
    r"_pb2(?:_grpc)?\.pyi?$|\.pb(?:\.gw|\.validate)?\.(?:go|cc|h|c|swift|dart)$|_pb\.(?:js|rb|d\.ts)$|_grpc\.pb\.\w+$"
    r"|^zz_generated\.|[._-]generated\.\w+$|_gen\.go$|\.gen\.\w+$|\.(?:g|freezed)\.dart$|\.(?:g|Designer)\.cs$|^moc_\w+\.cpp$"
)

_TEST_NAME = re.compile(
    # The prefix is a convention in few languages; elsewhere test_client.ts may be a shipped test client.
    r"^test_[^/]*\.(?:py|c|cc|cpp|cxx|rb|lua|dart|jl)$|^conftest\.py$|^tests\.(?:py|rs)$"
    r"|[_.-](?:test|tests|spec|e2e|cy)\.(?!(?:ya?ml|json|md|rst|txt|toml|xml)$)\w+$"
    r"|[a-z0-9](?:Tests?|Spec|Suite|TestCase)\.(?:java|kt|kts|scala|swift|cs|fs|php|groovy|hs|vb|mm?)$"
    r"|^Test[A-Z]\w*\.(?:java|kt|groovy)$|^Spec\.hs$|\.(?:bats|t|feature|snap)$"
)

_DOCS_NAME = re.compile(
    r"\.(?:md|mdx|markdown|rst|adoc|asciidoc|txt|tex|rdoc|pod|textile|org)$"
    r"|^(?:readme|changelog|changes|history|news|copying|notice|contributing|contributors|authors|security|maintainers)$"
    r"|^licen[cs]e(?:[-_.][\w.-]+)?$",  # with an extension, the other words are modules: history.lua, security.py
    re.IGNORECASE,
)

_CONFIG_NAME = re.compile(
    r"\.(?:ya?ml|toml|jsonc?|json5|ini|cfg|conf|config|properties|env|xml|plist|cmake|mk|mak|lock|gradle|(?:cs|fs|vb)proj|sln)$"
    r"|\.gradle\.kts$|\.config\.[cm]?[jt]s$|^\.[^/]+$|^(?:docker|container|make|gnumake|just|rake|gem|proc|vagrant|jenkins|pod|brew)file"
    r"(?:\.\w+)?$|^dockerfile(?:[.-][\w.-]+)?$|^cmakelists\.txt$|^(?:requirements|constraints)[\w.-]*\.(?:txt|in)$|^(?:build|workspace)(?:\.bazel)?$"
    r"|^(?:meson\.build|go\.mod|go\.work|manifest\.in|codeowners)$",
    re.IGNORECASE,
)


@lru_cache(1 << 14)
def classify_role(path: str) -> Role:
    """Classify the role of a file by its path, relative to the repository and separated by ``/``."""
    directory, _, name = path.rpartition("/")
    directory_role = _classify_directory(directory)
    if directory_role in ("vendored", "generated", "test"):
        return directory_role
    if _GENERATED_NAME.search(name):
        return "generated"
    if _TEST_NAME.search(name) and not _PRODUCTION.search(directory):
        return "test"
    return directory_role or _classify_name(name)


@lru_cache(1 << 14)
def _classify_directory(directory: str) -> Role | None:
    production = _PRODUCTION.search(directory)
    searched_part = directory[: production.start()] if production else directory
    return next((role for role, pattern in _DIRECTORY_PATTERNS if pattern.search(searched_part)), None)


def _classify_name(name: str) -> Role:
    if _CONFIG_NAME.search(name):
        return "config"
    return "docs" if _DOCS_NAME.search(name) else "source"
