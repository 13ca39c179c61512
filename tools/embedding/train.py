"""Train word vectors contrastively on pairs of (words, code), starting from the distilled vectors.

The loss is InfoNCE in both directions. A batch consists of groups of pairs from one package each, because search must
discriminate within a repository. Pairs of the same chunk are not negatives of each other. Languages with few pairs are
oversampled. Terms are dropped at random. Whole packages are held out, and the model is measured on them before and after:
mean reciprocal rank of the right code among a package's pairs.

Source: InfoNCE, van den Oord et al. (2018), arXiv:1807.03748.
"""

import argparse
import hashlib
import json
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
import torch
from encoder import BagEncoder, Bags, take
from layout import CODE_FIELDS, KINDS
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

_WARM_UP_STEPS = 100
_REPORT_STEPS = 50
_HELD_OUT_SHARE = 0.05  # of the packages
_MAX_HELD_OUT_PAIRS = 1_000  # of a package and kind
_MIN_HELD_OUT_PAIRS = 50
_ENCODED_AT_ONCE = 8192


class Pairs(NamedTuple):
    """Training pairs from pairs.py.

    Attributes:
        rows: Rows of the pairs that are not near-duplicates.
        chunks: Chunk number of each pair.
    """

    query: Bags
    code: Sequence[Bags]
    rows: NDArray[np.int64]
    kinds: NDArray[np.uint8]
    languages: NDArray[np.uint8]
    language_names: Sequence[str]
    packages: NDArray[np.uint16]
    package_names: Sequence[str]
    chunks: NDArray[np.uint32]

    @classmethod
    def load(cls, path: Path, *, n_terms: int) -> Self:
        """Load the pairs, restricted to the first terms of the vocabulary."""
        stored = np.load(path)
        names = {name: stored[name].tolist() for name in ("language_names", "package_names")}
        arrays = {name: stored[name] for name in ("rows", "kinds", "languages", "packages", "chunks")}
        code = [Bags.from_npz(stored, field, n_terms) for field in CODE_FIELDS]
        query = Bags.from_npz(stored, "query", n_terms)
        usable = (query.lengths[arrays["rows"]] > 1) & (code[0].lengths[arrays["rows"]] > 1)
        arrays["rows"] = arrays["rows"][usable]
        return cls(query=query, code=code, **names, **arrays)


class Teacher(NamedTuple):
    """Texts from teacher.py with the encoder's unit vectors, float32 (n_texts, 384)."""

    texts: Bags
    vectors: Tensor

    @classmethod
    def load(cls, path: Path, *, n_terms: int) -> Self:
        """Load the texts, restricted to the first terms of the vocabulary."""
        stored = np.load(path)
        return cls(Bags.from_npz(stored, "text", n_terms), torch.from_numpy(stored["vectors"].astype(np.float32)))

    def compute_loss(self, model: BagEncoder, rng: np.random.Generator, n_texts: int, temperature: float) -> Tensor:
        """Return the Kullback-Leibler divergence of the model's similarities of sampled texts from the encoder's."""
        chosen = rng.choice(len(self.vectors), n_texts, replace=False)
        own = model.encode_queries(take([self.texts], chosen, None, 0))
        wanted = self.vectors[torch.from_numpy(chosen)]
        itself = torch.eye(n_texts, dtype=torch.bool)
        scores, targets = ((side @ side.T / temperature).masked_fill(itself, -1e4) for side in (own, wanted))
        return functional.kl_div(scores.log_softmax(1), targets.log_softmax(1), log_target=True, reduction="batchmean")


class Recipe(NamedTuple):
    """Hyperparameters.

    Attributes:
        epochs: Passes over the pairs.
        batch_size: Pairs per batch.
        group_size: Pairs of one package per group.
        rate: Adam's peak learning rate, after a warm-up and before a linear decay to zero.
        weights_rate: Factor on the rate for the logarithms of the weights.
        dropout: Share of the terms of a text that are dropped.
        temperature: Temperature of the softmax over a batch.
        balance: Exponent of a language's number of pairs; 1 samples all pairs equally.
        teacher_weight: Weight of the teacher's loss.
        hard_share: Share of the groups that consist of similar pairs, which are the hardest negatives of a package.
    """

    epochs: float = 1
    batch_size: int = 2048
    group_size: int = 128
    rate: float = 2e-3
    weights_rate: float = 5.0
    dropout: float = 0.05
    temperature: float = 0.05
    balance: float = 0.7
    teacher_weight: float = 1.0
    hard_share: float = 0.0


def hold_out(package_names: Sequence[str], packages: NDArray[np.uint16]) -> NDArray[np.bool_]:
    """Return a mask of the held-out pairs, shape (n_pairs,), by a hash of their package's name."""
    limit = round(_HELD_OUT_SHARE * 2**32)
    chosen = [int.from_bytes(hashlib.sha256(name.encode()).digest()[:4], "big") < limit for name in package_names]
    held_out: NDArray[np.bool_] = np.array(chosen)[packages]
    return held_out


