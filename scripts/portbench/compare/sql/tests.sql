-- The facts of each test on one side of a comparison, over all its runs. On the views of analysis.sql.
-- Variables: framework, version, device, machine, sync.
WITH of_side AS (
    SELECT *, outcome NOT IN ('passed', 'skipped', 'error') AND category IS DISTINCT FROM 'removed' AS is_failure
    FROM recorded
    WHERE
        framework = getvariable('framework')
        AND version = getvariable('version')
        AND device = getvariable('device')
        AND machine = getvariable('machine')
        AND sync = getvariable('sync')
)
SELECT
    function,
    successor_of,
    test,
    any_value(verdict) AS verdict,
    any_value(passed_runs) AS passed_runs,
    any_value(ran_runs) AS ran_runs,
    coalesce(list_sort(list(DISTINCT category) FILTER (is_failure AND category IS NOT NULL)), []) AS categories,
    coalesce(bool_or(value_verdict = 'wrong'), false) AS is_wrong,
    -- The worst of all passing runs: one fallback to the host is a finding, whatever the other runs did.
    CASE
        WHEN bool_or(outcome = 'passed' AND placement = 'host') THEN 'host'
        WHEN bool_or(outcome = 'passed' AND placement = 'mixed') THEN 'mixed'
        WHEN bool_or(outcome = 'passed' AND placement = 'device') THEN 'device'
        ELSE 'unknown'
    END AS placement,
    coalesce(
        list_sort(list(DISTINCT operation) FILTER (operation IS NOT NULL)), []
    ) AS host_operations,
    min(coalesce(reason, error_message, '')) FILTER (NOT is_failure AND outcome <> 'passed') AS skip_reason,
    coalesce(bool_or(category = 'removed'), false) AS is_removed,
    -- Of the first run that failed.
    arg_min(
        coalesce(error_type || ': ' || ltrim(error_message, chr(9) || chr(10) || chr(13) || ' '), reason, exit_signal, outcome),
        run
    ) FILTER (is_failure) AS evidence,
    coalesce(bool_or(NOT sync_check.passed), false) AS has_failed_sync_check
FROM (SELECT *, unnest(coalesce(nullif(host_operations, []), [NULL])) AS operation FROM of_side)
JOIN verdicts USING (framework, version, device, machine, sync, function, successor_of, test)
GROUP BY function, successor_of, test;
