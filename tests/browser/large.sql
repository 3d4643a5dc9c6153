-- Tables of a study: $functions functions of one framework with two tests each, on $targets targets.
-- What passes, and how long it takes, follows from hashes of the names.
CREATE TABLE runs AS
SELECT
    md5(t::VARCHAR) AS run_id, md5('file' || t) AS sha256, 'torch' AS framework, '2.' || (t // 4) || '.0' AS version,
    ['cpu', 'gpu', 'tpu', 'xla'][t % 4 + 1] AS device, 'box' AS machine, 'many' AS manifest,
    repeat('a', 64) AS manifest_sha256,
    []::VARCHAR[] AS selection, 'both' AS protocol, 1 AS runs, 900::DOUBLE AS timeout_s, 0.1::DOUBLE AS steady_budget_s,
    NULL::BIGINT AS shuffle, NULL::BIGINT AS memory_bytes, 'complete' AS sync,
    '2026-11-21T09:00:00Z' AS started_at, '2026-11-21T10:00:00Z' AS ended_at, $environment::JSON AS environment
FROM range($targets) AS numbers(t);

CREATE TABLE results AS
WITH every AS (
    SELECT runs.*, f, n, (hash(f, n, version, device) % 100)::BIGINT AS dice
    FROM runs, range($functions) AS functions(f), range(2) AS tests(n)
)
SELECT
    framework, version, device, machine, sync, run_id, 'torch.part' || (f % 37) || '.function_' || f AS function,
    'rows[dtype=' || ['float32', 'int32'][n + 1] || ']' AS test, 1 AS run, 'call' AS "case", NULL::VARCHAR AS successor_of,
    CASE WHEN device = 'cpu' OR dice > 12 THEN 'passed' WHEN dice > 2 THEN 'failed' ELSE 'crashed' END AS outcome,
    NULL::VARCHAR AS reason, CASE WHEN outcome <> 'passed' THEN 'call' END AS phase,
    CASE outcome WHEN 'failed' THEN ['type', 'not_implemented', 'memory'][dice % 3 + 1] WHEN 'crashed' THEN 'crash' END AS category,
    CASE WHEN outcome = 'failed' THEN 'RuntimeError' END AS error_type,
    CASE WHEN outcome = 'failed' THEN 'function_' || f || ' does not work with ' || n END AS error_message,
    CASE WHEN outcome = 'failed' THEN '' END AS error_traceback, []::STRUCT(type VARCHAR, message VARCHAR)[] AS error_causes,
    NULL::BIGINT AS exit_code, CASE WHEN outcome = 'crashed' THEN 'SIGSEGV' END AS exit_signal, false AS oom_killed,
    NULL::BIGINT AS peak_memory_bytes, CASE WHEN dice BETWEEN 20 AND 22 THEN 'mixed' ELSE 'device' END AS placement,
    ['output on ' || device] AS placement_evidence, '' AS output_text, 0 AS output_total_bytes, 1 AS worker, 2000000 AS case_ns,
    len([1]) AS timed_calls
FROM every;

CREATE TABLE samples AS
WITH passing AS (
    SELECT
        framework, version, device, machine, sync, run_id, function, successor_of, test, run, 1 AS call,
        (hash(function, test, device, version) % 100000)::BIGINT AS seed
    FROM results WHERE outcome = 'passed'
)
SELECT
    * EXCLUDE (seed),
    {call_ns: (1e5 * exp(seed % 1000 / 100))::BIGINT, wait_ns: 1000::BIGINT, counters: NULL::JSON} AS cold,
    {
        warmup_calls: 5::BIGINT,
        calls_per_block: 10::BIGINT,
        block_ns: [(1e5 * exp(seed % 1000 / 200))::BIGINT + block * 37 FOR block IN [1, 2, 3]],
        stable: true,
        unmet: []::VARCHAR[],
        median_interval_fraction: 0.01::DOUBLE,
        counters: NULL::JSON
    } AS steady,
    {counters: NULL::JSON} AS observed
FROM passing;

CREATE TABLE functions AS
SELECT
    framework, manifest, 'torch.part' || (f % 37) || '.function_' || f AS function, 2::BIGINT AS tests,
    1 + f * 10 // $functions AS decile, f * 7 AS uses, f >= $functions - 20 AS top20, NULL::VARCHAR AS listed_as
FROM (SELECT DISTINCT framework, manifest FROM runs), range($functions) AS functions(f);
