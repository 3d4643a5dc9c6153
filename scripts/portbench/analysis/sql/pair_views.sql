-- What is compared of two configurations. On pairs.sql.
CREATE TEMP VIEW IF NOT EXISTS shared_functions AS
WITH shared AS (
    SELECT function, unnest([1, 2]) AS place, unnest([first.verdict, second.verdict]) AS verdict
    FROM paired_tests
    WHERE ran_on_both
),
counted AS (
    SELECT
        place,
        function,
        count(*) FILTER (verdict = 'passed') AS passed,
        count(*) FILTER (verdict = 'failed') AS failed,
        count(*) FILTER (verdict = 'flaky') AS flaky
    FROM shared
    GROUP BY ALL
)
SELECT *, status_of(passed, failed, flaky) AS status
FROM counted;

-- The paper's method: the mean over the tests that every run timed on both, of each test's mean over its calls and runs.
-- In a fixed order: the last digit of a sum depends on it.
CREATE TEMP VIEW IF NOT EXISTS cold_pairs AS
WITH timed AS (
    SELECT
        function,
        list_sort(list({test: test, first_ns: first.cold_ns, second_ns: second.cold_ns})) AS tests
    FROM paired_tests
    WHERE has_cold
    GROUP BY ALL
)
SELECT
    function,
    list_avg(list_transform(tests, lambda one: one.first_ns)) AS first_ns,
    list_avg(list_transform(tests, lambda one: one.second_ns)) AS second_ns,
    len(tests) AS tests
FROM timed;

CREATE TEMP VIEW IF NOT EXISTS steady_pairs AS
SELECT function, test, first.steady_ns AS first_ns, second.steady_ns AS second_ns
FROM paired_tests
WHERE has_steady;

-- Why a test is excluded, for either configuration: null where it is not.
CREATE TEMP MACRO IF NOT EXISTS why_not_run(side) AS
    CASE WHEN side IS NULL THEN 'not recorded' WHEN side.verdict IN ('skipped', 'unknown', 'error') THEN side.verdict END;

CREATE TEMP MACRO IF NOT EXISTS why_not_timed(side, ns, in_some_runs) AS
    CASE
        WHEN side.is_known AND ns IS NOT NULL THEN NULL
        WHEN side IS NULL THEN 'not recorded'
        WHEN NOT side.is_known THEN side.verdict
        WHEN side.unproven THEN 'unproven'
        WHEN in_some_runs THEN 'not timed in every run'
        ELSE 'not timed'
    END;

-- A test that passed without times, though the synchronization check passed, only checks values. Where it has none on the other
-- side either, it is none of those that are compared by time.
CREATE TEMP MACRO IF NOT EXISTS only_checks(side, ns, in_some_runs) AS
    coalesce(side.is_known AND ns IS NULL AND NOT side.unproven AND NOT in_some_runs, false);

CREATE TEMP VIEW IF NOT EXISTS not_shared AS
SELECT
    function,
    why_not_run(first) AS first_state,
    why_not_run(second) AS second_state,
    first.reason AS first_reason,
    second.reason AS second_reason,
    count(*) AS tests
FROM paired_tests
WHERE NOT ran_on_both
GROUP BY ALL;

CREATE TEMP VIEW IF NOT EXISTS not_timed_cold AS
SELECT
    function,
    why_not_timed(first, first.cold_ns, first.timed_in_some_runs) AS first_state,
    why_not_timed(second, second.cold_ns, second.timed_in_some_runs) AS second_state,
    first.reason AS first_reason,
    second.reason AS second_reason,
    count(*) AS tests
FROM paired_tests
WHERE
    NOT has_cold
    AND NOT (only_checks(first, first.cold_ns, first.timed_in_some_runs) AND second.cold_ns IS NULL)
    AND NOT (only_checks(second, second.cold_ns, second.timed_in_some_runs) AND first.cold_ns IS NULL)
GROUP BY ALL;

CREATE TEMP VIEW IF NOT EXISTS not_timed_steady AS
SELECT
    function,
    why_not_timed(first, first.steady_ns, false) AS first_state,
    why_not_timed(second, second.steady_ns, false) AS second_state,
    first.reason AS first_reason,
    second.reason AS second_reason,
    count(*) AS tests
FROM paired_tests
WHERE
    NOT has_steady
    AND NOT (only_checks(first, first.steady_ns, false) AND second.steady_ns IS NULL)
    AND NOT (only_checks(second, second.steady_ns, false) AND first.steady_ns IS NULL)
GROUP BY ALL;
