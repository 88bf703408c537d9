"""The progress of pip during setup."""

from tests.support.services import ROOT
from tools.install_progress import packages_in, progress

LINES = [
    "Collecting aiohttp==3.14.5 (from -r requirements-dev.txt (line 2))",
    "  Using cached aiohttp-3.14.5.whl (1.7 MB)",
    "Requirement already satisfied: numpy==2.0 in /x",
    "Installing collected packages: numpy, aiohttp",
    "ERROR: No matching distribution found for nonsense",
    "Successfully installed aiohttp-3.14.5",
]


def test_it_says_which_package_of_how_many_and_what_failed() -> None:
    assert list(progress(LINES, 2)) == [
        "  1 of 2: aiohttp",
        "  2 of 2: numpy",
        "  unpacking 2 packages",
        "ERROR: No matching distribution found for nonsense",
    ]


def test_it_counts_the_pinned_packages_of_the_lock() -> None:
    lock = (ROOT / "requirements-dev.txt").read_text(encoding="utf-8")
    assert packages_in(lock) > 100
    assert packages_in("# a==1\na==1\nb[c]==2 ; python_version < '3'\n    # via a\n") == 2
