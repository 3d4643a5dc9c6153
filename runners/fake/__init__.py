"""A pretended framework for the core's own tests, which shows every way in which a test can end.

Its device xla behaves like an accelerator: a call only starts work, some functions have no kernel and run on the host,
some are imprecise unless full precision is on, some are wrong. For tpu-v3 and tpu-v5e there is a pretended compiler;
for tpu-v3, calls are made on xla.
"""

from __future__ import annotations

from typing import Mapping

MODULE = "runners.fake.library"
NAMESPACE = "fake"
PACKAGES = ("runners",)
CODE_EXECUTION_APIS = ()
DEVICES = ("cpu", "xla")
PREDICTED = dict.fromkeys(("tpu-v3", "tpu-v5e"), "predict")
FORKS_AFTER_IMPORT = ("cpu", "xla", *PREDICTED)


def variables(device: str) -> Mapping[str, str]:
    """NumPy, which reads values back, must not start threads: a worker has one thread."""
    return {"OPENBLAS_NUM_THREADS": "1"}
