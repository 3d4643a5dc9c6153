-- What a study's tables show beside runs and results. On the views timed_calls and functions_of_parts.

-- Where each function of each manifest stands in the sample that it was drawn from; parts say it again and again.
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
-- the call that was made once more to be watched (observed).
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
