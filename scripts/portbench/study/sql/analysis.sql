-- The verdict of each test, and the status and times of each function, for each target on each machine. Results of different
-- machines, and of different synchronizations, are never pooled. On the views of recorded.sql.

-- The verdict of a test from the number of its runs of each kind.
CREATE TEMP MACRO verdict_of(passed_runs, ran_runs, error_runs, unknown_runs) AS
    CASE
        WHEN ran_runs = 0 AND error_runs > 0 THEN 'error'
        WHEN ran_runs = 0 AND unknown_runs > 0 THEN 'unknown'
        WHEN ran_runs = 0 THEN 'skipped'
        WHEN passed_runs = ran_runs THEN 'passed'
        WHEN passed_runs = 0 THEN 'failed'
        ELSE 'flaky'
    END;

-- What was seen of each test: results with the same facts are one row, with their number. It has fewer and shorter rows than
-- recorded, and is read many times. The reason is that of a result that counts as not run.
CREATE TABLE seen_results AS
SELECT
    framework, version, device, machine, sync, run_id, function, successor_of, test,
    outcome,
    misplaced,
    placement,
    category,
    value_verdict,
    CASE WHEN outcome = 'skipped' OR category = 'removed' THEN coalesce(reason, error_message, '') END AS not_run_reason,
    CASE WHEN value_verdict = 'wrong' THEN deviation END AS deviation,
    cpu_control.outcome AS cpu_control,
    full_precision.outcome AS full_precision,
    CASE WHEN outcome = 'passed' AND placement IN ('host', 'mixed') THEN host_operations END AS host_operations,
    sync_check.passed AS passed_sync_check,
    count(*) AS runs
FROM recorded
GROUP BY ALL;

-- A test with an error of its own (error) counts in no rate. A test of unknown outcome (of an imported run) counts in no rate; its times count.
-- A result whose function is not in that version counts as not run, like a skipped one.
CREATE TABLE verdicts AS
WITH counted AS (
    SELECT
        framework, version, device, machine, sync, function, successor_of, test,
        coalesce(sum(runs) FILTER (outcome = 'passed' AND NOT misplaced), 0)::BIGINT AS passed_runs,
        coalesce(
            sum(runs) FILTER (outcome NOT IN ('skipped', 'error') AND category IS DISTINCT FROM 'removed'), 0
        )::BIGINT AS ran_runs,
        coalesce(sum(runs) FILTER (outcome = 'error'), 0)::BIGINT AS error_runs,
        coalesce(sum(runs) FILTER (outcome IS NULL), 0)::BIGINT AS unknown_runs
    FROM seen_results
    GROUP BY ALL
)
SELECT *, verdict_of(passed_runs, ran_runs, error_runs, unknown_runs) AS verdict
FROM counted;

-- The times of each test, from its calls as they are stored, since the view samples has a row for each block. The sums are of whole
-- numbers, so that their order does not matter. Parts are those of cold_split.sql, in the order of its list: the time of first
-- calls whose parts add up to no more than the call took, and whether any call has the counter, which a call lacks where it did
-- not rise. The median is over the blocks of all runs and timed calls.
CREATE TABLE test_times AS
WITH counted AS (
    SELECT
        *,
        cold.call_ns::HUGEINT + coalesce(cold.wait_ns, 0) AS cold_ns,
        from_json(
            cold.counters,
            '{
                "trace_ns": "HUGEINT", "lower_ns": "HUGEINT", "compile_ns": "HUGEINT",
                "to_device_ns": "HUGEINT", "execute_ns": "HUGEINT", "from_device_ns": "HUGEINT"
            }'
        ) AS part
    FROM measured_calls
),
timed AS (
    SELECT
        framework, version, device, machine, sync, function, successor_of, test, cold_ns, part,
        cold_ns
            - coalesce(part.trace_ns, 0) - coalesce(part.lower_ns, 0) - coalesce(part.compile_ns, 0)
            - coalesce(part.to_device_ns, 0) - coalesce(part.execute_ns, 0) - coalesce(part.from_device_ns, 0) AS rest_ns,
        list_transform(steady.block_ns, lambda ns: ns / steady.calls_per_block) AS blocks
    FROM counted
),
summed AS (
    SELECT
        framework, version, device, machine, sync, function, successor_of, test,
        count(cold_ns) AS cold_calls,
        sum(cold_ns) AS cold_ns,
        count(*) FILTER (rest_ns >= 0) AS split_calls,
        count(*) FILTER (rest_ns < 0) AS overlapping_calls,
        sum(cold_ns) FILTER (rest_ns >= 0) AS split_ns,
        sum(rest_ns) FILTER (rest_ns >= 0) AS rest_ns,
        [
            sum(part.trace_ns) FILTER (rest_ns >= 0),
            sum(part.lower_ns) FILTER (rest_ns >= 0),
            sum(part.compile_ns) FILTER (rest_ns >= 0),
            sum(part.to_device_ns) FILTER (rest_ns >= 0),
            sum(part.execute_ns) FILTER (rest_ns >= 0),
            sum(part.from_device_ns) FILTER (rest_ns >= 0)
        ] AS parts_ns,
        [
            count(part.trace_ns) > 0,
            count(part.lower_ns) > 0,
            count(part.compile_ns) > 0,
            count(part.to_device_ns) > 0,
            count(part.execute_ns) > 0,
            count(part.from_device_ns) > 0
        ] AS has_parts,
        list_median(flatten(list(blocks) FILTER (blocks IS NOT NULL))) AS median_ns
    FROM timed
    GROUP BY ALL
)
SELECT summed.*, verdict
FROM summed
JOIN verdicts USING (framework, version, device, machine, sync, function, successor_of, test);

