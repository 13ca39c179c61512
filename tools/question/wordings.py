"""Labelled wordings: reading, masking of their subjects, and groups that share a skeleton."""

import itertools
import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import numpy as np
import scipy.sparse as sp

from coderag.question.wording import Token, read_tokens
from coderag.schema.vocabulary import HumanLanguage

FOLDER = Path(__file__).parent / "wordings"
TEST_FOLDER = FOLDER / "test"
"""Families for the final test: neither their wordings nor their mistakes are looked at before it."""

_SUBJECT = re.compile(r"\[\[(.+?)\]\]")
_MIN_SIMILARITY = 0.75  # Jaccard similarity of two skeletons that count as the same wording
_NAMELIKE = frozenset({"<name>", "<acronym>", "<path>", "<quote>", "<option>"})
_IGNORED_SIGNS = frozenset("?!,:;")


@dataclass(frozen=True)
class Wording:
    """A labelled question; ``text`` has its subjects in double brackets."""

    text: str
    kind: str
    relation: str
    direction: str
    form: str
    family: str
    language: str

    @property
    def question(self) -> str:
        """The question as it is asked."""
        return _SUBJECT.sub(r"\1", self.text)

    def read_tokens(self) -> list[Token]:
        """Return its tokens as it is asked."""
        return read_tokens(self.question, _get_language(self.language))

    def read_masked(self) -> list[Token]:
        """Return its tokens with the subjects of one word masked, as where the index has them."""
        return self._replace_subjects(lambda subject: _mask_name(subject, _get_language(self.language)))

    def _replace_subjects(self, mask: Callable[[str], list[Token]]) -> list[Token]:
        subjects = (match[1] for match in _SUBJECT.finditer(self.text))
        masks = iter([mask(subject) for subject in subjects])
        parts = (read_tokens(part, _get_language(self.language)) for part in re.split(r"\[\[.+?\]\]", self.text))
        tokens: list[Token] = []
        for number, part in enumerate(parts):
            tokens += [*next(masks), *part] if number else part
        return tokens

    def read_skeleton(self) -> list[str]:
        """Return its words with one mask for all names."""
        texts = ("<name>" if token.text in _NAMELIKE else token.text for token in self._replace_subjects(_mask_subject))
        return [part for text in texts if text not in _IGNORED_SIGNS for part in _split_signs(text)]


def _get_language(language: str) -> HumanLanguage:
    return cast("HumanLanguage", language)


def _mask_subject(subject: str) -> list[Token]:
    tokens = read_tokens(subject)
    mask = tokens[0].text if len(tokens) == 1 and tokens[0].is_mask else "<name>"
    return [Token(mask, subject, 0)]


def _mask_name(subject: str, language: HumanLanguage) -> list[Token]:
    tokens = read_tokens(subject, language)
    return _mask_subject(subject) if len(tokens) == 1 else tokens


def _split_signs(text: str) -> list[str]:
    return list(text) if Token(text, text, 0).is_cjk else [text]


def load_wordings(folder: Path = FOLDER) -> list[Wording]:
    """Load all wordings of a folder."""
    return list(_iterate_wordings(folder))


def _iterate_wordings(folder: Path) -> Iterator[Wording]:
    for path in sorted(folder.glob("*.jsonl")):
        for line in path.read_text("utf-8").splitlines():
            fields = json.loads(line)
            direction = fields["direction"]
            yield Wording(
                fields["text"],
                fields["intent"],
                fields["relation"],
                direction,
                fields["form"],
                fields["family"],
                path.stem,
            )


def group_wordings(wordings: Sequence[Wording]) -> list[int]:
    """Return the number of each wording's group: those of a family, and those whose skeletons are nearly the same."""
    parents = list(range(len(wordings)))

    def find(position: int) -> int:
        while parents[position] != position:
            parents[position] = parents[parents[position]]
            position = parents[position]
        return position

    families: dict[tuple[str, str], int] = {}
    for position, wording in enumerate(wordings):
        first = families.setdefault((wording.language, wording.family), position)
        parents[find(position)] = find(first)
    for language in sorted({wording.language for wording in wordings}):
        positions = [at for at, wording in enumerate(wordings) if wording.language == language]
        for first, second in _find_similar([wordings[at].read_skeleton() for at in positions]):
            parents[find(positions[first])] = find(positions[second])
    return [find(position) for position in range(len(wordings))]


def _find_similar(skeletons: Sequence[Sequence[str]]) -> Iterator[tuple[int, int]]:
    """Yield the pairs of skeletons that share most of their words and pairs of words."""
    columns: dict[object, int] = {}
    indices: list[int] = []
    ends = [0]
    for words in skeletons:
        parts = {*words, *itertools.pairwise(words), ("^", *words[:1])}
        indices += [columns.setdefault(part, len(columns)) for part in parts]
        ends.append(len(indices))
    matrix = sp.csr_matrix((np.ones(len(indices), np.float32), indices, ends), shape=(len(skeletons), len(columns)))
    sizes = np.diff(matrix.indptr)
    shared = (matrix @ matrix.T).tocoo()
    similarity = shared.data / (sizes[shared.row] + sizes[shared.col] - shared.data)
    chosen = (similarity >= _MIN_SIMILARITY) & (shared.row < shared.col)
    yield from zip(shared.row[chosen].tolist(), shared.col[chosen].tolist(), strict=True)
