"""Computation of a generation's map."""

import hashlib
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from coderag.retrieval.projection.cluster_terms import name_clusters
from coderag.retrieval.projection.clusters import find_clusters
from coderag.retrieval.projection.facets import FacetValue, build_facet, build_folder_facet
from coderag.retrieval.projection.positions import can_extend, compute_positions, extend_positions, to_coordinates
from coderag.retrieval.projection.projection import (
    FACETS,
    MAX_COORDINATE,
    Cluster,
    Projection,
    ProjectionInfo,
    ProjectionMethod,
    build_drawing_order,
)
from coderag.retrieval.projection.quality import measure_trustworthiness
from coderag.stores.protocols import IndexSnapshot

if TYPE_CHECKING:
    import pyarrow as pa

FloatArray = NDArray[np.float32]
KeyArray = NDArray[np.uint64]

_FILES_OF_CLUSTER: Final = 5
_COLUMNS: Final = ("path", "language", "role", "content_hash")
_KEY_CHARS: Final = 16
_KEY_STEP: Final = np.uint64(0x9E3779B97F4A7C15)  # wraps around


def build_projection(
    snapshot: IndexSnapshot,
    previous: Projection | None,
    method: ProjectionMethod,
    report: Callable[[str, float], None],
) -> Projection:
    """Build the map of a generation. Chunks that the previous map has keep their place while few are new.

    Args:
        snapshot: The generation.
        previous: The previous map, if there is one.
        method: Method that places the chunks.
        report: Called with a stage and the share of it that is done.

    Raises:
        ConfigurationError: The extra of the method is not installed.
    """
    started = time.monotonic()
    report("reading", 0.0)
    vectors = snapshot.read_vectors()
    chunks = snapshot.read_chunks(_COLUMNS)
    content_keys, place_keys = _compute_keys(chunks)
    model = str(snapshot.pointer.embedding)
    if previous is not None and previous.info.model != model:
        previous = None
    places, is_known = _find_previous(previous, content_keys, place_keys)
    n, fitted = len(vectors), len(vectors)
    if previous and previous.info.method == method and can_extend(int(is_known.sum()), n, previous.info.fitted):
        report("places", 0.0)
        positions, fitted = extend_positions(vectors, places, is_known), previous.info.fitted
    else:
        positions = compute_positions(vectors, places, is_known, method, report)
    coordinates = to_coordinates(positions)
    report("clusters", 0.0)
    clusters = find_clusters(positions)
    facets = {
        "language": build_facet(chunks["language"]),
        "role": build_facet(chunks["role"]),
        "folder": build_folder_facet(chunks["path"]),
    }
    info = ProjectionInfo(
        method=method,
        model=model,
        chunks=n,
        fitted=fitted,
        trustworthiness=round(measure_trustworthiness(vectors, positions), 3),
        seconds=round(time.monotonic() - started, 1),
        facets={name: facets[name].values for name in FACETS},
        clusters=_describe_clusters(snapshot, chunks, clusters, coordinates),
    )
    return Projection(
        info=info,
        x=np.ascontiguousarray(coordinates[:, 0]),
        y=np.ascontiguousarray(coordinates[:, 1]),
        codes={**{name: facets[name].codes for name in FACETS}, "cluster": clusters.astype(np.uint8)},
        content_keys=content_keys,
        place_keys=place_keys,
        order=build_drawing_order(facets["folder"]),
    )


def _compute_keys(chunks: "pa.Table") -> tuple[KeyArray, KeyArray]:
    """Return keys of the texts, and of the texts with their paths."""
    hashes = chunks["content_hash"].to_pylist()
    content = np.array([int(text[:_KEY_CHARS] or "0", 16) for text in hashes], np.uint64)
    paths = chunks["path"].combine_chunks().dictionary_encode()
    digests = [hashlib.blake2b(path.encode(), digest_size=8).digest() for path in paths.dictionary.to_pylist()]
    path_keys = np.frombuffer(b"".join(digests), np.uint64)[paths.indices.to_numpy()]
    return content, _number_equal_keys(content ^ path_keys)


def _number_equal_keys(keys: KeyArray) -> KeyArray:
    """Make equal keys distinct by their position among equals."""
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    is_first = np.concatenate([[True], ordered[1:] != ordered[:-1]])[: len(keys)]
    index = np.arange(len(keys))
    numbers = index - np.maximum.accumulate(np.where(is_first, index, 0))
    result = np.empty_like(keys)
    result[order] = ordered + numbers.astype(np.uint64) * _KEY_STEP
    return result


def _find_previous(
    previous: Projection | None, content_keys: KeyArray, place_keys: KeyArray
) -> tuple[FloatArray, NDArray[np.bool_]]:
    """Find the previous place of each chunk: of the same text in the same file, else of the same text."""
    places = np.zeros((len(content_keys), 2), np.float32)
    is_known = np.zeros(len(content_keys), bool)
    if previous is None or not len(previous):
        return places, is_known
    coordinates = np.stack([previous.x, previous.y], axis=1).astype(np.float32) / MAX_COORDINATE
    for keys, known_keys in ((place_keys, previous.place_keys), (content_keys, previous.content_keys)):
        order = np.argsort(known_keys, kind="stable")
        index = np.minimum(np.searchsorted(known_keys, keys, sorter=order), len(order) - 1)
        rows = order[index]
        is_new_match = ~is_known & (known_keys[rows] == keys)
        places[is_new_match] = coordinates[rows[is_new_match]]
        is_known |= is_new_match
    return places, is_known


def _describe_clusters(
    snapshot: IndexSnapshot, chunks: "pa.Table", clusters: NDArray[np.int64], coordinates: NDArray[np.uint16]
) -> tuple[Cluster, ...]:
    names = name_clusters(clusters, snapshot)
    files = chunks["path"].combine_chunks().dictionary_encode()
    codes, paths = files.indices.to_numpy(), files.dictionary
    described = []
    for number, terms in enumerate(names):
        rows = np.flatnonzero(clusters == number)
        counts = np.bincount(codes[rows])
        top = np.argsort(-counts, kind="stable")[:_FILES_OF_CLUSTER]
        largest = tuple(FacetValue(paths[int(file)].as_py(), int(counts[file])) for file in top if counts[file])
        middle = np.median(coordinates[rows], axis=0)
        described.append(Cluster(terms, len(rows), int(middle[0]), int(middle[1]), largest))
    return tuple(described)
