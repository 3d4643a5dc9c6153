-- Reads run files, each given as a link named <sha256 of its bytes>.json. The files are valid: see portbench.validate.
-- Variables: files (list of paths), largest_bytes (size of the largest file).
CREATE TEMP TABLE incoming_runs AS
SELECT
    parse_filename(filename, true) AS sha256,
    run_id,
    target.framework AS framework,
    target.version AS version,
    target.device AS device,
    environment ->> '$.machine' AS machine,
    manifest.name AS manifest,
    manifest.sha256 AS manifest_sha256,
    manifest.selection AS selection,
    protocol.name AS protocol,
    protocol.runs AS runs,
    protocol.timeout_s AS timeout_s,
    protocol.steady_budget_s AS steady_budget_s,
    protocol.shuffle AS shuffle,
    protocol.memory_bytes AS memory_bytes,
    coalesce(protocol.sync, 'complete') AS sync,
    started_at,
    ended_at,
    environment
FROM read_json(
    getvariable('files'),
    filename = true,
    format = 'unstructured',
    maximum_object_size = getvariable('largest_bytes'),
    columns = {
        run_id: 'VARCHAR',
        target: 'STRUCT(framework VARCHAR, version VARCHAR, device VARCHAR)',
        manifest: 'STRUCT(name VARCHAR, sha256 VARCHAR, selection VARCHAR[])',
        protocol: 'STRUCT(name VARCHAR, runs BIGINT, timeout_s DOUBLE, steady_budget_s DOUBLE, shuffle BIGINT, sync VARCHAR, memory_bytes BIGINT)',
        environment: 'JSON',
        started_at: 'VARCHAR',
        ended_at: 'VARCHAR'
    }
);

CREATE TEMP TABLE incoming_results AS
WITH result AS (
    SELECT parse_filename(filename, true) AS sha256, unnest(results) AS facts
    FROM read_json(
        getvariable('files'),
        filename = true,
        format = 'unstructured',
        maximum_object_size = getvariable('largest_bytes'),
        columns = {
            results: 'STRUCT(
                function VARCHAR,
                test VARCHAR,
                run BIGINT,
                "case" VARCHAR,
                successor_of VARCHAR,
                outcome VARCHAR,
                reason VARCHAR,
                phase VARCHAR,
                category VARCHAR,
                error STRUCT(type VARCHAR, message VARCHAR, traceback VARCHAR, causes STRUCT(type VARCHAR, message VARCHAR)[]),
                exit STRUCT(code BIGINT, signal VARCHAR, oom_killed BOOLEAN, peak_memory_bytes BIGINT),
                placement STRUCT(verdict VARCHAR, evidence VARCHAR[], host_operations VARCHAR[]),
                numbers VARCHAR,
                deviation STRUCT(dtype VARCHAR, device DOUBLE, host DOUBLE, other_seed DOUBLE),
                control STRUCT(
                    outcome VARCHAR,
                    reason VARCHAR,
                    category VARCHAR,
                    error STRUCT(type VARCHAR, message VARCHAR, traceback VARCHAR, causes STRUCT(type VARCHAR, message VARCHAR)[])
                ),
                strict STRUCT(
                    outcome VARCHAR,
                    reason VARCHAR,
                    category VARCHAR,
                    error STRUCT(type VARCHAR, message VARCHAR, traceback VARCHAR, causes STRUCT(type VARCHAR, message VARCHAR)[])
                ),
                contaminated STRUCT(
                    outcome VARCHAR,
                    reason VARCHAR,
                    category VARCHAR,
                    error STRUCT(type VARCHAR, message VARCHAR, traceback VARCHAR, causes STRUCT(type VARCHAR, message VARCHAR)[])
                ),
                proof STRUCT(
                    passed BOOLEAN,
                    reason VARCHAR,
                    units BIGINT,
                    base_ns BIGINT,
                    grown_ns BIGINT,
                    ratio DOUBLE,
                    left_ns BIGINT
                ),
                calls STRUCT(
                    cold STRUCT(call_ns BIGINT, wait_ns BIGINT, counters JSON),
                    steady STRUCT(
                        warmup_calls BIGINT,
                        calls_per_block BIGINT,
                        block_ns BIGINT[],
                        stable BOOLEAN,
                        unmet VARCHAR[],
                        median_interval_fraction DOUBLE,
                        counters JSON
                    ),
                    observed STRUCT(counters JSON)
                )[],
                output STRUCT(text VARCHAR, total_bytes BIGINT),
                worker BIGINT,
                case_ns BIGINT
            )[]'
        }
    )
)
SELECT
    run.framework,
    run.version,
    run.device,
    run.machine,
    run.sync,
    run.run_id,
    facts.function,
    facts.test,
    facts.run,
    facts."case",
    facts.successor_of,
    facts.outcome,
    facts.reason,
    facts.phase,
    facts.category,
    facts.error.type AS error_type,
    facts.error.message AS error_message,
    facts.error.traceback AS error_traceback,
    facts.error.causes AS error_causes,
    facts.exit.code AS exit_code,
    facts.exit.signal AS exit_signal,
    facts.exit.oom_killed AS oom_killed,
    facts.exit.peak_memory_bytes AS peak_memory_bytes,
    facts.placement.verdict AS placement,
    facts.placement.evidence AS placement_evidence,
    facts.placement.host_operations AS host_operations,
    facts.numbers,
    facts.deviation,
    facts.control,
    facts.strict,
    facts.contaminated,
    facts.proof,
    facts.output.text AS output_text,
    facts.output.total_bytes AS output_total_bytes,
    facts.worker,
    facts.case_ns,
    facts.calls
FROM result
JOIN incoming_runs AS run USING (sha256);
