-- Missing: tests and functions of the manifests without any record, not even that they were skipped. On the views of
-- analysis.sql and on listed_functions. Nothing is known of a target whose run files do not list the manifest's functions.

-- What a run did not select (--function, --exclude, --test) is not missing. A run that selected tests says nothing about the number of
-- tests of its functions. A shard is part of a whole: the tests of the other shards are missing until their run files are there.
CREATE TEMP VIEW listed_here AS
WITH whole AS (
    SELECT
        framework, version, device, machine, sync, manifest,
        list_filter(selection, lambda entry: NOT starts_with(entry, 'not:') AND NOT starts_with(entry, 'shard:')) AS globs,
        [substr(entry, 5) FOR entry IN selection IF starts_with(entry, 'not:')] AS excluded
    FROM runs
    WHERE len(list_filter(selection, lambda entry: starts_with(entry, 'test:'))) = 0
)
SELECT DISTINCT framework, version, device, machine, sync, manifest, listed.function, listed.tests
FROM whole
JOIN listed_functions AS listed USING (framework, manifest)
WHERE (len(globs) = 0 OR len(list_filter(globs, lambda entry: listed.function GLOB entry)) > 0)
  AND len(list_filter(excluded, lambda entry: listed.function GLOB entry)) = 0;

CREATE TABLE listed_tests AS
WITH counted AS (
    SELECT
        seen.framework, seen.version, seen.device, seen.machine, seen.sync, runs.manifest, seen.function,
        count(DISTINCT seen.test) AS recorded
    FROM seen_results AS seen
    JOIN runs USING (run_id)
    WHERE seen.successor_of = ''
    GROUP BY ALL
)
SELECT
    framework, version, device, machine, sync, function,
    sum(tests)::BIGINT AS tests,
    sum(coalesce(recorded, 0))::BIGINT AS recorded,
    sum(greatest(tests - coalesce(recorded, 0), 0))::BIGINT AS missing
FROM listed_here
LEFT JOIN counted USING (framework, version, device, machine, sync, manifest, function)
GROUP BY ALL;

-- For each function with a record.
CREATE TEMP VIEW missing_tests AS
SELECT framework, version, device, machine, sync, function, '' AS successor_of, 'tests' AS seen, missing AS tests
FROM listed_tests
WHERE recorded > 0;

-- For each target: the functions without any record, and the number of all missing tests, including theirs.
CREATE TEMP VIEW missing_functions AS
SELECT
    framework, version, device, machine, sync,
    coalesce(list_sort(list(function) FILTER (recorded = 0)), []) AS functions,
    sum(missing)::BIGINT AS tests
FROM listed_tests
GROUP BY ALL;
