"""Parser ids: a family, its version and the versions of the libraries it stands on."""

from __future__ import annotations

from functools import cache
from importlib.metadata import PackageNotFoundError, version


def family_id(family: str, number: int, *distributions: str) -> str:
    """Return for example ``html-v1 lxml=6.1.3``, without importing the libraries.

    A library that is not installed is written ``absent``, so that installing it changes the id.
    """
    return " ".join([f"{family}-v{number}", *(f"{d}={library_version(d)}" for d in distributions)])


@cache  # asked for with each file, and each time a search of the disk
def library_version(distribution: str) -> str:
    """Return the installed version of a distribution, or ``absent``."""
    try:
        return version(distribution)
    except PackageNotFoundError:
        return "absent"
