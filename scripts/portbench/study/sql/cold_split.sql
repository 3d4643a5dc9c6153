-- How the time of the first calls of passing tests divides into parts, by the framework's own counters. On the views of
-- analysis.sql.

-- The times of the parts are in the order of this list. A sample lacks the counters that did not rise.
CREATE TEMP TABLE cold_calls AS
SELECT
    framework, version, device, machine, sync, function, successor_of, test, run_id, run, call,
    (
        cold.counters ->> ['$.trace_ns', '$.lower_ns', '$.compile_ns', '$.to_device_ns', '$.execute_ns', '$.from_device_ns']
    )::HUGEINT[] AS parts_ns,
    cold.call_ns::HUGEINT + coalesce(cold.wait_ns, 0) AS total_ns,
    total_ns - coalesce(list_sum(parts_ns), 0) AS rest_ns
FROM measured_calls
JOIN verdicts USING (framework, version, device, machine, sync, function, successor_of, test)
WHERE cold IS NOT NULL AND verdict = 'passed';

-- A part counts as recorded if any sample of the target has it; it is zero in the samples that lack it.
CREATE TEMP TABLE recorded_parts AS
WITH seen AS (
    SELECT DISTINCT
        framework, version, device, machine, sync,
        unnest(['trace', 'lower', 'compile', 'to_device', 'execute', 'from_device']) AS part,
        unnest(parts_ns) IS NOT NULL AS is_recorded
    FROM cold_calls
)
SELECT * EXCLUDE (is_recorded)
FROM seen
WHERE is_recorded;

-- Parts overlap (nested or in parallel) where they add up to more than the call took: such a call is not split.
CREATE TEMP VIEW cold_splits AS
SELECT
    framework, version, device, machine, sync, function, successor_of,
    count(*) FILTER (rest_ns >= 0) AS calls,
    count(*) FILTER (rest_ns < 0) AS overlapping_calls,
    coalesce(sum(total_ns) FILTER (rest_ns >= 0), 0)::DOUBLE AS total_ns,
    coalesce(sum(rest_ns) FILTER (rest_ns >= 0), 0)::DOUBLE AS rest_ns
FROM cold_calls
SEMI JOIN recorded_parts USING (framework, version, device, machine, sync)
GROUP BY ALL;

CREATE TEMP VIEW cold_part_sums AS
WITH part_of_call AS (
    SELECT
        framework, version, device, machine, sync, function, successor_of, rest_ns,
        unnest(['trace', 'lower', 'compile', 'to_device', 'execute', 'from_device']) AS part,
        unnest(parts_ns) AS ns
    FROM cold_calls
)
SELECT
    framework, version, device, machine, sync, function, successor_of, part AS seen,
    coalesce(sum(ns) FILTER (rest_ns >= 0), 0)::DOUBLE AS ns
FROM part_of_call
JOIN recorded_parts USING (framework, version, device, machine, sync, part)
GROUP BY ALL;
