"""TensorFlow: what counts as public when its functions are listed."""

from __future__ import annotations

from runners.core.public.library import StudyRule

SUBMODULES = False
"""``import tensorflow`` shows all public modules; the files below ``tensorflow/python`` are internal."""

LEFT_OUT = tuple(
    f"{root}.compat.{outer}.compat.{inner}"
    for root in ("tensorflow", "tensorflow._api.v2")
    for outer in ("v1", "v2")
    for inner in ("v1", "v2")
)
"""Duplicates: each compatibility module shows both, which would give some functions a hundred names."""
SHOWN = ()

STUDY = StudyRule(
    at_top=("tensorflow._api.v2", "tensorboard.summary", "tensorflow_estimator", "keras", "compat"),
    left_out=("raw_ops",),
    methods=True,
)
