-- The functions by status on each day of each target that ran on several days. On a day on which a test did not run it counts with its
-- last result before. On test_facts.sql and the views of the summary.
WITH dated AS (
    SELECT framework, version, device, machine, sync, run_id, left(started_at, 10) AS day
    FROM runs
    WHERE started_at IS NOT NULL
),
-- Numbers instead of names: the joins below are over every test on every day.
targets AS (
    SELECT framework, version, device, machine, sync, row_number() OVER () AS target
    FROM dated
    GROUP BY ALL
    HAVING count(DISTINCT day) > 1
),
days AS (
    SELECT DISTINCT target, day FROM dated JOIN targets USING (framework, version, device, machine, sync)
),
files AS (
    SELECT run_id, target, day FROM dated JOIN targets USING (framework, version, device, machine, sync)
),
outside AS (
    SELECT target, function FROM outside_functions JOIN targets USING (framework, version, device, machine, sync)
),
counted AS (
    SELECT
        target, function, test, day,
        count(*) FILTER (outcome = 'passed' AND NOT misplaced) AS passed_runs,
        count(*) FILTER (outcome NOT IN ('skipped', 'error') AND category IS DISTINCT FROM 'removed') AS ran_runs,
        count(*) FILTER (outcome = 'error') AS error_runs,
        count(*) FILTER (outcome IS NULL) AS unknown_runs
    FROM recorded
    JOIN files USING (run_id)
    WHERE successor_of = ''
    GROUP BY ALL
),
-- Each result holds until the day on which its test ran again.
held AS (
    SELECT
        target, function, day,
        verdict_of(passed_runs, ran_runs, error_runs, unknown_runs) AS verdict,
        lead(day, 1, '~') OVER (PARTITION BY target, function, test ORDER BY day) AS until
    FROM counted
    ANTI JOIN outside USING (target, function)
),
-- The same spans of a function together: their number is that of its changes, and not that of its tests.
spans AS (
    SELECT
        target, function, day, until,
        count(*) FILTER (verdict = 'passed') AS passed,
        count(*) FILTER (verdict = 'failed') AS failed,
        count(*) FILTER (verdict = 'flaky') AS flaky
    FROM held
    GROUP BY ALL
),
by_function AS (
    SELECT days.target, days.day, function, status_of(sum(passed), sum(failed), sum(flaky)) AS status
    FROM days
    JOIN spans ON days.target = spans.target AND days.day >= spans.day AND days.day < spans.until
    GROUP BY ALL
)
SELECT framework, version, device, machine, sync, day, status, count(*) AS functions
FROM by_function
JOIN targets USING (target)
GROUP BY ALL
ORDER BY ALL;
