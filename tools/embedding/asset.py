"""Write word vectors in the form that ``coderag.models.word_vectors`` loads: int8 rows, one float32 scale for each."""

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coderag.tokens import TOKENIZER_VERSION

_INT8_LARGEST = 127


def write_asset(
    folder: Path, *, terms: list[str], vectors: NDArray[np.float32], weights: NDArray[np.float32], card: dict[str, Any]
) -> None:
    """Quantise word vectors and write them, sorted by term, with a model card.

    Args:
        folder: Folder to write, made if missing.
        terms: The vocabulary, distinct.
        vectors: Word vectors, shape (n_terms, dim), not quantised.
        weights: Weight of each term, shape (n_terms,); it is multiplied into the scale of the term's row.
        card: What the card says beside name, dimension, tokenizer version, number of terms and checksums.
    """
    folder.mkdir(parents=True, exist_ok=True)
    order = sorted(range(len(terms)), key=terms.__getitem__)
    ordered = vectors[order]
    largest = np.maximum(np.abs(ordered).max(axis=1), np.finfo(np.float32).tiny)
    rows = np.rint(ordered / largest[:, None] * _INT8_LARGEST).astype(np.int8)
    scales = (weights[order] * largest / _INT8_LARGEST).astype(np.float32)
    np.save(folder / "rows.npy", rows)
    np.save(folder / "scales.npy", scales)
    (folder / "terms.txt").write_bytes("".join(terms[index] + "\n" for index in order).encode())
    written = ("rows.npy", "scales.npy", "terms.txt")
    description = {
        **card,
        "dimension": int(rows.shape[1]),
        "n_terms": len(terms),
        "tokenizer_version": TOKENIZER_VERSION,
        "sha256": {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in written},
    }
    (folder / "model.json").write_text(json.dumps(description, indent=2, ensure_ascii=False) + "\n", "utf-8")


def describe_sources(manifest: Path) -> dict[str, Any]:
    """Return the totals of a corpus's manifest for a model card: packages by ecosystem, files and bytes."""
    content = json.loads(manifest.read_text("utf-8"))
    ecosystems = [row["ecosystem"] for row in content["packages"] if not row["skipped"]]
    return {
        "packages": {name: ecosystems.count(name) for name in sorted(set(ecosystems))},
        **{key: content["total"][key] for key in ("files", "bytes")},
    }
