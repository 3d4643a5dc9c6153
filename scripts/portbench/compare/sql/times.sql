-- Every sample of each passing test on one side of a comparison, in ns a call: a list for each timed call and run, since
-- the samples of one run share a process and are not independent. On the views of analysis.sql.
-- Variables: framework, version, device, machine, sync.
SELECT
    function,
    successor_of,
    test,
    protocol,
    call,
    run_id,
    run,
    list(CASE WHEN protocol = 'steady' THEN block_ns::DOUBLE / calls_per_block ELSE call_ns::DOUBLE + coalesce(wait_ns, 0) END) AS ns
FROM measured
JOIN verdicts USING (framework, version, device, machine, sync, function, successor_of, test)
WHERE
    framework = getvariable('framework')
    AND version = getvariable('version')
    AND device = getvariable('device')
    AND machine = getvariable('machine')
    AND sync = getvariable('sync')
    AND verdict IN ('passed', 'unknown')
    AND protocol IN ('cold', 'steady')
GROUP BY ALL
ORDER BY ALL;
