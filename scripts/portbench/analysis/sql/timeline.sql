-- The functions of each target by status on each day on which it ran. On a day on which a test did not run it counts with its last
-- result before. On test_facts.sql and the views of the summary.
WITH dated AS (
    SELECT run_id, left(started_at, 10) AS day FROM runs WHERE started_at IS NOT NULL
),
counted AS (
    SELECT
        framework, version, device, machine, sync, function, test, day,
        count(*) FILTER (outcome = 'passed' AND NOT misplaced) AS passed_runs,
        count(*) FILTER (outcome NOT IN ('skipped', 'error') AND category IS DISTINCT FROM 'removed') AS ran_runs,
        count(*) FILTER (outcome = 'error') AS error_runs,
        count(*) FILTER (outcome IS NULL) AS unknown_runs
    FROM recorded
    JOIN dated USING (run_id)
    ANTI JOIN outside_functions USING (framework, version, device, machine, sync, function)
    WHERE successor_of = ''
    GROUP BY ALL
),
-- Each result holds until the day on which its test ran again.
held AS (
    SELECT
        *,
        verdict_of(passed_runs, ran_runs, error_runs, unknown_runs) AS verdict,
        lead(day, 1, '~') OVER (PARTITION BY framework, version, device, machine, sync, function, test ORDER BY day) AS until
    FROM counted
),
days AS (
    SELECT DISTINCT framework, version, device, machine, sync, day FROM counted
),
by_function AS (
    SELECT
        days.framework, days.version, days.device, days.machine, days.sync, days.day, function,
        status_of(
            count(*) FILTER (verdict = 'passed'), count(*) FILTER (verdict = 'failed'), count(*) FILTER (verdict = 'flaky')
        ) AS status
    FROM days
    JOIN held
        ON days.framework = held.framework AND days.version = held.version AND days.device = held.device
        AND days.machine = held.machine AND days.sync = held.sync AND days.day >= held.day AND days.day < held.until
    GROUP BY ALL
)
SELECT framework, version, device, machine, sync, day, status, count(*) AS functions
FROM by_function
GROUP BY ALL
ORDER BY ALL;
