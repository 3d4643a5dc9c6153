-- What the runners recorded, from the views runs, results, samples and timed_calls, and the failures by cause, which need no
-- verdicts. On the table fingerprints, which holds those that the tables of an older version lack (portbench.study.failures).
-- Variable: strict_placement (whether a test that passed, but not wholly on the device, counts as failed).

-- successor_of is '' for a function that succeeds no other: null would equal nothing in joins.
CREATE TEMP VIEW recorded AS
SELECT
    results.* EXCLUDE (fingerprint, cause)
        REPLACE (coalesce(results.successor_of, '') AS successor_of),
    outcome = 'passed' AND placement IN ('host', 'mixed') AND getvariable('strict_placement') AS misplaced,
    coalesce(results.fingerprint, fingerprints.fingerprint) AS fingerprint,
    coalesce(results.cause, fingerprints.cause) AS cause
FROM results
LEFT JOIN fingerprints USING (run_id, function, test, run);

CREATE TEMP VIEW measured AS
SELECT * REPLACE (coalesce(successor_of, '') AS successor_of)
FROM samples;

CREATE TEMP VIEW measured_calls AS
SELECT * REPLACE (coalesce(successor_of, '') AS successor_of)
FROM timed_calls;

-- Failures by cause, over all targets and machines: those with the same fingerprint have one fix. Predicted failures have rows
-- of their own.
CREATE TEMP VIEW causes AS
SELECT
    fingerprint,
    framework,
    prediction IS NOT NULL AS predicted,
    min(cause) AS cause,
    list_sort(list(DISTINCT category)) AS categories,
    count(*) AS results,
    count(DISTINCT (function, successor_of, test)) AS tests,
    list_sort(list(DISTINCT function)) AS functions,
    list_sort(list(DISTINCT framework || '-' || version || '-' || device)) AS targets,
    list_sort(list(DISTINCT machine)) AS machines
FROM recorded
WHERE outcome NOT IN ('passed', 'skipped', 'error') AND category IS DISTINCT FROM 'removed'
GROUP BY fingerprint, framework, prediction IS NOT NULL;

-- Tests whose category an annotation decided, against the rules.
CREATE TEMP VIEW overruled_tests AS
SELECT
    framework, version, device, machine, sync, function, successor_of, test, fingerprint,
    overruled.category AS by_rules,
    category,
    overruled.reason AS reason,
    overruled.link AS link,
    count(*) AS results
FROM recorded
WHERE overruled IS NOT NULL
GROUP BY ALL;
