-- All that a study holds of one function, and of the successors tried in its place. On the views of analysis.sql, of these functions
-- alone.
CREATE TEMP VIEW explained_functions AS
SELECT framework, version, device, machine, sync, function, successor_of, status
FROM functions;

CREATE TEMP VIEW explained_results AS
SELECT recorded.* EXCLUDE (misplaced), verdict
FROM recorded
JOIN verdicts USING (framework, version, device, machine, sync, function, successor_of, test);

-- Over every sample, also of flaky tests.
CREATE TEMP VIEW explained_times AS
SELECT
    framework, version, device, machine, sync, function, successor_of, test,
    count(*) FILTER (protocol = 'cold') AS cold_samples,
    median(call_ns + coalesce(wait_ns, 0)) FILTER (protocol = 'cold') AS cold_median_ns,
    min(call_ns + coalesce(wait_ns, 0)) FILTER (protocol = 'cold') AS cold_least_ns,
    max(call_ns + coalesce(wait_ns, 0)) FILTER (protocol = 'cold') AS cold_most_ns,
    count(*) FILTER (protocol = 'steady') AS steady_samples,
    median(block_ns / calls_per_block) FILTER (protocol = 'steady') AS steady_median_ns,
    bool_and(stable) FILTER (protocol = 'steady') AS stable
FROM measured
WHERE protocol IN ('cold', 'steady')
GROUP BY ALL;
