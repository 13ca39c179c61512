"""Write trained word vectors in the format that ``coderag.models.word_vectors`` loads.

Vectors become int8 rows, weights become uint16, and the model card lists their sources.
"""

import argparse
import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from layout import CODE_FIELDS, ENCODER
from numpy.typing import NDArray

from coderag.text.tokenizer import TOKENIZER_VERSION

_INT8_MAX = 127
_UINT16_MAX = 65_535


def write_asset(
    folder: Path,
    *,
    terms: Sequence[str],
    vectors: NDArray[np.float32],
    weights: NDArray[np.float32],
    query_weights: NDArray[np.float32],
    card: dict[str, Any],
) -> None:
    """Quantise word vectors and write them, sorted by term, with a model card.

    Args:
        folder: Output folder, created if missing.
        terms: The vocabulary, distinct.
        vectors: Word vectors, shape (n_terms, dim), not quantised.
        weights: Weight of each term in code, shape (n_terms,).
        query_weights: Weight of each term in questions, shape (n_terms,).
        card: Fields of the model card besides dimension, tokenizer version, number of terms and checksums.
    """
    folder.mkdir(parents=True, exist_ok=True)
    order = sorted(range(len(terms)), key=terms.__getitem__)
    ordered = vectors[order]
    largest = np.maximum(np.abs(ordered).max(axis=1), np.finfo(np.float32).tiny)
    rows = np.rint(ordered / largest[:, None] * _INT8_MAX).astype(np.int8)
    # Only the proportions of weights matter on each side, so they absorb the divisors that scale rows to eight bits.
    scales = np.stack([weights[order] * largest, query_weights[order] * largest])
    scaled = np.rint(scales / scales.max(axis=1, keepdims=True) * _UINT16_MAX).astype(np.uint16)
    np.save(folder / "rows.npy", rows)
    np.save(folder / "weights.npy", scaled)
    (folder / "terms.txt").write_bytes("".join(terms[index] + "\n" for index in order).encode())
    written = ("rows.npy", "weights.npy", "terms.txt")
    description = {
        **card,
        "dimension": int(rows.shape[1]),
        "n_terms": len(terms),
        "tokenizer_version": TOKENIZER_VERSION,
        "sha256": {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in written},
    }
    (folder / "model.json").write_text(json.dumps(description, indent=2, ensure_ascii=False) + "\n", "utf-8")


def describe_sources(manifest: Path) -> dict[str, Any]:
    """Return a corpus's totals for a model card: packages by ecosystem, files and bytes."""
    content = json.loads(manifest.read_text("utf-8"))
    ecosystems = [row["ecosystem"] for row in content["packages"] if not row["skipped"]]
    return {
        "packages": {name: ecosystems.count(name) for name in sorted(set(ecosystems))},
        **{key: content["total"][key] for key in ("files", "bytes")},
    }


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trained", type=Path, help="npz file that train.py wrote")
    parser.add_argument("output", type=Path, help="folder to write")
    parser.add_argument("--manifest", type=Path, required=True, help="manifest.json of the corpus, for the model card")
    parser.add_argument("--name", default="coderag-words")
    parser.add_argument("--version", default="1.1.0")
    parser.add_argument(
        "--context-share", type=float, default=0.3, help="share of the file's vector in a chunk's vector"
    )
    arguments = parser.parse_args()

    trained = np.load(arguments.trained)
    field_weights = trained["field_weights"] / trained["field_weights"][0]
    card = {
        "name": arguments.name,
        "version": arguments.version,
        "field_weights": {name: round(float(w), 3) for name, w in zip(CODE_FIELDS, field_weights, strict=True)},
        "context_share": arguments.context_share,
        "encoder": ENCODER,
        "corpus": describe_sources(arguments.manifest),
        **json.loads(str(trained["card"])),
    }
    write_asset(
        arguments.output,
        terms=trained["terms"].tolist(),
        vectors=trained["vectors"],
        weights=trained["weights"],
        query_weights=trained["query_weights"],
        card=card,
    )


if __name__ == "__main__":
    main()
