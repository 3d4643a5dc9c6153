-- Two sides beside each other, test by test. On the views of analysis.sql.
-- Variables: first, second (the keys of the sides: structs of framework, version, device, machine and sync), protocol (cold or
-- steady).
CREATE OR REPLACE TEMP VIEW compared AS
SELECT 1 AS place, unnest(getvariable('first'))
UNION ALL
SELECT 2 AS place, unnest(getvariable('second'));

-- What is to be said of a test on either side: its verdict, null where nothing was recorded.
CREATE OR REPLACE TEMP VIEW paired_verdicts AS
SELECT
    function,
    test,
    any_value(verdict) FILTER (place = 1) AS first_state,
    any_value(verdict) FILTER (place = 2) AS second_state
FROM verdicts
JOIN compared USING (framework, version, device, machine, sync)
WHERE successor_of = ''
GROUP BY ALL;

-- The tests that ran on both.
CREATE OR REPLACE TEMP VIEW shared_functions AS
WITH shared AS (
    SELECT function, test, unnest([{place: 1, verdict: first_state}, {place: 2, verdict: second_state}], recursive := true)
    FROM paired_verdicts
    WHERE first_state <> 'skipped' AND second_state <> 'skipped'
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

-- Why a test was skipped, and whether it was not timed since waiting was not proven.
CREATE OR REPLACE TEMP VIEW told_reasons AS
SELECT
    place,
    function,
    test,
    min(coalesce(reason, error_message)) FILTER (outcome = 'skipped' OR category = 'unavailable') AS reason,
    coalesce(bool_or(NOT proof.passed), false) AS unproven
FROM told
JOIN compared USING (framework, version, device, machine, sync)
WHERE successor_of = ''
GROUP BY ALL;

CREATE OR REPLACE TEMP VIEW paired_reasons AS
SELECT
    function,
    test,
    any_value(reason) FILTER (place = 1) AS first_reason,
    any_value(reason) FILTER (place = 2) AS second_reason,
    coalesce(bool_or(unproven) FILTER (place = 1), false) AS first_unproven,
    coalesce(bool_or(unproven) FILTER (place = 2), false) AS second_unproven
FROM told_reasons
GROUP BY ALL;

CREATE OR REPLACE TEMP VIEW not_shared AS
SELECT
    function,
    CASE WHEN first_state <> 'skipped' THEN 'ran' ELSE first_state END AS first_state,
    CASE WHEN second_state <> 'skipped' THEN 'ran' ELSE second_state END AS second_state,
    CASE WHEN first_state = 'skipped' THEN first_reason END AS first_reason,
    CASE WHEN second_state = 'skipped' THEN second_reason END AS second_reason,
    count(*) AS tests
FROM paired_verdicts
JOIN paired_reasons USING (function, test)
WHERE (first_state <> 'skipped' AND second_state <> 'skipped') IS NOT true
GROUP BY ALL;

-- A test's times on either side: all first calls together, or the median call after the warm-up.
CREATE OR REPLACE TEMP VIEW side_times AS
SELECT
    place,
    function,
    test,
    count(*) AS samples,
    sum(call_ns::HUGEINT + wait_ns) AS total_ns,
    median(block_ns / calls_per_block) AS median_ns
FROM measured
JOIN compared USING (framework, version, device, machine, sync)
WHERE protocol = getvariable('protocol') AND successor_of = ''
GROUP BY ALL;

CREATE OR REPLACE TEMP VIEW paired_times AS
WITH times AS (
    SELECT
        function,
        test,
        any_value({samples: samples, total_ns: total_ns, median_ns: median_ns}) FILTER (place = 1) AS first,
        any_value({samples: samples, total_ns: total_ns, median_ns: median_ns}) FILTER (place = 2) AS second
    FROM side_times
    GROUP BY ALL
)
SELECT
    function,
    test,
    first,
    second,
    CASE WHEN first_state = 'passed' AND first IS NULL THEN 'not timed' ELSE first_state END AS first_state,
    CASE WHEN second_state = 'passed' AND second IS NULL THEN 'not timed' ELSE second_state END AS second_state,
    coalesce(first_state = 'passed' AND second_state = 'passed', false) AND first IS NOT NULL AND second IS NOT NULL AS timed
FROM paired_verdicts
LEFT JOIN times USING (function, test);

-- As published: the mean of all first calls of the tests that were timed on both.
CREATE OR REPLACE TEMP VIEW cold_pairs AS
SELECT
    function,
    sum(first.total_ns) / sum(first.samples) AS first_ns,
    sum(second.total_ns) / sum(second.samples) AS second_ns,
    count(*) AS tests
FROM paired_times
WHERE timed
GROUP BY ALL;

CREATE OR REPLACE TEMP VIEW steady_pairs AS
SELECT function, test, first.median_ns AS first_ns, second.median_ns AS second_ns
FROM paired_times
WHERE timed;

CREATE OR REPLACE TEMP VIEW not_timed AS
SELECT
    function,
    CASE WHEN first_state = 'not timed' AND first_unproven THEN 'unproven' ELSE first_state END AS first_state,
    CASE WHEN second_state = 'not timed' AND second_unproven THEN 'unproven' ELSE second_state END AS second_state,
    CASE WHEN first_state = 'skipped' THEN first_reason END AS first_reason,
    CASE WHEN second_state = 'skipped' THEN second_reason END AS second_reason,
    count(*) AS tests
FROM paired_times
JOIN paired_reasons USING (function, test)
WHERE NOT timed
GROUP BY ALL;
