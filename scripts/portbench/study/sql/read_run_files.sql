-- Reads run files that portbench.study.run_files checked and wrote as lines of JSON: one file with a line for each run file
-- without its results, and one with a line for each result. Both have the number run_file.
-- Variables: heads, lines (paths), longest (bytes of the longest line).
CREATE TEMP TABLE incoming_runs AS
SELECT
    run_file,
    sha256,
    run_id,
    target.framework AS framework,
    target.version AS version,
    target.device AS device,
    environment ->> '$.machine' AS machine,
    manifest.name AS manifest,
    manifest.sha256 AS manifest_sha256,
    manifest.selection AS selection,
    manifest.functions AS functions,
    protocol.name AS protocol,
    protocol.runs AS runs,
    protocol.timeout_s AS timeout_s,
    protocol.steady_budget_s AS steady_budget_s,
    protocol.shuffle AS shuffle,
    protocol.memory_bytes AS memory_bytes,
    protocol.sync AS sync,
    coalesce(protocol.cold, 'test') AS cold,
    prediction,
    imported,
    started_at,
    ended_at,
    environment
FROM read_json(
    getvariable('heads'),
    format = 'newline_delimited',
    maximum_object_size = getvariable('longest'),
    columns = {
        run_file: 'BIGINT',
        sha256: 'VARCHAR',
        run_id: 'VARCHAR',
        target: 'STRUCT(framework VARCHAR, version VARCHAR, device VARCHAR)',
        manifest: 'STRUCT(
            name VARCHAR,
            sha256 VARCHAR,
            selection VARCHAR[],
            functions STRUCT(name VARCHAR, tests BIGINT, decile BIGINT, uses BIGINT, top20 BOOLEAN, listed_as VARCHAR)[]
        )',
        protocol: 'STRUCT(name VARCHAR, runs BIGINT, timeout_s DOUBLE, steady_budget_s DOUBLE, shuffle BIGINT, sync VARCHAR, cold VARCHAR, memory_bytes BIGINT)',
        prediction: 'STRUCT(kind VARCHAR, compiler VARCHAR, topology VARCHAR)',
        imported: 'STRUCT(source VARCHAR, not_recorded VARCHAR)',
        environment: 'JSON',
        started_at: 'VARCHAR',
        ended_at: 'VARCHAR'
    }
);

CREATE TEMP TABLE incoming_results AS
SELECT *
FROM read_json(
    getvariable('lines'),
    format = 'newline_delimited',
    maximum_object_size = getvariable('longest'),
    columns = {
        run_file: 'BIGINT',
        function: 'VARCHAR',
        test: 'VARCHAR',
        run: 'BIGINT',
        "case": 'VARCHAR',
        successor_of: 'VARCHAR',
        outcome: 'VARCHAR',
        reason: 'VARCHAR',
        phase: 'VARCHAR',
        category: 'VARCHAR',
        error: 'STRUCT(type VARCHAR, message VARCHAR, traceback VARCHAR, causes STRUCT(type VARCHAR, message VARCHAR)[])',
        exit: 'STRUCT(code BIGINT, signal VARCHAR, oom_killed BOOLEAN, peak_memory_bytes BIGINT)',
        placement: 'STRUCT(verdict VARCHAR, evidence VARCHAR[], host_operations VARCHAR[])',
        value_verdict: 'VARCHAR',
        deviation: 'STRUCT(dtype VARCHAR, device DOUBLE, host DOUBLE, other_seed DOUBLE)',
        cpu_control: 'STRUCT(
            outcome VARCHAR,
            reason VARCHAR,
            category VARCHAR,
            error STRUCT(type VARCHAR, message VARCHAR, traceback VARCHAR, causes STRUCT(type VARCHAR, message VARCHAR)[])
        )',
        full_precision: 'STRUCT(
            outcome VARCHAR,
            reason VARCHAR,
            category VARCHAR,
            error STRUCT(type VARCHAR, message VARCHAR, traceback VARCHAR, causes STRUCT(type VARCHAR, message VARCHAR)[])
        )',
        contaminated: 'STRUCT(
            outcome VARCHAR,
            reason VARCHAR,
            category VARCHAR,
            error STRUCT(type VARCHAR, message VARCHAR, traceback VARCHAR, causes STRUCT(type VARCHAR, message VARCHAR)[])
        )',
        disturbed: 'STRUCT(
            outcome VARCHAR,
            reason VARCHAR,
            category VARCHAR,
            error STRUCT(type VARCHAR, message VARCHAR, traceback VARCHAR, causes STRUCT(type VARCHAR, message VARCHAR)[])
        )',
        sync_check: 'STRUCT(
            passed BOOLEAN,
            reason VARCHAR,
            units BIGINT,
            base_ns BIGINT,
            grown_ns BIGINT,
            ratio DOUBLE,
            left_ns BIGINT
        )',
        prediction: 'STRUCT(
            verdict VARCHAR,
            reason VARCHAR,
            compile_ns BIGINT,
            flops DOUBLE,
            bytes DOUBLE,
            memory_bytes BIGINT,
            roofline_ns DOUBLE
        )',
        calls: 'STRUCT(
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
        )[]',
        output: 'STRUCT(text VARCHAR, total_bytes BIGINT)',
        worker: 'BIGINT',
        case_ns: 'BIGINT'
    }
);
