-- What comparisons need of each test of each configuration, computed once: its verdict, why it was skipped, whether it was not timed
-- since the synchronization check failed, and its times: the mean of all first calls (cold), null unless every run timed one; the
-- median call after the warm-up (steady). Successors do not count. On the views of the summary.
CREATE TEMP TABLE IF NOT EXISTS test_facts AS
WITH times AS (
    SELECT
        framework, version, device, machine, sync, function, test,
        count(DISTINCT (run_id, run)) FILTER (cold IS NOT NULL) AS timed_runs,
        sum(cold.call_ns::HUGEINT + coalesce(cold.wait_ns, 0)) / count(cold) AS cold_ns,
        list_median(
            flatten(list(list_transform(steady.block_ns, lambda ns: ns / steady.calls_per_block)) FILTER (steady IS NOT NULL))
        ) AS steady_median_ns
    FROM measured_calls
    WHERE successor_of = ''
    GROUP BY ALL
),
reasons AS (
    SELECT
        framework, version, device, machine, sync, function, test,
        min(coalesce(reason, error_message)) FILTER (outcome = 'skipped' OR category = 'unavailable') AS reason,
        coalesce(bool_or(NOT sync_check.passed), false) AS unproven,
        count(*) AS runs
    FROM recorded
    WHERE successor_of = ''
    GROUP BY ALL
)
SELECT
    framework, version, device, machine, sync, function, test, verdict,
    CASE WHEN verdict = 'skipped' THEN reason END AS reason,
    coalesce(unproven, false) AS unproven,
    CASE WHEN timed_runs = runs THEN cold_ns END AS cold_ns,
    coalesce(timed_runs BETWEEN 1 AND runs - 1, false) AS timed_in_some_runs,
    steady_median_ns
FROM verdicts
LEFT JOIN times USING (framework, version, device, machine, sync, function, test)
LEFT JOIN reasons USING (framework, version, device, machine, sync, function, test)
WHERE successor_of = '';
