-- Missing: of what tests and functions of the manifests nothing was recorded, not even that they were skipped. On the views of
-- analysis.sql and on listed_functions; where no run file of a target lists the functions of its manifest, nothing is known.

CREATE TEMP VIEW listed_here AS
WITH manifests AS (
    SELECT DISTINCT framework, version, device, machine, coalesce(sync, 'complete') AS sync, manifest
    FROM runs
)
SELECT manifests.*, listed.function, listed.tests
FROM manifests
JOIN listed_functions AS listed USING (framework, manifest);

CREATE TEMP TABLE listed_tests AS
WITH recorded AS (
    SELECT
        told.framework, told.version, told.device, told.machine, told.sync, runs.manifest, told.function,
        count(DISTINCT told.test) AS recorded
    FROM told
    JOIN runs USING (run_id)
    WHERE told.successor_of = ''
    GROUP BY ALL
)
SELECT
    framework, version, device, machine, sync, function,
    sum(tests)::BIGINT AS tests,
    sum(coalesce(recorded, 0))::BIGINT AS recorded,
    sum(greatest(tests - coalesce(recorded, 0), 0))::BIGINT AS missing
FROM listed_here
LEFT JOIN recorded USING (framework, version, device, machine, sync, manifest, function)
GROUP BY ALL;

-- For each function of which something was recorded.
CREATE TEMP VIEW missing_tests AS
SELECT framework, version, device, machine, sync, function, '' AS successor_of, 'tests' AS seen, missing AS tests
FROM listed_tests
WHERE recorded > 0;

-- For each target: the functions of which nothing was recorded at all, and all missing tests, theirs among them.
CREATE TEMP VIEW missing_functions AS
SELECT
    framework, version, device, machine, sync,
    coalesce(list_sort(list(function) FILTER (recorded = 0)), []) AS functions,
    sum(missing)::BIGINT AS tests
FROM listed_tests
GROUP BY ALL;
