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

-- A test with an error of its own (error) counts in no rate. A test of unknown outcome (of an imported run) counts in no rate; its times count.
-- A result whose function is not in that version counts as not run, like a skipped one.
CREATE TEMP TABLE verdicts AS
WITH counted AS (
    SELECT
        framework, version, device, machine, sync, function, successor_of, test,
        count(*) FILTER (outcome = 'passed' AND NOT misplaced) AS passed_runs,
        count(*) FILTER (outcome NOT IN ('skipped', 'error') AND category IS DISTINCT FROM 'removed') AS ran_runs,
        count(*) FILTER (outcome = 'error') AS error_runs,
        count(*) FILTER (outcome IS NULL) AS unknown_runs
    FROM recorded
    GROUP BY ALL
)
SELECT *, verdict_of(passed_runs, ran_runs, error_runs, unknown_runs) AS verdict
FROM counted;

-- As in the paper: the mean over the passing tests of each test's mean over its timed first calls and runs.
-- In a fixed order: the last digit of a sum depends on it.
CREATE TEMP VIEW cold_times AS
WITH of_test AS (
    SELECT
        framework, version, device, machine, sync, function, successor_of, test,
        sum(cold.call_ns::HUGEINT + coalesce(cold.wait_ns, 0)) / count(*) AS mean_ns
    FROM measured_calls
    JOIN verdicts USING (framework, version, device, machine, sync, function, successor_of, test)
    WHERE cold IS NOT NULL AND verdict IN ('passed', 'unknown')
    GROUP BY ALL
)
SELECT framework, version, device, machine, sync, function, successor_of, avg(mean_ns ORDER BY mean_ns) AS cold_mean_ns
FROM of_test
GROUP BY ALL;

-- The median of a test is over the blocks of all its runs and timed calls. It reads the calls as they are stored, since the
-- view samples has a row for each block.
CREATE TEMP VIEW steady_times AS
WITH of_test AS (
    SELECT
        framework, version, device, machine, sync, function, successor_of, test,
        list_median(
            flatten(list(list_transform(steady.block_ns, lambda ns: ns / steady.calls_per_block)))
        ) AS median_ns
    FROM measured_calls
    JOIN verdicts USING (framework, version, device, machine, sync, function, successor_of, test)
    WHERE steady IS NOT NULL AND verdict IN ('passed', 'unknown')
    GROUP BY ALL
)
SELECT framework, version, device, machine, sync, function, successor_of, median(median_ns) AS steady_median_ns
FROM of_test
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
FROM recorded
WHERE category IS NOT NULL
GROUP BY ALL;

CREATE TEMP VIEW placements AS
SELECT framework, version, device, machine, sync, function, successor_of, placement AS seen, count(DISTINCT test) AS tests
FROM recorded
WHERE outcome = 'passed'
GROUP BY ALL;

CREATE TEMP VIEW skip_reasons AS
SELECT
    framework, version, device, machine, sync, function, successor_of,
    coalesce(reason, error_message, '') AS seen,
    count(DISTINCT test) AS tests
FROM recorded
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
FROM recorded
JOIN verdicts USING (framework, version, device, machine, sync, function, successor_of, test)
WHERE verdict = 'flaky' AND (misplaced OR (outcome NOT IN ('passed', 'skipped', 'error') AND category IS DISTINCT FROM 'removed'))
GROUP BY ALL;
