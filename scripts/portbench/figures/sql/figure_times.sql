-- The spread of the times of passing tests on each configuration: of first calls the mean over all runs, of calls after the
-- warm-up the median. On test_facts.sql.
WITH times AS (
    SELECT framework, version, device, machine, sync, 'cold' AS protocol, cold_ns AS ns
    FROM test_facts
    WHERE verdict IN ('passed', 'unknown') AND cold_ns > 0
    UNION ALL
    SELECT framework, version, device, machine, sync, 'steady' AS protocol, steady_median_ns AS ns
    FROM test_facts
    WHERE verdict IN ('passed', 'unknown') AND steady_median_ns > 0
)
SELECT
    framework, version, device, machine, sync, protocol,
    count(*) AS tests,
    quantile_cont(ns, [0, 0.05, 0.25, 0.5, 0.75, 0.95, 1]) AS quantiles_ns
FROM times
GROUP BY ALL;
