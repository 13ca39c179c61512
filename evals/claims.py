"""Faithfulness of answers: judge by words or by a language model whether the cited lines support each claim."""

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from coderag.config.settings import Settings
from coderag.models.llms.providers import make_language_model
from coderag.models.protocols import LanguageModel
from coderag.prompting import load_prompt
from coderag.schema.answers import Answer
from coderag.schema.prompts import ModelPrompt
from coderag.text.tokenizer import expand_token, extract_content_words, tokenize_text

from .answer_evidence import collect_evidence
from .repository import Repository
from .runs import AnswerCheck

_FENCE = re.compile(r"^[ \t>]*(`{3,}|~{3,}).*?(?:^[ \t>]*\1[^\n]*$|\Z)", re.DOTALL | re.MULTILINE)
_BREAK = re.compile(r"\n[ \t]*(?:\n|(?=[-*+] |\d+[.)] |#|>|\|))|(?<=[.!?])\s+(?=[A-Z`*\[(])")
_CITATION = re.compile(r"\s*(?:`?[\w./\\-]+:\d+(?:-\d+)?`?|\[\d{1,3}\])")
_CODE = re.compile(r"`([^`\n]+)`")
_MIN_CLAIM_WORDS = 3  # content words; less is a heading or a bare list entry
_MIN_SUPPORTED_SHARE = 0.6
"""Share of a claim's words that the evidence must have. The rest are the answer's own connecting words."""

_VERDICT = re.compile(r"^\W*(\d{1,3})\W+(yes|no)\b", re.IGNORECASE | re.MULTILINE)


class Judge(Protocol):
    """Judge of which claims the evidence supports."""

    name: str

    def judge_claims(self, claims: Sequence[str], evidence: str) -> list[bool]:
        """Return a verdict for each claim."""
        ...


def extract_claims(answer: Answer) -> list[str]:
    """Extract the claims that an answer shows; without a list of claims, its sentences and list entries.

    Code, citations and fragments that are too short to judge are left out.
    """
    visible = [claim.text for claim in answer.claims if claim.shown]
    parts = map(_strip_code, visible) if answer.claims else _BREAK.split(_strip_code(answer.text))
    cleaned = (" ".join(_CITATION.sub("", part).split()).strip("#>*-|— ") for part in parts)
    return [part for part in cleaned if len(extract_content_words(part)) >= _MIN_CLAIM_WORDS]


def _strip_code(text: str) -> str:
    return _FENCE.sub("\n\n", text)


class WordJudge:
    """Judge that supports a claim if the evidence has all its code names and most of its other words."""

    name = "words"

    def judge_claims(self, claims: Sequence[str], evidence: str) -> list[bool]:
        """Return a verdict for each claim."""
        known = frozenset(tokenize_text(evidence))
        return [_has_words(claim, known) for claim in claims]


class ModelJudge:
    """Judge that asks a language model. A claim without a verdict in the reply is not supported."""

    def __init__(self, model: LanguageModel) -> None:
        self.name = model.name
        self._model = model

    def judge_claims(self, claims: Sequence[str], evidence: str) -> list[bool]:
        """Return a verdict for each claim.

        Raises:
            ModelError: The model failed.
        """
        numbered = "\n".join(f"{number}. {claim}" for number, claim in enumerate(claims, 1))
        prompt = load_prompt("judge_claims").render(claims=numbered, evidence=evidence)
        reply = asyncio.run(self._ask(prompt))
        verdicts = {int(match[1]): match[2].lower() == "yes" for match in _VERDICT.finditer(reply)}
        return [verdicts.get(number, False) for number in range(1, len(claims) + 1)]

    async def _ask(self, prompt: ModelPrompt) -> str:
        return (await self._model.complete(prompt)).text


def make_judge(settings: Settings) -> Judge:
    """Return the judge for a repository: the language model of its settings, else `WordJudge`.

    With ``privacy.obfuscate_paths`` it is always `WordJudge`, because the evidence holds real paths.
    """
    model = None if settings.privacy.obfuscate_paths else make_language_model(settings.llm)
    return ModelJudge(model) if model else WordJudge()


@dataclass(frozen=True, slots=True)
class AnswerChecker:
    """Checker of answers about one repository."""

    repository: Repository
    judge: Judge

    def check(self, answer: Answer) -> AnswerCheck:
        """Count the citations that hold and the claims that the evidence supports.

        Raises:
            ModelError: The judge is a model, and it failed.
        """
        claims = extract_claims(answer)
        supported = self.judge.judge_claims(claims, collect_evidence(answer, self.repository)) if claims else []
        return AnswerCheck(
            text=answer.text,
            verified=sum(citation.verified for citation in answer.citations),
            citations=len(answer.citations),
            supported=sum(supported),
            claims=len(claims),
            judge=self.judge.name,
            generator=answer.generator,
        )


def _has_words(claim: str, known: frozenset[str]) -> bool:
    names = [term for code in _CODE.findall(claim) for term in tokenize_text(code)]
    words = [expand_token(raw)[-1:] for raw in extract_content_words(claim)]
    terms = [word[0] for word in words if word]
    shared = sum(word in known for word in terms)
    return all(name in known for name in names) and shared >= _MIN_SUPPORTED_SHARE * len(terms)
