"""The map of a real index: facets, clusters with terms, and its form on disk."""

import dataclasses

import numpy as np
import pytest

from coderag import CodeRAG
from coderag.retrieval.projection.builder import build_projection
from coderag.retrieval.projection.clusters import find_clusters
from coderag.retrieval.projection.facets import MAX_VALUES, OTHER, build_facet, build_folder_facet
from coderag.retrieval.projection.projection import FACETS, MAX_COORDINATE, Projection
from tests.support.corpora import write_files

BREADS = ("rye", "wheat", "spelt", "oat", "barley", "corn", "millet", "rice")
ORBITS = ("mars", "venus", "pluto", "ceres", "juno", "vesta", "io", "europa")
BAKERY = 'def bake_{0}(dough, oven):\n    """Bake {0} bread from dough in the oven."""\n    return oven\n'
SPACE = 'def launch_{0}(rocket, orbit):\n    """Launch a rocket to the orbit of {0}."""\n    return orbit\n'
FILES = {f"bakery/{name}.py": BAKERY.format(name) for name in BREADS} | {
    f"space/{name}.py": SPACE.format(name) for name in ORBITS
}


def ignore(stage: str, share: float) -> None:
    """Take no notice of progress."""


@pytest.fixture
def rag(tmp_path):
    with CodeRAG(write_files(tmp_path / "repository", FILES)) as engine:
        engine.index()
        yield engine


def test_a_map_describes_every_chunk(rag):
    snapshot = rag.open_generation()
    built = build_projection(snapshot, None, "pca", ignore)
    assert len(built) == len(snapshot) == built.info.chunks
    assert sorted(built.order.tolist()) == list(range(len(snapshot)))
    for facet in FACETS:
        counts = np.bincount(built.codes[facet], minlength=len(built.info.facets[facet]))
        assert counts.tolist() == [value.count for value in built.info.facets[facet]]
    assert {value.name for value in built.info.facets["folder"]} == {"bakery/", "space/"}
    assert sum(cluster.count for cluster in built.info.clusters) == len(snapshot)
    terms = {term for cluster in built.info.clusters for term in cluster.terms}
    assert terms & {"bread", "dough", "oven", "bake"}
    assert terms & {"rocket", "orbit", "launch"}
    assert all(len(cluster.files) > 0 for cluster in built.info.clusters)


def test_a_map_survives_its_form_on_disk(rag):
    built = build_projection(rag.open_generation(), None, "pca", ignore)
    read = Projection.from_arrays(built.to_arrays())
    assert read is not None
    assert read.info == built.info
    np.testing.assert_array_equal(read.codes["cluster"], built.codes["cluster"])


@pytest.mark.parametrize("damage", [{"x": None}, {"format": np.array([99])}, {"info": np.zeros(3, np.uint8)}])
def test_a_damaged_map_is_none(rag, damage):
    arrays = build_projection(rag.open_generation(), None, "pca", ignore).to_arrays() | damage
    assert Projection.from_arrays({name: array for name, array in arrays.items() if array is not None}) is None


def test_unchanged_chunks_keep_their_place_after_an_edit(rag):
    before_snapshot = rag.open_generation()
    before = build_projection(before_snapshot, None, "pca", ignore)
    (rag.root / "bakery" / "pretzel.py").write_text(FILES["bakery/rye.py"].replace("rye", "pretzel"))
    (rag.root / "space" / "io.py").rename(rag.root / "space" / "moon.py")
    rag.index()
    snapshot = rag.open_generation()
    after = build_projection(snapshot, before, "pca", ignore)

    def read_places(of, built):
        rows = zip(of.read_chunks(["path"])["path"].to_pylist(), built.x.tolist(), built.y.tolist(), strict=True)
        return {path: (x, y) for path, x, y in rows}

    old, new = read_places(before_snapshot, before), read_places(snapshot, after)
    assert {path for path in old.keys() & new.keys() if old[path] != new[path]} == set()
    assert "bakery/pretzel.py" in new
    assert after.info.fitted == before.info.fitted


def test_the_map_of_another_model_is_not_continued(rag):
    built = build_projection(rag.open_generation(), None, "pca", ignore)
    foreign = dataclasses.replace(
        built, info=dataclasses.replace(built.info, model="another"), x=np.zeros_like(built.x), y=np.zeros_like(built.y)
    )
    assert build_projection(rag.open_generation(), foreign, "pca", ignore).x.any()


def test_clusters_are_the_hills_of_the_density():
    random = np.random.default_rng(5)
    middles = np.array([[0.2, 0.2], [0.8, 0.3], [0.5, 0.8]])
    points = np.clip(np.repeat(middles, 300, axis=0) + random.normal(scale=0.04, size=(900, 2)), 0, 1)
    labels = find_clusters(points.astype(np.float32))
    assert sorted(np.bincount(labels).tolist()) == [300, 300, 300]
    np.testing.assert_array_equal(labels, find_clusters(points.astype(np.float32)))


def test_rare_values_share_the_last_code():
    import pyarrow as pa

    names = ["common"] * 5 + [f"rare{number}" for number in range(100)]
    facet = build_facet(pa.chunked_array([names]))
    assert (facet.values[0].name, facet.values[0].count) == ("common", 5)
    assert (len(facet.values), facet.values[-1].name) == (MAX_VALUES, OTHER)
    assert sum(value.count for value in facet.values) == len(names)


def test_folders_of_a_dominant_folder_are_told_apart():
    import pyarrow as pa

    paths = [f"src/{part}/{number}.py" for part in ("web", "core") for number in range(10)] + ["docs/a.md", "setup.py"]
    facet = build_folder_facet(pa.chunked_array([paths]))
    assert {value.name for value in facet.values} == {"src/web/", "src/core/", "docs/", "./"}


def test_the_first_points_are_a_sample_of_all_folders(rag):
    built = build_projection(rag.open_generation(), None, "pca", ignore)
    first = built.codes["folder"][built.order[: len(built) // 2]]
    shares = np.bincount(first, minlength=2) / len(first)
    assert shares.min() > 0.35

    assert MAX_COORDINATE >= built.x.max() >= built.x.min() >= 0