-- As in the paper: the mean over the passing tests of each test's mean over its timed first calls and runs.
-- In a fixed order: the last digit of a sum depends on it.
CREATE TEMP VIEW cold_times AS
SELECT
    framework, version, device, machine, sync, function, successor_of,
    avg(cold_ns / cold_calls ORDER BY cold_ns / cold_calls) AS cold_mean_ns
FROM test_times
WHERE cold_calls > 0 AND verdict IN ('passed', 'unknown')
GROUP BY ALL;

CREATE TEMP VIEW steady_times AS
SELECT framework, version, device, machine, sync, function, successor_of, median(median_ns) AS steady_median_ns
FROM test_times
WHERE median_ns IS NOT NULL AND verdict IN ('passed', 'unknown')
GROUP BY ALL;

-- The status of a function from the number of its tests with each verdict.
CREATE TEMP MACRO status_of(passed, failed, flaky) AS
    CASE
        WHEN passed + failed + flaky = 0 THEN 'not_testable'
        WHEN failed + flaky = 0 THEN 'all_pass'
        WHEN passed + flaky = 0 THEN 'all_fail'
        ELSE 'some_fail'
    END;

CREATE TEMP VIEW functions AS
WITH counted AS (
    SELECT
        framework, version, device, machine, sync, function, successor_of,
        count(*) FILTER (verdict = 'passed') AS passed,
        count(*) FILTER (verdict = 'failed') AS failed,
        count(*) FILTER (verdict = 'flaky') AS flaky,
        count(*) FILTER (verdict = 'skipped') AS skipped,
        count(*) FILTER (verdict = 'error') AS error
    FROM verdicts
    GROUP BY ALL
)
SELECT
    *,
    status_of(passed, failed, flaky) AS status
FROM counted
LEFT JOIN cold_times USING (framework, version, device, machine, sync, function, successor_of)
LEFT JOIN steady_times USING (framework, version, device, machine, sync, function, successor_of);

-- The number of tests of a function in which something was seen.
CREATE TEMP VIEW categories AS
SELECT framework, version, device, machine, sync, function, successor_of, category AS seen, count(DISTINCT test) AS tests
FROM seen_results
WHERE category IS NOT NULL
GROUP BY ALL;

CREATE TEMP VIEW placements AS
SELECT framework, version, device, machine, sync, function, successor_of, placement AS seen, count(DISTINCT test) AS tests
FROM seen_results
WHERE outcome = 'passed'
GROUP BY ALL;

CREATE TEMP VIEW skip_reasons AS
SELECT
    framework, version, device, machine, sync, function, successor_of,
    not_run_reason AS seen,
    count(DISTINCT test) AS tests
FROM seen_results
JOIN verdicts USING (framework, version, device, machine, sync, function, successor_of, test)
WHERE verdict = 'skipped'
GROUP BY ALL;

-- Tests whose outcome differs between runs, and the categories of the runs in which they failed.
CREATE TEMP VIEW flaky_tests AS
SELECT
    framework, version, device, machine, sync, function, successor_of, test,
    any_value(passed_runs) AS passed,
    any_value(ran_runs) AS ran,
    list_sort(list(DISTINCT CASE WHEN misplaced THEN 'placement' ELSE category END)) AS categories
FROM seen_results
JOIN verdicts USING (framework, version, device, machine, sync, function, successor_of, test)
WHERE verdict = 'flaky' AND (misplaced OR (outcome NOT IN ('passed', 'skipped', 'error') AND category IS DISTINCT FROM 'removed'))
GROUP BY ALL;
