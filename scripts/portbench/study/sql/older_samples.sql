-- The timed calls of a study up to version 3, whose table samples (here the view older_samples) has a row for each raw sample.
CREATE TEMP VIEW timed_calls AS
SELECT
    framework, version, device, machine, sync, run_id, function, successor_of, test, run, call,
    any_value({call_ns: call_ns, wait_ns: wait_ns, counters: counters}) FILTER (protocol = 'cold') AS cold,
    CASE WHEN bool_or(protocol = 'steady') THEN {
        warmup_calls: any_value(warmup_calls) FILTER (protocol = 'steady'),
        calls_per_block: any_value(calls_per_block) FILTER (protocol = 'steady'),
        block_ns: list(block_ns ORDER BY sample) FILTER (protocol = 'steady'),
        stable: any_value(stable) FILTER (protocol = 'steady'),
        unmet: any_value(unmet) FILTER (protocol = 'steady'),
        median_interval_fraction: any_value(median_interval_fraction) FILTER (protocol = 'steady'),
        counters: any_value(counters) FILTER (protocol = 'steady')
    } END AS steady,
    any_value({counters: counters}) FILTER (protocol = 'observed') AS observed
FROM older_samples
GROUP BY framework, version, device, machine, sync, run_id, function, successor_of, test, run, call;
