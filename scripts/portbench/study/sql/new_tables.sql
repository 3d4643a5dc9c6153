-- The rows that run files add to the tables of a study, in no order. On the tables of read_run_files.sql.
CREATE TEMP VIEW new_runs AS
SELECT * EXCLUDE (run_file, functions) FROM incoming_runs;

CREATE TEMP VIEW new_functions AS
WITH listed AS (
    SELECT DISTINCT framework, manifest, unnest(functions) AS entry
    FROM incoming_runs
)
SELECT
    framework,
    manifest,
    entry.name AS function,
    entry.tests AS tests,
    entry.decile AS decile,
    entry.uses AS uses,
    entry.top20 AS top20,
    entry.listed_as AS listed_as
FROM listed;

CREATE TEMP VIEW new_results AS
SELECT
    run.framework,
    run.version,
    run.device,
    run.machine,
    run.sync,
    run.run_id,
    result.function,
    result.test,
    result.run,
    result."case",
    result.successor_of,
    result.outcome,
    result.reason,
    result.phase,
    result.category,
    result.error.type AS error_type,
    result.error.message AS error_message,
    result.error.traceback AS error_traceback,
    result.error.causes AS error_causes,
    result.exit.code AS exit_code,
    result.exit.signal AS exit_signal,
    result.exit.oom_killed AS oom_killed,
    result.exit.peak_memory_bytes AS peak_memory_bytes,
    result.placement.verdict AS placement,
    result.placement.evidence AS placement_evidence,
    result.placement.host_operations AS host_operations,
    result.value_verdict,
    result.deviation,
    result.cpu_control,
    result.full_precision,
    result.contaminated,
    result.disturbed,
    result.sync_check,
    result.prediction,
    result.output.text AS output_text,
    result.output.total_bytes AS output_total_bytes,
    result.worker,
    result.case_ns,
    len(result.calls) AS timed_calls
FROM incoming_results AS result
JOIN incoming_runs AS run USING (run_file);

-- One row for each timed call, as the run file has it.
CREATE TEMP VIEW new_samples AS
WITH timed AS (
    SELECT run_file, function, successor_of, test, run, generate_subscripts(calls, 1) AS call, unnest(calls) AS timing
    FROM incoming_results
)
SELECT
    run.framework,
    run.version,
    run.device,
    run.machine,
    run.sync,
    run.run_id,
    timed.function,
    timed.successor_of,
    timed.test,
    timed.run,
    timed.call,
    timed.timing.cold AS cold,
    timed.timing.steady AS steady,
    timed.timing.observed AS observed
FROM timed
JOIN incoming_runs AS run USING (run_file);
