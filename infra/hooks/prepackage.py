"""Before packaging: build the embedding model, which is deployed with the app, and check the package."""

import sys

from environment import MODEL, ROOT, build_model, say, stop
from package import Package, problems_of


def main() -> int:
    if build_model() != 0:
        return stop(f"The embedding model could not be built into {MODEL}: see the lines above.")
    package = Package(ROOT)
    problems = problems_of(package, MODEL)
    if problems:
        return stop("\n".join(["The package is not deployed:", *problems]))
    say(f"The package: {len(package.files)} files, {package.size / 1e6:.0f} MB, with the model of {MODEL}.")
    return 0


sys.exit(main())
