"""The summary of a study, study.json, as types: each class has the properties of an object in schema/study.schema.json.

The types are those of the present version of the format. Summaries that older versions wrote lack some properties.
"""

from __future__ import annotations

from typing import TypedDict

Counts = dict[str, int]
"""The number of tests with each value that was seen."""


class TargetName(TypedDict):
    """A framework in one version on one device."""

    framework: str
    version: str
    device: str


class ManifestName(TypedDict):
    """A manifest."""

    name: str
    sha256: str


class RunFileEntry(TypedDict):
    """A run file of the study."""

    run_id: str
    sha256: str
    target: TargetName
    machine: str
    sync: str
    manifest: ManifestName
    started_at: str | None


class DriftValue(TypedDict):
    """A value of a fact, and the digests of the run files with it."""

    value: str
    run_files: list[str]


class DriftEntry(TypedDict):
    """A fact with several values."""

    target: str | None
    machine: str | None
    fact: str
    values: list[DriftValue]


class FailureCause(TypedDict):
    """Failures with one cause, over all targets and machines."""

    fingerprint: str
    framework: str
    predicted: bool
    cause: str
    categories: list[str]
    results: int
    tests: int
    functions: list[str]
    targets: list[str]
    machines: list[str]


class OverruledTest(TypedDict):
    """A test whose category an annotation decided."""

    target: TargetName
    machine: str
    sync: str
    function: str
    successor_of: str | None
    test: str
    fingerprint: str
    by_rules: str
    category: str
    reason: str
    link: str | None
    results: int


class ClassificationDigests(TypedDict):
    """The files that categories were derived from."""

    rules_sha256: str
    annotations_sha256: str | None


class SyncChecks(TypedDict):
    """Synchronization checks of the workers of a target."""

    passed: int
    failed: int
    reason: str | None
    seen_fraction: float | None


class Missing(TypedDict):
    """Functions and tests of the manifests without any record."""

    functions: list[str]
    tests: int


class FlakyTest(TypedDict):
    """A test that passed in some runs and failed in others."""

    test: str
    passed: int
    ran: int
    categories: list[str]


class WrongValues(TypedDict):
    """A test with wrong values."""

    test: str
    runs: int
    dtype: str | None
    deviation_on_device: float | None
    deviation_on_host: float | None
    cpu_control: str | None


class HostOperation(TypedDict):
    """An operation that passing tests ran on the host."""

    name: str
    tests: int


class SkipReason(TypedDict):
    """A reason why tests did not run."""

    reason: str
    tests: int


class ColdSplit(TypedDict):
    """The time of first calls in nanoseconds, by part."""

    calls: int
    overlapping_calls: int
    total_ns: float
    rest_ns: float
    parts_ns: dict[str, float]


class FunctionEntry(TypedDict):
    """A function on a target; times in nanoseconds."""

    name: str
    successor_of: str | None
    status: str
    tests_by_verdict: Counts
    tests_by_category: Counts
    tests_by_placement: Counts
    tests_by_value_verdict: Counts
    tests_by_cpu_control: Counts
    tests_by_full_precision: Counts
    flaky_tests: list[FlakyTest]
    wrong_values: list[WrongValues]
    host_operations: list[HostOperation]
    tests_with_failed_sync_check: int
    missing_tests: int | None
    skipped: list[SkipReason]
    cold_mean_ns: float | None
    cold_split: ColdSplit | None
    steady_median_ns: float | None


class TargetEntry(TypedDict):
    """A target on one machine with one synchronization."""

    target: TargetName
    machine: str
    sync: str
    sync_checks: SyncChecks
    missing: Missing | None
    functions_by_status: Counts
    percent_of_rated_functions: dict[str, float] | None
    functions: list[FunctionEntry]


class StudySummary(TypedDict):
    """The whole summary."""

    schema: str
    schema_version: int
    tables: str
    rows: Counts
    strict_placement: bool
    classification: ClassificationDigests | None
    run_files: list[RunFileEntry]
    drift: list[DriftEntry]
    targets: list[TargetEntry]
    failures: list[FailureCause]
    overruled: list[OverruledTest]
