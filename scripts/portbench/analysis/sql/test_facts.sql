-- What comparisons need of each test of each configuration, computed once: its verdict, why it was skipped, whether it was not timed
-- since the synchronization check failed, and its times: the sum of all first calls (cold), the median call after the warm-up
-- (steady). Successors do not count. On the views of the summary.
CREATE TEMP TABLE IF NOT EXISTS test_facts AS
WITH times AS (
    SELECT
        framework, version, device, machine, sync, function, test,
        count(cold) AS cold_calls,
        sum(cold.call_ns::HUGEINT + coalesce(cold.wait_ns, 0)) AS cold_ns,
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
        coalesce(bool_or(NOT sync_check.passed), false) AS unproven
    FROM recorded
    WHERE (outcome = 'skipped' OR category = 'unavailable' OR NOT sync_check.passed) AND successor_of = ''
    GROUP BY ALL
)
SELECT
    framework, version, device, machine, sync, function, test, verdict,
    CASE WHEN verdict = 'skipped' THEN reason END AS reason,
    coalesce(unproven, false) AS unproven,
    cold_calls,
    cold_ns,
    steady_median_ns
FROM verdicts
LEFT JOIN times USING (framework, version, device, machine, sync, function, test)
LEFT JOIN reasons USING (framework, version, device, machine, sync, function, test)
WHERE successor_of = '';
