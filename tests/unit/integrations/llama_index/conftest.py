from tests.support.index_world import store, world

__all__ = ["store", "world"]
