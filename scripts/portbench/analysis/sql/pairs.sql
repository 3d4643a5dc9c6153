-- The tests of two configurations in pairs; created again for each pair. On test_facts.sql and the views of the summary.
-- Variables: first, second (the keys of the configurations: structs of framework, version, device, machine and sync), protocol
-- (cold or steady).
CREATE OR REPLACE TEMP VIEW compared AS
SELECT 1 AS place, unnest(getvariable('first'))
UNION ALL
SELECT 2 AS place, unnest(getvariable('second'));

-- A null struct: nothing was recorded of the test on that configuration.
CREATE OR REPLACE TEMP VIEW paired_tests AS
WITH placed AS (
    SELECT
        place,
        function,
        test,
        {
            verdict: verdict,
            reason: reason,
            is_timed: verdict IN ('passed', 'unknown') AND if(getvariable('protocol') = 'cold', cold_ns, steady_median_ns) IS NOT NULL,
            unproven: unproven,
            timed_in_some_runs: timed_in_some_runs,
            cold_ns: cold_ns,
            steady_median_ns: steady_median_ns
        } AS facts
    FROM test_facts
    JOIN compared USING (framework, version, device, machine, sync)
),
paired AS (
    SELECT
        function,
        test,
        any_value(facts) FILTER (place = 1) AS first,
        any_value(facts) FILTER (place = 2) AS second
    FROM placed
    GROUP BY ALL
)
SELECT
    *,
    coalesce(first.verdict NOT IN ('skipped', 'unknown', 'error') AND second.verdict NOT IN ('skipped', 'unknown', 'error'), false) AS ran_on_both,
    coalesce(first.is_timed AND second.is_timed, false) AS timed_on_both
FROM paired;

CREATE OR REPLACE TEMP VIEW shared_functions AS
WITH shared AS (
    SELECT function, 1 AS place, first.verdict AS verdict FROM paired_tests WHERE ran_on_both
    UNION ALL
    SELECT function, 2 AS place, second.verdict AS verdict FROM paired_tests WHERE ran_on_both
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
CREATE OR REPLACE TEMP VIEW cold_pairs AS
SELECT function, avg(first.cold_ns) AS first_ns, avg(second.cold_ns) AS second_ns, count(*) AS tests
FROM paired_tests
WHERE timed_on_both
GROUP BY ALL;

CREATE OR REPLACE TEMP VIEW steady_pairs AS
SELECT function, test, first.steady_median_ns AS first_ns, second.steady_median_ns AS second_ns
FROM paired_tests
WHERE timed_on_both;

-- Why a test is excluded, for either configuration: null where it is not.
CREATE OR REPLACE TEMP MACRO why_not_run(side) AS
    CASE WHEN side IS NULL THEN 'not recorded' WHEN side.verdict IN ('skipped', 'unknown', 'error') THEN side.verdict END;

CREATE OR REPLACE TEMP MACRO why_not_timed(side) AS
    CASE
        WHEN side.is_timed THEN NULL
        WHEN side.verdict NOT IN ('passed', 'unknown') OR side IS NULL THEN coalesce(side.verdict, 'not recorded')
        WHEN side.unproven THEN 'unproven'
        WHEN getvariable('protocol') = 'cold' AND side.timed_in_some_runs THEN 'not timed in every run'
        ELSE 'not timed'
    END;

CREATE OR REPLACE TEMP VIEW not_shared AS
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

CREATE OR REPLACE TEMP VIEW not_timed AS
SELECT
    function,
    why_not_timed(first) AS first_state,
    why_not_timed(second) AS second_state,
    first.reason AS first_reason,
    second.reason AS second_reason,
    count(*) AS tests
FROM paired_tests
WHERE NOT timed_on_both
GROUP BY ALL;
