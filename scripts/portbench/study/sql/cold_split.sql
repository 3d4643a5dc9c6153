-- How the time of the first calls of passing tests divides into parts, by the framework's own counters. On the tables of
-- analysis.sql.

CREATE TEMP VIEW split_tests AS
FROM test_times
WHERE cold_calls > 0 AND verdict = 'passed';

-- A part counts as recorded if any sample of the target has it; it is zero in the samples that lack it.
CREATE TEMP TABLE recorded_parts AS
WITH seen AS (
    SELECT DISTINCT
        framework, version, device, machine, sync,
        unnest(['trace', 'lower', 'compile', 'to_device', 'execute', 'from_device']) AS part,
        unnest(has_parts) AS is_recorded
    FROM split_tests
)
SELECT * EXCLUDE (is_recorded)
FROM seen
WHERE is_recorded;

-- Parts overlap (nested or in parallel) where they add up to more than the call took: such a call is not split.
CREATE TEMP VIEW cold_splits AS
SELECT
    framework, version, device, machine, sync, function, successor_of,
    sum(split_calls)::BIGINT AS calls,
    sum(split_tests.overlapping_calls)::BIGINT AS overlapping_calls,
    coalesce(sum(split_ns), 0)::DOUBLE AS total_ns,
    coalesce(sum(split_tests.rest_ns), 0)::DOUBLE AS rest_ns
FROM split_tests
SEMI JOIN recorded_parts USING (framework, version, device, machine, sync)
GROUP BY ALL;

CREATE TEMP VIEW cold_part_sums AS
WITH part_of_test AS (
    SELECT
        framework, version, device, machine, sync, function, successor_of,
        unnest(['trace', 'lower', 'compile', 'to_device', 'execute', 'from_device']) AS part,
        unnest(parts_ns) AS ns
    FROM split_tests
)
SELECT
    framework, version, device, machine, sync, function, successor_of, part AS seen,
    coalesce(sum(ns), 0)::DOUBLE AS ns
FROM part_of_test
JOIN recorded_parts USING (framework, version, device, machine, sync, part)
GROUP BY ALL;
