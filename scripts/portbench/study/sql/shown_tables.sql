-- Views of a study's tables in addition to runs and results. On the views timed_calls and functions_of_parts.

-- The place of each function of each manifest in the sample that it was drawn from. Several parts have the same rows.
CREATE TEMP VIEW listed_functions AS
SELECT
    framework, manifest, function,
    max(tests) AS tests,
    max(decile) AS decile,
    max(uses) AS uses,
    max(top20) AS top20,
    max(listed_as) AS listed_as
FROM functions_of_parts
GROUP BY framework, manifest, function;

-- A row for each raw sample, from the view timed_calls: a first call (cold), a block of calls after the warm-up (steady), or
-- an additional call with its operations traced (observed).
CREATE TEMP VIEW samples AS
SELECT
    * EXCLUDE (cold, steady, observed),
    'cold' AS protocol,
    1::BIGINT AS sample,
    cold.call_ns AS call_ns,
    cold.wait_ns AS wait_ns,
    cold.counters AS counters
FROM timed_calls
WHERE cold IS NOT NULL
UNION ALL BY NAME
SELECT
    * EXCLUDE (cold, steady, observed),
    'steady' AS protocol,
    generate_subscripts(steady.block_ns, 1) AS sample,
    unnest(steady.block_ns) AS block_ns,
    steady.calls_per_block AS calls_per_block,
    steady.warmup_calls AS warmup_calls,
    steady.stable AS stable,
    steady.unmet AS unmet,
    steady.median_interval_fraction AS median_interval_fraction,
    steady.counters AS counters
FROM timed_calls
WHERE steady IS NOT NULL
UNION ALL BY NAME
SELECT * EXCLUDE (cold, steady, observed), 'observed' AS protocol, 1::BIGINT AS sample, observed.counters AS counters
FROM timed_calls
WHERE observed IS NOT NULL;
