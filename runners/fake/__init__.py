"""A framework that needs no framework: it drives the core's own tests and shows every way in which a test can end.

Its device xla is an accelerator as they are: work there is only begun by a call, some functions lack a kernel and go to
the host, some are imprecise unless told otherwise, some are wrong. For tpu-v3 and tpu-v5e there is a pretended
compiler, which gets for the former what xla has made of a call.
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
    """NumPy, which reads values back, shall start no threads of its own: a worker is one thread."""
    return {"OPENBLAS_NUM_THREADS": "1"}