def order_by_likeness(vectors: NDArray[np.float32], group_size: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return an order that groups similar texts, by halving along random directions down to the group size.

    Args:
        vectors: float32 (n_texts, dimension).
    """
    parts = [np.arange(len(vectors))]
    while len(parts[0]) > group_size:
        halves = []
        for part in parts:
            first, second = vectors[rng.choice(part, 2)]
            halves += np.array_split(part[np.argsort(vectors[part] @ (first - second))], 2)
        parts = halves
    return np.concatenate(parts)


def iter_batches(
    pairs: Pairs,
    rows: NDArray[np.int64],
    recipe: Recipe,
    rng: np.random.Generator,
    code_vectors: NDArray[np.float16] | None = None,
) -> Iterator[NDArray[np.int64]]:
    """Yield the batches of one pass over some pairs.

    Args:
        code_vectors: Vectors of the code of all pairs, to group similar ones; float16 (n_pairs, dimension).
    """
    sizes = np.bincount(pairs.languages[rows], minlength=len(pairs.language_names))
    # A pair of a language with n pairs is repeated (max n / n) ** (1 - balance) times on average; then all are rescaled.
    times = (sizes.max() / np.maximum(sizes, 1)) ** (1 - recipe.balance)
    times *= sizes.sum() / (sizes * times).sum()
    wanted = times[pairs.languages[rows]]
    repeated = np.repeat(rows, (wanted + rng.random(len(rows))).astype(np.int64))
    shuffled = repeated[rng.permutation(len(repeated))]
    grouped = shuffled[np.argsort(pairs.packages[shuffled], kind="stable")]
    if code_vectors is not None:
        ends = np.flatnonzero(np.diff(pairs.packages[grouped])) + 1
        for package in np.split(np.arange(len(grouped)), ends):
            if len(package) > recipe.group_size and rng.random() < recipe.hard_share:
                order = order_by_likeness(code_vectors[grouped[package]].astype(np.float32), recipe.group_size, rng)
                grouped[package] = grouped[package[order]]
    n_groups = len(grouped) // recipe.group_size
    groups = grouped[: n_groups * recipe.group_size].reshape(n_groups, recipe.group_size)[rng.permutation(n_groups)]
    a_batch = recipe.batch_size // recipe.group_size
    for start in range(0, n_groups - a_batch + 1, a_batch):
        yield groups[start : start + a_batch].reshape(-1)


def compute_loss(scores: Tensor, chunks: Tensor) -> Tensor:
    """Return InfoNCE in both directions; pairs of the same chunk are not negatives of each other."""
    same = (chunks[:, None] == chunks[None, :]).fill_diagonal_(fill_value=False)
    scores = scores.masked_fill(same, -1e4)
    target = torch.arange(len(scores))
    return (functional.cross_entropy(scores, target) + functional.cross_entropy(scores.T, target)) / 2


def train(
    model: BagEncoder, pairs: Pairs, rows: NDArray[np.int64], recipe: Recipe, teacher: Teacher | None = None
) -> None:
    """Train a model on the pairs of some rows, and on the teacher's similarities."""
    rng = np.random.default_rng(0)
    weights = [model.log_weights, model.query_shift, model.log_fields]
    learnt = [weight for weight in weights if weight.requires_grad]
    optimisers: list[torch.optim.Optimizer] = [
        torch.optim.SparseAdam([model.vectors], lr=recipe.rate),
        torch.optim.Adam(learnt, lr=recipe.rate * recipe.weights_rate),
    ]
    steps = int(recipe.epochs * (len(rows) // recipe.batch_size))
    schedules = [
        torch.optim.lr_scheduler.LambdaLR(
            optimiser, lambda step: min(1.0, (step + 1) / _WARM_UP_STEPS) * max(0.0, 1 - step / steps)
        )
        for optimiser in optimisers
    ]
    started = time.perf_counter()
    losses: list[float] = []
    code_vectors = encode_codes(model, pairs) if recipe.hard_share else None
    while len(losses) < steps:
        for batch in iter_batches(pairs, rows, recipe, rng, code_vectors):
            texts = (take(fields, batch, rng, recipe.dropout) for fields in ([pairs.query], pairs.code))
            queries, codes = model(*texts)
            chunks = torch.from_numpy(pairs.chunks[batch].astype(np.int64))
            loss = compute_loss(queries @ codes.T / recipe.temperature, chunks)
            if teacher is not None:
                soft = teacher.compute_loss(model, rng, recipe.batch_size // 2, recipe.temperature)
                loss = loss + recipe.teacher_weight * soft
            for optimiser in optimisers:
                optimiser.zero_grad()
            torch.autograd.backward(loss)
            for step in (*optimisers, *schedules):
                step.step()
            losses.append(loss.item())
            if len(losses) % _REPORT_STEPS == 0 or len(losses) == steps:
                recent = np.mean(losses[-_REPORT_STEPS:])
                elapsed_s = time.perf_counter() - started
                print(f"step {len(losses)} of {steps}: loss {recent:.3f}, {elapsed_s:.0f} s", flush=True)
            if len(losses) == steps:
                break


@torch.inference_mode()
def encode_codes(model: BagEncoder, pairs: Pairs) -> NDArray[np.float16]:
    """Return the model's vectors of the code of all pairs, float16 (n_pairs, dimension)."""
    n_pairs = len(pairs.chunks)
    parts = np.array_split(np.arange(n_pairs), max(1, n_pairs // _ENCODED_AT_ONCE))
    vectors = (model(take([pairs.query], part, None, 0), take(pairs.code, part, None, 0))[1] for part in parts)
    return np.concatenate([part.numpy().astype(np.float16) for part in vectors])


@torch.inference_mode()
def measure(model: BagEncoder, pairs: Pairs, rows: NDArray[np.int64]) -> dict[str, float]:
    """Return the mean reciprocal rank of the right code among the pairs of its package and kind, by kind and on average."""
    rng = np.random.default_rng(0)
    reciprocal_ranks: dict[str, list[NDArray[np.float32]]] = {}
    for package in np.unique(pairs.packages[rows]):
        for kind, name in enumerate(KINDS):
            chosen = rows[(pairs.packages[rows] == package) & (pairs.kinds[rows] == kind)]
            chosen = rng.permutation(chosen)[:_MAX_HELD_OUT_PAIRS]
            if len(chosen) < _MIN_HELD_OUT_PAIRS:
                continue
            queries, codes = model(take([pairs.query], chosen, None, 0), take(pairs.code, chosen, None, 0))
            scores = queries @ codes.T
            ranks = (scores >= scores.diagonal()[:, None]).sum(dim=1)
            reciprocal_ranks.setdefault(name, []).append((1 / ranks).numpy())
    figures = {
        name: round(float(np.concatenate(values).mean()), 4) for name, values in sorted(reciprocal_ranks.items())
    }
    return {**figures, "mean": round(sum(figures.values()) / len(figures), 4)}


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("distilled", type=Path, help="npz file that distil.py wrote")
    parser.add_argument("pairs", type=Path, help="npz file that pairs.py wrote")
    parser.add_argument("output", type=Path, help="npz file to write")
    parser.add_argument("--teacher", type=Path, help="npz file that teacher.py wrote")
    parser.add_argument("--terms", type=int, default=59_000, help="size of the vocabulary")
    parser.add_argument("--dimension", type=int, default=256)
    parser.add_argument("--shared-weights", action="store_true", help="use the same term weights in questions and code")
    parser.add_argument("--kinds", nargs="*", choices=KINDS, default=KINDS, help="kinds of pairs to train on")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=2)
    for name, value in Recipe()._asdict().items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=type(value), default=value)
    arguments = parser.parse_args()
    torch.manual_seed(arguments.seed)
    torch.set_num_threads(arguments.threads)

    start = np.load(arguments.distilled)
    n_terms, dimension = min(arguments.terms, len(start["terms"])), arguments.dimension
    vectors = start["vectors"][:n_terms, :dimension]  # principal components: the first carry most variance
    vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
    model = BagEncoder(vectors, start["weights"][:n_terms], own_query_weights=not arguments.shared_weights)
    pairs = Pairs.load(arguments.pairs, n_terms=n_terms)
    held_out = hold_out(pairs.package_names, pairs.packages)[pairs.rows]
    chosen = np.isin(pairs.kinds[pairs.rows], [KINDS.index(kind) for kind in arguments.kinds])
    rows = pairs.rows[~held_out & chosen]
    recipe = Recipe(*(getattr(arguments, name) for name in Recipe._fields))
    print(f"{len(rows)} pairs to train on, {held_out.sum()} held out; {recipe}", flush=True)
    figures: dict[str, Any] = {"distilled": measure(model, pairs, pairs.rows[held_out])}
    print(figures["distilled"], flush=True)
    teacher = Teacher.load(arguments.teacher, n_terms=n_terms) if arguments.teacher else None
    train(model, pairs, rows, recipe, teacher)
    figures["trained"] = measure(model, pairs, pairs.rows[held_out])
    print(figures["trained"], flush=True)
    with torch.inference_mode():
        np.savez(
            arguments.output,
            terms=start["terms"][:n_terms],
            vectors=model.vectors.numpy(),
            weights=model.log_weights.exp().numpy(),
            query_weights=(model.log_weights + model.query_shift).exp().numpy(),
            field_weights=model.log_fields.exp().numpy(),
            card=json.dumps({"pairs": len(rows), "recipe": recipe._asdict(), "held_out_mrr": figures}),
        )
    print("fields", dict(zip(CODE_FIELDS, model.log_fields.exp().tolist(), strict=True)))


if __name__ == "__main__":
    main()
