-- The columns that tables got after version 1 of the study format, without rows. In a table that lacks one of them it is
-- read as null.
CREATE OR REPLACE TEMP VIEW added_runs AS
SELECT NULL::BIGINT AS shuffle, NULL::VARCHAR AS sync, NULL::VARCHAR AS cold, NULL::BIGINT AS memory_bytes,
    NULL::STRUCT(kind VARCHAR, compiler VARCHAR, topology VARCHAR) AS prediction,
    NULL::STRUCT(source VARCHAR, not_recorded VARCHAR) AS imported
WHERE false;

-- Of a table samples up to version 3, with a row for each raw sample.
CREATE OR REPLACE TEMP VIEW added_older_samples AS
SELECT NULL::VARCHAR AS successor_of, NULL::VARCHAR AS sync
WHERE false;

CREATE OR REPLACE TEMP VIEW added_samples AS
SELECT
    NULL::STRUCT(call_ns BIGINT, wait_ns BIGINT, counters JSON) AS cold,
    NULL::STRUCT(
        warmup_calls BIGINT,
        calls_per_block BIGINT,
        block_ns BIGINT[],
        stable BOOLEAN,
        unmet VARCHAR[],
        median_interval_fraction DOUBLE,
        counters JSON
    ) AS steady,
    NULL::STRUCT(counters JSON) AS observed
WHERE false;

CREATE OR REPLACE TEMP VIEW added_functions AS
SELECT
    NULL::VARCHAR AS framework,
    NULL::VARCHAR AS manifest,
    NULL::VARCHAR AS function,
    NULL::BIGINT AS tests,
    NULL::BIGINT AS decile,
    NULL::BIGINT AS uses,
    NULL::BOOLEAN AS top20,
    NULL::VARCHAR AS listed_as
WHERE false;

CREATE OR REPLACE TEMP VIEW added_results AS
WITH again AS (
    SELECT
        NULL::STRUCT(
            outcome VARCHAR,
            reason VARCHAR,
            category VARCHAR,
            error STRUCT(type VARCHAR, message VARCHAR, traceback VARCHAR, causes STRUCT(type VARCHAR, message VARCHAR)[])
        ) AS nothing
)
SELECT
    NULL::VARCHAR AS successor_of,
    NULL::VARCHAR AS sync,
    NULL::VARCHAR[] AS host_operations,
    NULL::VARCHAR AS value_verdict,
    NULL::STRUCT(dtype VARCHAR, device DOUBLE, host DOUBLE, other_seed DOUBLE) AS deviation,
    nothing AS cpu_control,
    nothing AS full_precision,
    nothing AS contaminated,
    nothing AS disturbed,
    NULL::STRUCT(
        passed BOOLEAN,
        reason VARCHAR,
        units BIGINT,
        base_ns BIGINT,
        grown_ns BIGINT,
        ratio DOUBLE,
        left_ns BIGINT
    ) AS sync_check,
    NULL::STRUCT(
        verdict VARCHAR,
        reason VARCHAR,
        compile_ns BIGINT,
        flops DOUBLE,
        bytes DOUBLE,
        memory_bytes BIGINT,
        roofline_ns DOUBLE
    ) AS prediction,
    NULL::VARCHAR AS fingerprint,
    NULL::VARCHAR AS cause,
    NULL::VARCHAR AS recorded_category,
    NULL::STRUCT(category VARCHAR, reason VARCHAR, link VARCHAR) AS overruled
FROM again
WHERE false;
