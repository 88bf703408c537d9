"""Makes shared/consensus/acts.json from LEDA: `python -m evaluation.train_acts [file ...]`."""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evaluation.data import corpus_files
from evaluation.leda import features_of, held_out_probabilities, labels_of
from evaluation.leda_corpus import LedaSegment, read_leda, thread_numbers
from evaluation.logistic import RIDGE, fit
from evaluation.scores import best_threshold
from shared.consensus.acts import Act
from shared.consensus.cues import FEATURES

__all__ = ["trained"]

TARGET = Path(__file__).resolve().parents[1] / "shared" / "consensus" / "acts.json"
PROVENANCE = (
    "Weights of hand-written cues (shared/consensus/cues.py), fitted by evaluation/train_acts.py to the"
    " labels of "
    "the given half of LEDA (sodestream/acl2023-email-da-dataset, a GPL-3.0 repository). They hold no text"
    " of it."
)


def trained(segments: list[LedaSegment]) -> dict[str, Any]:
    features = features_of(segments)
    acts = {act.value: _trained_act(features, segments, act) for act in Act}
    return {"provenance": PROVENANCE, "ridge": RIDGE, "features": list(FEATURES), "acts": acts}


def _trained_act(features: NDArray[np.float64], segments: list[LedaSegment], act: Act) -> dict[str, Any]:
    labels = labels_of(segments, act)
    threshold = best_threshold(labels, held_out_probabilities(features, labels, thread_numbers(segments)))
    fitted = fit(features, labels)
    return {
        "bias": round(fitted.bias, 3),
        "threshold": round(threshold, 3),
        "weights": [round(float(weight), 3) for weight in fitted.weights],
    }


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m evaluation.train_acts", description=__doc__)
    parser.add_argument(
        "files", nargs="*", type=Path, help="LEDA files (default: leda/*.json of the corpora)"
    )
    options = parser.parse_args(arguments)
    model = trained(read_leda(options.files or corpus_files("leda/*.json")))
    TARGET.write_text(json.dumps(model, indent=1) + "\n", encoding="utf-8")
    print(f"wrote {TARGET.name}: {len(model['features'])} weights for each of {', '.join(model['acts'])}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
