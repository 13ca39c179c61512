"""What a question says about where to look: a language ("in the Go code"), a role ("in the tests"). A preference, no filter.

Languages count here, roles in `coderag.retrieval.ranking.declaration_ranker`.
"""

import re

import numpy as np
from numpy.typing import NDArray

from coderag.schema.query import Analysis
from coderag.schema.vocabulary import Role
from coderag.stores.corpus import Corpus

FloatArray = NDArray[np.float32]

ELSEWHERE_FACTOR = 0.6
"""How far files step back that are not where the question says."""

TRANSLATION_FACTOR = 0.3
"""The same of translations of a document: there are often twenty of each, all with the words of the code."""

_LANGUAGES = {
    "python": "python", "typescript": "typescript", "javascript": "javascript", "golang": "go", "rust": "rust",
    "java": "java", "kotlin": "kotlin", "scala": "scala", "c#": "c_sharp", "csharp": "c_sharp", "c++": "cpp", "cpp": "cpp",
    "php": "php", "elixir": "elixir", "haskell": "haskell", "lua": "lua", "bash": "shell", "sql": "sql",
    "terraform": "terraform", "go": "go", "ruby": "ruby", "swift": "swift", "zig": "zig", "c": "c",
}  # fmt: skip
_NAMED = "|".join(re.escape(name) for name in sorted(_LANGUAGES, key=len, reverse=True))
_CODE = r"(?:code|files?|sources?|side|parts?|implementation|version|scripts?|bindings?|client|backend|frontend|module)"
_IN_LANGUAGE = re.compile(rf"\b(?:in|of|from|within)\s+(?:the\s+|our\s+)?({_NAMED})\s+{_CODE}\b", re.IGNORECASE)

_ROLE_WORDS: tuple[tuple[Role, str], ...] = (
    ("test", r"(?:unit\s+|integration\s+)?tests?(?:\s+(?:code|suite|files?|cases?))?"),
    ("example", r"(?:examples?|demos?|samples?)(?:\s+(?:code|files?|folder))?"),
    ("config", r"(?:config|configuration|build)\s+files?"),
    ("docs", r"(?:docs|documentation)(?:\s+(?:folder|files?|pages?))?"),
)
_ASKED_FOR: dict[Role, str] = {
    "test": (
        r"\b(?:is|are)\s+there\s+(?:(?:a|an|any|some)\s+)?(?:\w+\s+)?tests?\b"
        r"|^\s*(?:(?:unit|integration)\s+)?tests?(?:\s*:|\s+(?:that|which)\b)"
    ),
    "docs": (
        r"^\s*(?:guide|docs?|documentation|manual|tutorial)\s*:"
        r"|\b(?:is|are)\s+(?:this|that|it|they|these)\s+documented\b"
    ),
}
"""Ways to ask for files of a role without saying "in"."""

_ROLES = tuple(
    (
        role,
        re.compile(
            rf"\b(?:in|among|within|from)\s+(?:the\s+|our\s+|all\s+)?{words}\b|{_ASKED_FOR.get(role, '(?!)')}",
            re.IGNORECASE,
        ),
    )
    for role, words in _ROLE_WORDS
)

_FOREIGN = re.compile(
    r"\b(?:wie|wird|werden|nicht|ich|der|das|und|como|donde|cual|para|una|los|est|les|des|dans|pour|quel\w*|avec|che|sono|"
    r"dove|della|hoe|wat|waar|het|een|jak|gdzie|nasil|nerede|onde|qual|uma|hvordan|hvor|bagaimana|dimana|yang)\b",
    re.IGNORECASE,
)


def find_languages(question: str) -> list[str]:
    """Return the languages whose code a question asks for, in their order."""
    return list(dict.fromkeys(_LANGUAGES[match[1].lower()] for match in _IN_LANGUAGE.finditer(question)))


def find_roles(question: str) -> list[str]:
    """Return the roles of the files that a question asks for."""
    return [role for role, pattern in _ROLES if pattern.search(question)]


def hint_factors(corpus: Corpus, analysis: Analysis) -> FloatArray:
    """Return what each file's score is multiplied with: 1 in the languages that the question names; (n_files,).

    Translations of a document step back behind it, unless the question is in another language than English or names a path.
    """
    factors = np.ones(corpus.n_files, np.float32)
    is_english = analysis["human_language"] == "en" and not _is_foreign(analysis["question"])
    if is_english and not any(one["kind"] == "path" for one in analysis["entities"]):
        factors[corpus.translated_files] *= TRANSLATION_FACTOR
    if analysis["languages"]:
        languages = corpus.get_column("language")
        wanted = [languages[start] in analysis["languages"] for start in corpus.file_starts]
        factors[~np.asarray(wanted)] *= ELSEWHERE_FACTOR if any(wanted) else 1.0
    return factors


def _is_foreign(question: str) -> bool:
    """Whether a question has letters or small words that English has not."""
    return any(not sign.isascii() and sign.isalpha() for sign in question) or bool(_FOREIGN.search(question))
