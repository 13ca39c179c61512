"""The map of one generation: places, facets and clusters of its chunks, as it is stored."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from coderag.retrieval.projection.facets import Facet, FacetValue

FILE_NAME: Final = "projection"
"""Name in `coderag.stores.view_files.ViewFiles`."""

FORMAT: Final = 1
MAX_COORDINATE: Final = 65_535
FACETS: Final = ("language", "role", "folder")

ProjectionMethod = Literal["pca", "umap"]
IntArray = NDArray[np.integer]

_GOLDEN_RATIO: Final = 0.6180339887498949


@dataclass(frozen=True, slots=True)
class Cluster:
    """Cluster of chunks that lie together.

    Attributes:
        terms: Distinctive terms, the best first.
        count: Number of chunks.
        x, y: Its middle, in units of the map: 0 to 65,535.
        files: Files with the most chunks in it.
    """

    terms: tuple[str, ...]
    count: int
    x: int
    y: int
    files: tuple[FacetValue, ...]


@dataclass(frozen=True, slots=True)
class ProjectionInfo:
    """Description of a map.

    Attributes:
        method: Method that placed the chunks.
        chunks: Number of chunks.
        fitted: Number of chunks when all were last placed together.
        trustworthiness: Share of neighbours on the map that are neighbours in truth, see `measure_trustworthiness`.
        seconds: Time that it took.
        facets: Values of language, role and folder, by code.
        clusters: The clusters, by code, the largest first.
    """

    method: ProjectionMethod
    model: str
    chunks: int
    fitted: int
    trustworthiness: float
    seconds: float
    facets: Mapping[str, tuple[FacetValue, ...]]
    clusters: tuple[Cluster, ...]


@dataclass(frozen=True, slots=True)
class Projection:
    """The map of one generation. Arrays are by row of the generation, except `order`.

    Attributes:
        x, y: uint16 (n,), places.
        codes: uint8 (n,) each: language, role, folder and cluster.
        content_keys, place_keys: uint64 (n,), of the text, and of the text with its path: they find chunks again.
        order: uint32 (n,), rows in the order of drawing: any first part of it is a sample of all folders.
    """

    info: ProjectionInfo
    x: NDArray[np.uint16]
    y: NDArray[np.uint16]
    codes: Mapping[str, NDArray[np.uint8]]
    content_keys: NDArray[np.uint64]
    place_keys: NDArray[np.uint64]
    order: NDArray[np.uint32] = field(repr=False)

    def __len__(self) -> int:
        return len(self.x)

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Convert to arrays by name."""
        info = np.frombuffer(json.dumps(asdict(self.info)).encode(), np.uint8)
        names = ("x", "y", "content_keys", "place_keys", "order")
        return {
            "format": np.array([FORMAT]),
            "info": info,
            **{name: getattr(self, name) for name in names},
            **{f"code_{name}": codes for name, codes in self.codes.items()},
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]] | None) -> "Projection | None":
        """Convert from arrays; None if there are none, or of another format."""
        try:
            if arrays is None or int(arrays["format"][0]) != FORMAT:
                return None
            raw = json.loads(arrays["info"].tobytes())
            clusters = tuple(
                Cluster(**{**entry, "terms": tuple(entry["terms"]), "files": _to_values(entry["files"])})
                for entry in raw.pop("clusters")
            )
            facets = {name: _to_values(values) for name, values in raw.pop("facets").items()}
            codes = {name: arrays[f"code_{name}"] for name in (*FACETS, "cluster")}
            names = ("x", "y", "content_keys", "place_keys", "order")
            info = ProjectionInfo(**raw, facets=facets, clusters=clusters)
            return cls(info=info, codes=codes, **{name: arrays[name] for name in names})
        except (KeyError, ValueError, TypeError, IndexError):
            return None


def build_drawing_order(folder: Facet) -> NDArray[np.uint32]:
    """Order rows so that any first part is a sample in which every folder has its share."""
    by_folder = np.argsort(folder.codes, kind="stable")
    spread = (np.arange(len(by_folder)) * _GOLDEN_RATIO) % 1.0
    return by_folder[np.argsort(spread, kind="stable")].astype(np.uint32)


def _to_values(raw: list[dict[str, Any]]) -> tuple[FacetValue, ...]:
    return tuple(FacetValue(**value) for value in raw)
