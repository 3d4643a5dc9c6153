"""The words and limits that tables, figures, page and report share. Imports nothing, so that commands start fast."""

from __future__ import annotations

PAPER_METHOD, ROBUST = "paper's method", "robust"
"""The two methods of analysis; every figure is labelled with one of them. "published" is only said of figures that the
paper prints."""

METHOD_SLUGS = {PAPER_METHOD: "paper-method", ROBUST: "robust"}
"""The methods in names of files."""

INTOLERABLE = 10.0
"""A function that takes more than so many times as long is in the paper's class of intolerable latencies."""

NEWER = 1.5
"""A function counts as faster on newer hardware from this factor on, as in the paper."""

EXTREMES = 5
"""How many functions the paper's Table 2 has of each end."""

PAPER_STATUSES = {"all_pass": "success", "some_fail": "partial", "all_fail": "complete"}
"""The paper's words for the statuses, in its order. Only the paper's own tables use them."""

PAPER_STATUSES_NOTE = (
    "success, partial and complete are the paper's words: all tests of a function pass, some fail, all fail."
)

STRICT = "Strict placement: a test that passed, but not wholly on the device, counts as failed."

COLLECTED_TESTS = (
    "Collected tests: the inputs are the framework's own, and most results are compared with the same version on the "
    "CPU. What it computes wrong everywhere is not seen. They are in no rate of the paper's functions."
)
"""What everything says that shows results of collected tests."""
