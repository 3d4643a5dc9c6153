-- From the tables runs, results and samples to the verdict of each test and the status and times of each function, for each
-- target on each machine. Results of different machines, and of different points of synchronisation, are never pooled.
-- Variable: strict_placement (whether a test that passed, but not wholly on the device, counts as failed).

-- '' in place of null, which equals nothing: a function that succeeds no other.
CREATE TEMP VIEW told AS
SELECT
    * REPLACE (coalesce(successor_of, '') AS successor_of, coalesce(sync, 'complete') AS sync),
    outcome = 'passed' AND placement IN ('host', 'mixed') AND getvariable('strict_placement') AS misplaced
FROM results;

CREATE TEMP VIEW measured AS
SELECT * REPLACE (coalesce(successor_of, '') AS successor_of, coalesce(sync, 'complete') AS sync)
FROM samples;

-- A result whose function is not in that version counts as not run, like a skipped one.
CREATE TEMP TABLE verdicts AS
WITH counted AS (
    SELECT
        framework, version, device, machine, sync, function, successor_of, test,
        count(*) FILTER (outcome = 'passed' AND NOT misplaced) AS passed,
        count(*) FILTER (outcome <> 'skipped' AND category IS DISTINCT FROM 'unavailable') AS ran
    FROM told
    GROUP BY ALL
)
SELECT
    * EXCLUDE (passed, ran),
    CASE
        WHEN ran = 0 THEN 'skipped'
        WHEN passed = ran THEN 'passed'
        WHEN passed = 0 THEN 'failed'
        ELSE 'flaky'
    END AS verdict
FROM counted;

-- As published: the mean over all timed first calls of all runs of the passing tests.
CREATE TEMP VIEW cold_times AS
SELECT framework, version, device, machine, sync, function, successor_of, sum(call_ns::HUGEINT + wait_ns) / count(*) AS cold_mean_ns
FROM measured
JOIN verdicts USING (framework, version, device, machine, sync, function, successor_of, test)
WHERE protocol = 'cold' AND verdict = 'passed'
GROUP BY ALL;

CREATE TEMP VIEW steady_times AS
WITH of_test AS (
    SELECT framework, version, device, machine, sync, function, successor_of, test, median(block_ns / calls_per_block) AS median_ns
    FROM measured
    JOIN verdicts USING (framework, version, device, machine, sync, function, successor_of, test)
    WHERE protocol = 'steady' AND verdict = 'passed'
    GROUP BY ALL
)
SELECT framework, version, device, machine, sync, function, successor_of, median(median_ns) AS steady_median_ns
FROM of_test
GROUP BY ALL;

CREATE TEMP VIEW functions AS
WITH counted AS (
    SELECT
        framework, version, device, machine, sync, function, successor_of,
        count(*) FILTER (verdict = 'passed') AS passed,
        count(*) FILTER (verdict = 'failed') AS failed,
        count(*) FILTER (verdict = 'flaky') AS flaky,
        count(*) FILTER (verdict = 'skipped') AS skipped
    FROM verdicts
    GROUP BY ALL
)
SELECT
    *,
    CASE
        WHEN passed + failed + flaky = 0 THEN 'none'
        WHEN failed + flaky = 0 THEN 'pass'
        WHEN passed + flaky = 0 THEN 'complete'
        ELSE 'partial'
    END AS status
FROM counted
LEFT JOIN cold_times USING (framework, version, device, machine, sync, function, successor_of)
LEFT JOIN steady_times USING (framework, version, device, machine, sync, function, successor_of);

-- In how many tests of a function something was seen.
CREATE TEMP VIEW categories AS
SELECT framework, version, device, machine, sync, function, successor_of, category AS seen, count(DISTINCT test) AS tests
FROM told
WHERE category IS NOT NULL
GROUP BY ALL;

CREATE TEMP VIEW placements AS
SELECT framework, version, device, machine, sync, function, successor_of, placement AS seen, count(DISTINCT test) AS tests
FROM told
WHERE outcome = 'passed'
GROUP BY ALL;

CREATE TEMP VIEW skip_reasons AS
SELECT
    framework, version, device, machine, sync, function, successor_of,
    coalesce(reason, error_message, '') AS seen,
    count(DISTINCT test) AS tests
FROM told
JOIN verdicts USING (framework, version, device, machine, sync, function, successor_of, test)
WHERE verdict = 'skipped'
GROUP BY ALL;
