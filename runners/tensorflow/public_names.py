"""TensorFlow: what counts as public when its functions are listed."""

from __future__ import annotations

from runners.core.enumeration.library import StudyRule

SUBMODULES = False
"""Its public modules are all shown by ``import tensorflow``; the files below ``tensorflow/python`` are its inside."""

LEFT_OUT = tuple(
    f"{root}.compat.{outer}.compat.{inner}"
    for root in ("tensorflow", "tensorflow._api.v2")
    for outer in ("v1", "v2")
    for inner in ("v1", "v2")
)
"""The same again: each compatibility module shows both, which gave some functions a hundred names."""
SHOWN = ()

STUDY = StudyRule(
    at_top=("tensorflow._api.v2", "tensorboard.summary", "tensorflow_estimator", "keras", "compat"),
    left_out=("raw_ops",),
    methods=True,
)
