"""Routers of a package of route modules."""

import importlib
import pkgutil
from types import ModuleType

from fastapi import APIRouter


def list_routers(package: ModuleType) -> list[APIRouter]:
    """List the routers of the modules ``*_routes`` of a package."""
    names = [module.name for module in pkgutil.iter_modules(package.__path__) if module.name.endswith("_routes")]
    return [importlib.import_module(f"{package.__name__}.{name}").router for name in names]
