from tests.support.index_world import new_world, store, world

__all__ = ["new_world", "store", "world"]
