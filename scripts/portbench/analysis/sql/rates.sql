-- How many tests of each function of each configuration have which verdict. On test_facts.sql and the views of the summary.
WITH counted AS (
    SELECT
        framework, version, device, machine, sync, function,
        count(*) FILTER (verdict = 'passed') AS passed,
        count(*) FILTER (verdict = 'failed') AS failed,
        count(*) FILTER (verdict = 'flaky') AS flaky,
        count(*) FILTER (verdict = 'unknown') AS unknown,
        count(*) FILTER (verdict = 'unknown' AND cold_ns IS NOT NULL) AS unknown_timed
    FROM test_facts
    GROUP BY ALL
)
SELECT
    framework, version, device, machine, sync, function,
    passed + failed + flaky AS ran,
    failed + flaky AS failing,
    status_of(passed, failed, flaky) AS status,
    unknown,
    unknown_timed,
    module_of(function) AS module
FROM counted
ORDER BY ALL;
