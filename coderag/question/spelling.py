"""Words of a question that are misspelt: read as the words of the repository that they are one slip away from."""

from collections.abc import Iterator
from itertools import pairwise

from coderag.models.providers import load_word_vectors
from coderag.schema.query import Analysis
from coderag.stores.corpus import Corpus
from coderag.text.tokenizer import expand_token, extract_content_words

_SHORTEST = 4  # letters of a word that may be misspelt: many short ones are one slip apart
_LONG = 8  # letters, from which on two slips are likelier than another word


def corrected(corpus: Corpus, analysis: Analysis) -> Analysis:
    """Return the analysis with the terms of words that the repository has not, but something spelt nearly so.

    A name that is not here (``GraphQL``) is no misspelling of another one (``graph``), nor is a word that other programs know:
    one in capitals, or in the vocabulary of the embedded model.
    """
    meant = dict(_meant(corpus, analysis))
    if not meant:
        return analysis
    return {**analysis, "terms": [meant.get(term, term) for term in analysis["terms"]]}


def _meant(corpus: Corpus, analysis: Analysis) -> Iterator[tuple[str, str]]:
    if analysis["report"]:  # it has words of other programs, and enough of this one's
        return
    for word in dict.fromkeys(extract_content_words(analysis["text"])):
        terms = expand_token(word)
        is_plain = word.isalpha() and word.islower() and len(word) >= _SHORTEST and len(terms) == 1
        if is_plain and terms[0] not in corpus.term_ids and terms[0] not in load_word_vectors():
            most = 1 + (len(word) >= _LONG)
            near = (other for other in corpus.suggest_terms(terms[0]) if is_slip(terms[0], other, most))
            if (other := next(near, None)) is not None:
                yield terms[0], other


def is_slip(word: str, other: str, most: int) -> bool:
    """Whether two words differ by no more slips: a letter too many, too few, another one, or two that changed places.

    One that begins with the other and goes on is another word, not a slip.

    Source: Damerau, "A technique for computer detection and correction of spelling errors", 1964.
    """
    if abs(len(word) - len(other)) > 1 and (word.startswith(other) or other.startswith(word)):
        return False
    before, row = [0] * (len(other) + 1), list(range(len(other) + 1))
    for place, (last, letter) in enumerate(pairwise(f" {word}"), 1):
        earlier, before, row = before, row, [place]
        for column, (last_other, its) in enumerate(pairwise(f" {other}"), 1):
            cost = min(before[column] + 1, row[-1] + 1, before[column - 1] + (letter != its))
            if letter == last_other and last == its:
                cost = min(cost, earlier[column - 2] + 1 if column > 1 else cost)
            row.append(cost)
    return row[-1] <= most
