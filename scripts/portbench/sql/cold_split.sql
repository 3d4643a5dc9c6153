-- What first calls of passing tests were spent on, by the framework's own counters. On the views of analysis.sql.

-- A counter that did not rise is left out of a sample: it was told, as zero, if any sample of the target has it.
CREATE TEMP TABLE cold_parts AS
WITH first_calls AS (
    SELECT
        framework, version, device, machine, sync, function, successor_of, test, run_id, run, call,
        cold.counters AS counters,
        cold.call_ns::HUGEINT + cold.wait_ns AS total_ns
    FROM measured_calls
    JOIN verdicts USING (framework, version, device, machine, sync, function, successor_of, test)
    WHERE cold IS NOT NULL AND verdict = 'passed'
),
counted AS (
    SELECT
        * EXCLUDE (counters),
        unnest(['trace', 'lower', 'compile', 'to_device', 'execute', 'from_device']) AS part,
        unnest(
            counters ->> ['$.trace_ns', '$.lower_ns', '$.compile_ns', '$.to_device_ns', '$.execute_ns', '$.from_device_ns']
        )::HUGEINT AS ns
    FROM first_calls
),
told_parts AS (
    SELECT framework, version, device, machine, sync, part
    FROM counted
    GROUP BY ALL
    HAVING bool_or(ns IS NOT NULL)
)
SELECT counted.* REPLACE (coalesce(ns, 0) AS ns)
FROM counted
JOIN told_parts USING (framework, version, device, machine, sync, part);

-- Parts that add up to more than the call took overlap (times within times, or side by side): such a call is not split.
CREATE TEMP TABLE splittable AS
SELECT
    framework, version, device, machine, sync, function, successor_of, test, run_id, run, call,
    any_value(total_ns) AS total_ns,
    any_value(total_ns) - sum(ns) AS rest_ns
FROM cold_parts
GROUP BY ALL;

CREATE TEMP VIEW cold_splits AS
SELECT
    framework, version, device, machine, sync, function, successor_of,
    count(*) FILTER (rest_ns >= 0) AS calls,
    count(*) FILTER (rest_ns < 0) AS overlapping_calls,
    coalesce(sum(total_ns) FILTER (rest_ns >= 0), 0)::DOUBLE AS total_ns,
    coalesce(sum(rest_ns) FILTER (rest_ns >= 0), 0)::DOUBLE AS rest_ns
FROM splittable
GROUP BY ALL;

CREATE TEMP VIEW cold_part_sums AS
SELECT
    framework, version, device, machine, sync, function, successor_of, part AS seen,
    coalesce(sum(ns) FILTER (rest_ns >= 0), 0)::DOUBLE AS ns
FROM cold_parts
JOIN splittable
    USING (framework, version, device, machine, sync, function, successor_of, test, run_id, run, call)
GROUP BY ALL;
