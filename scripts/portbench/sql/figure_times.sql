-- How the times of passing tests are spread on each side: of first calls the mean over all runs, of calls after the warm-up
-- the median. Successors are left out, as in rates. On the views of analysis.sql.
WITH of_test AS (
    SELECT
        framework, version, device, machine, sync, function, test, protocol,
        coalesce(
            avg(call_ns::DOUBLE + wait_ns) FILTER (protocol = 'cold'),
            median(block_ns / calls_per_block) FILTER (protocol = 'steady')
        ) AS ns
    FROM measured
    JOIN verdicts USING (framework, version, device, machine, sync, function, successor_of, test)
    WHERE verdict = 'passed' AND protocol IN ('cold', 'steady') AND successor_of = ''
    GROUP BY ALL
)
SELECT
    framework, version, device, machine, sync, protocol,
    count(*) AS tests,
    quantile_cont(ns, [0, 0.05, 0.25, 0.5, 0.75, 0.95, 1]) AS quantiles_ns
FROM of_test
WHERE ns > 0
GROUP BY ALL;
