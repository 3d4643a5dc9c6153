-- Times with the paper's points of synchronization and with the complete wait, for each function of a target that has both, over
-- the tests that passed and were timed with both. On the views of the summary.
WITH of_test AS (
    SELECT
        framework, version, device, machine, function, successor_of, test, sync,
        avg(call_ns::DOUBLE + coalesce(wait_ns, 0)) FILTER (protocol = 'cold') AS cold_ns,
        median(block_ns / calls_per_block) FILTER (protocol = 'steady') AS steady_ns
    FROM measured
    JOIN verdicts USING (framework, version, device, machine, sync, function, successor_of, test)
    WHERE verdict = 'passed'
    GROUP BY ALL
),
pairs AS (
    SELECT
        framework, version, device, machine, function, successor_of,
        complete.cold_ns AS cold_ns,
        study.cold_ns AS study_cold_ns,
        complete.steady_ns AS steady_ns,
        study.steady_ns AS study_steady_ns
    FROM of_test AS complete
    JOIN of_test AS study USING (framework, version, device, machine, function, successor_of, test)
    WHERE complete.sync = 'complete' AND study.sync = 'as-published'
)
SELECT
    framework, version, device, machine, function, successor_of,
    avg(cold_ns) FILTER (study_cold_ns IS NOT NULL) AS cold_ns,
    avg(study_cold_ns) FILTER (cold_ns IS NOT NULL) AS study_cold_ns,
    median(steady_ns) FILTER (study_steady_ns IS NOT NULL) AS steady_ns,
    median(study_steady_ns) FILTER (steady_ns IS NOT NULL) AS study_steady_ns
FROM pairs
GROUP BY ALL
ORDER BY framework, version, device, machine, function, successor_of;
