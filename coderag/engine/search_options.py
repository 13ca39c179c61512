"""Options of searches: what an index can be filtered by, and settings of the ranking for one request."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pydantic import ValidationError

from coderag.config.sections import SWITCHABLE_SIGNALS, WEIGHTED_SIGNALS, SearchSettings
from coderag.errors import InvalidQueryError
from coderag.stores.corpus import Corpus


@dataclass(frozen=True, slots=True)
class RankingSettings:
    """Settings of the ranking: what `search.weights` and `search.disabled_signals` hold.

    Attributes:
        weights: Factors on the weights of features, by name; 1 for features that are not listed.
        disabled_signals: Names of the channels and features that are switched off.
    """

    weights: Mapping[str, float]
    disabled_signals: Sequence[str]


@dataclass(frozen=True, slots=True)
class SearchOptions:
    """Filters and ranking signals that searches of an index can use.

    Attributes:
        languages, kinds, roles: Values that occur in the index, with their number of chunks, most frequent first.
        weighted_signals: Features of the ranker, whose weights can be changed.
        switchable_signals: Channels and features that can be switched off.
        saved: The repository's own settings.
        top_k: Number of results by default.
        has_model: Whether each search asks a model, to reorder results or to rewrite the question.
    """

    languages: Mapping[str, int]
    kinds: Mapping[str, int]
    roles: Mapping[str, int]
    weighted_signals: Sequence[str]
    switchable_signals: Sequence[str]
    saved: RankingSettings
    top_k: int
    has_model: bool = False


def list_search_options(corpus: Corpus, settings: SearchSettings, *, has_reranker: bool = False) -> SearchOptions:
    """List what searches of an index can be filtered and ranked by."""
    return SearchOptions(
        languages=_count_values(corpus, "language"),
        kinds=_count_values(corpus, "kind"),
        roles=_count_values(corpus, "role"),
        weighted_signals=WEIGHTED_SIGNALS,
        switchable_signals=SWITCHABLE_SIGNALS,
        saved=get_ranking_settings(settings),
        top_k=settings.top_k,
        has_model=has_reranker or settings.rewrite != "none",
    )


def get_ranking_settings(settings: SearchSettings) -> RankingSettings:
    """Return the settings of the ranking."""
    return RankingSettings(dict(settings.weights), settings.disabled_signals)


def replace_ranking(settings: SearchSettings, ranking: RankingSettings) -> SearchSettings:
    """Return search settings with another ranking.

    Raises:
        InvalidQueryError: A name is unknown, or a factor is out of range.
    """
    changes = {"weights": dict(ranking.weights), "disabled_signals": tuple(ranking.disabled_signals)}
    try:
        return SearchSettings.model_validate({**settings.model_dump(), **changes})
    except ValidationError as error:
        fault = error.errors()[0]
        place = ".".join(str(part) for part in fault["loc"])
        raise InvalidQueryError(f"{place}: {fault['msg'].removeprefix('Value error, ')}") from error


def _count_values(corpus: Corpus, column: str) -> dict[str, int]:
    return dict(Counter(corpus.get_column(column)).most_common())
