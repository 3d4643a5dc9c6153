-- The details of one part of the page. On page.sql and the views of analysis.sql; page_runs numbers the run files. Variables: most_samples
-- (how many raw samples of a test and protocol are carried at most), first_row and last_row (the part's rows of page_rows).

-- A list of times in nanoseconds as JSON: six digits of each, as portbench.page.packing.rounded.
CREATE OR REPLACE TEMP MACRO rounded_list(ns) AS
    replace(
        replace(to_json(list_transform(coalesce(ns, []), lambda one: format('{:.6g}', one::DOUBLE)::DOUBLE))::VARCHAR, '.0,', ','),
        '.0]',
        ']'
    );

CREATE OR REPLACE TEMP VIEW page_part AS
SELECT row, framework, function, successor_of
FROM page_rows
WHERE row BETWEEN getvariable('first_row') AND getvariable('last_row');

-- Files without these frameworks are not read.
SET VARIABLE first_framework = (SELECT min(framework) FROM page_part);
SET VARIABLE last_framework = (SELECT max(framework) FROM page_part);

-- The tests of each cell; their samples as members of a JSON object; and the first result of each, which has the samples in page_details.
CREATE OR REPLACE TEMP TABLE page_tests AS
WITH calls AS (
    SELECT
        target, row, test, run_id, run, call,
        cold.call_ns + coalesce(cold.wait_ns, 0) AS cold_ns,
        len(steady.block_ns) AS steady_samples,
        -- No more of each call than the page has of all calls.
        list_transform(steady.block_ns[:getvariable('most_samples')], lambda ns: ns / steady.calls_per_block) AS steady_ns,
        steady.stable AS stable
    FROM measured_calls
    JOIN page_targets USING (framework, version, device, machine, sync)
    JOIN page_part USING (framework, function, successor_of)
    WHERE (cold IS NOT NULL OR steady IS NOT NULL)
      AND framework BETWEEN getvariable('first_framework') AND getvariable('last_framework')
),
collected AS (
    SELECT
        target, row, test,
        count(cold_ns) AS cold_samples,
        coalesce(sum(steady_samples), 0)::BIGINT AS steady_samples,
        bool_and(stable) AS stable,
        -- Sorted lists take a third of the time of lists with an order of their own.
        list_sort(list({run_id: run_id, run: run, call: call, cold_ns: cold_ns, steady_ns: steady_ns})) AS calls
    FROM calls
    GROUP BY ALL
),
lists AS (
    SELECT
        * EXCLUDE (calls),
        list_filter(list_transform(calls, lambda one: one.cold_ns), lambda ns: ns IS NOT NULL) AS cold_ns,
        flatten(list_transform(calls, lambda one: one.steady_ns)) AS steady_ns
    FROM collected
),
sampled AS (
    SELECT
        target, row, test,
        '"cold_samples":' || cold_samples
            || ',"cold_ns":' || rounded_list(cold_ns[:getvariable('most_samples')])
            || ',"steady_samples":' || steady_samples
            || ',"steady_ns":' || rounded_list(steady_ns[:getvariable('most_samples')])
            || ',"stable":' || coalesce(stable::VARCHAR, 'null') AS samples
    FROM lists
),
first_results AS (
    SELECT framework, version, device, machine, sync, function, successor_of, test, min({run: run, run_id: run_id}) AS first
    FROM recorded
    JOIN page_part USING (framework, function, successor_of)
    WHERE framework BETWEEN getvariable('first_framework') AND getvariable('last_framework')
    GROUP BY ALL
)
SELECT target, row, test, verdict, first, samples
FROM verdicts
JOIN first_results USING (framework, version, device, machine, sync, function, successor_of, test)
JOIN page_targets USING (framework, version, device, machine, sync)
JOIN page_part USING (framework, function, successor_of)
LEFT JOIN sampled USING (target, row, test);

-- Test by test and run by run: the place, what the page shows of each result, and then the facts that its texts are made of. Lists of
-- names are joined and empty ones null, so that the facts of most results can be compared as they are.
CREATE OR REPLACE TEMP VIEW page_details AS
SELECT
    row, target, test, run, file, verdict, CASE WHEN first = {run: run, run_id: run_id} THEN samples END AS samples,
    framework, outcome, category,
    CASE WHEN len(error_causes) > 0 THEN error_causes END AS error_causes,
    cpu_control, full_precision, contaminated, disturbed, prediction, overruled, deviation,
    CASE WHEN NOT sync_check.passed THEN sync_check END AS sync_check,
    reason, phase, misplaced, fingerprint, cause, error_type, error_message, error_traceback, exit_code, exit_signal, oom_killed,
    peak_memory_bytes, placement,
    nullif(array_to_string(placement_evidence, ', '), '') AS placement_evidence,
    nullif(array_to_string(host_operations, ', '), '') AS host_operations,
    value_verdict, output_text
FROM recorded
JOIN page_runs USING (run_id)
JOIN page_targets USING (framework, version, device, machine, sync)
JOIN page_part USING (framework, function, successor_of)
JOIN page_tests USING (target, row, test)
WHERE framework BETWEEN getvariable('first_framework') AND getvariable('last_framework')
ORDER BY row, target, test, run, run_id;
