-- What a merge adds to the tables of a study, in no order: see read_run_files.sql for where it comes from.
CREATE TEMP VIEW new_runs AS
SELECT * FROM incoming_runs;

CREATE TEMP VIEW new_results AS
SELECT * EXCLUDE (calls), len(calls) AS timed_calls FROM incoming_results;

-- One row for each raw sample: a first call (cold), a block of calls after the warm-up (steady), or the call that was made
-- once more to be watched (observed).
CREATE TEMP VIEW new_samples AS
WITH timed AS (
    SELECT
        framework, version, device, machine, sync, run_id, function, successor_of, test, run,
        generate_subscripts(calls, 1) AS call,
        unnest(calls) AS timing
    FROM incoming_results
)
SELECT
    timed.* EXCLUDE (timing),
    'cold' AS protocol,
    1 AS sample,
    timing.cold.call_ns AS call_ns,
    timing.cold.wait_ns AS wait_ns,
    timing.cold.counters AS counters
FROM timed
WHERE timing.cold IS NOT NULL
UNION ALL BY NAME
SELECT
    timed.* EXCLUDE (timing),
    'steady' AS protocol,
    generate_subscripts(timing.steady.block_ns, 1) AS sample,
    unnest(timing.steady.block_ns) AS block_ns,
    timing.steady.calls_per_block AS calls_per_block,
    timing.steady.warmup_calls AS warmup_calls,
    timing.steady.stable AS stable,
    timing.steady.unmet AS unmet,
    timing.steady.median_interval_fraction AS median_interval_fraction,
    timing.steady.counters AS counters
FROM timed
WHERE timing.steady IS NOT NULL
UNION ALL BY NAME
SELECT timed.* EXCLUDE (timing), 'observed' AS protocol, 1 AS sample, timing.observed.counters AS counters
FROM timed
WHERE timing.observed IS NOT NULL;
