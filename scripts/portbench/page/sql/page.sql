-- The data of the page, in columns that fit its arrays. On the views of analysis.sql and second_opinions.sql, and on
-- listed_functions; page_targets numbers the targets. Variable: most_samples (how many raw samples of a test and protocol are carried at most).

-- One row for each function, also for those that a manifest lists and of which nothing ran. Strata are those of the
-- manifests; where these contradict each other, the greatest values.
CREATE TEMP TABLE page_rows AS
WITH strata AS (
    SELECT
        framework, function,
        max(decile) AS decile, max(uses) AS uses, bool_or(top20) AS top20, max(listed_as) AS listed_as
    FROM listed_functions
    GROUP BY ALL
),
named AS (
    SELECT DISTINCT framework, function, successor_of FROM recorded
    UNION
    SELECT framework, function, '' FROM strata
)
SELECT
    row_number() OVER (ORDER BY named.framework, named.function, successor_of) - 1 AS row,
    named.framework, named.function, successor_of, decile, uses, top20, listed_as
FROM named
LEFT JOIN strata ON strata.framework = named.framework AND strata.function = coalesce(nullif(successor_of, ''), named.function);

-- The status, categories and marks of each cell; portbench.page.data has the order of categories and marks.
CREATE TEMP TABLE page_cells AS
WITH seen AS (
    SELECT
        framework, version, device, machine, sync, function, successor_of,
        list(DISTINCT category) FILTER (category IS NOT NULL) AS categories,
        coalesce(bool_or(outcome = 'passed' AND placement = 'host'), false) AS host,
        coalesce(bool_or(outcome = 'passed' AND placement = 'mixed'), false) AS mixed,
        coalesce(bool_or(value_verdict = 'wrong'), false) AS wrong,
        coalesce(bool_or(contaminated IS NOT NULL), false) AS contaminated,
        coalesce(bool_or(NOT sync_check.passed), false) AS unproven
    FROM recorded
    GROUP BY ALL
)
SELECT
    target, row, functions.status, passed, passed + failed + flaky AS ran, passed + failed + flaky + skipped AS tests,
    coalesce(categories, []) AS categories,
    list_filter(
        [
            CASE WHEN device <> 'cpu' AND host THEN 'host' END,
            CASE WHEN device <> 'cpu' AND mixed THEN 'mixed' END,
            CASE WHEN wrong THEN 'wrong' END,
            CASE WHEN flaky > 0 THEN 'flaky' END,
            CASE WHEN contaminated THEN 'contaminated' END,
            CASE WHEN unproven THEN 'unproven' END
        ],
        mark -> mark IS NOT NULL
    ) AS marks,
    cold_mean_ns, steady_median_ns
FROM functions
JOIN seen USING (framework, version, device, machine, sync, function, successor_of)
JOIN page_targets USING (framework, version, device, machine, sync)
JOIN page_rows USING (framework, function, successor_of);

-- The times by which the latencies of two targets are compared: by the paper's method, the mean of a test's first calls, null unless
-- every run timed one; robust, the median of its steady-state samples. Of tests that passed in every run, as in analysis.sql.
CREATE TEMP VIEW page_times AS
WITH runs_of_test AS (
    SELECT framework, version, device, machine, sync, function, successor_of, test, count(*) AS runs
    FROM recorded
    GROUP BY ALL
),
of_test AS (
    SELECT
        framework, version, device, machine, sync, function, successor_of, test,
        CASE
            WHEN count(DISTINCT (run_id, run)) FILTER (cold IS NOT NULL) = any_value(runs)
            THEN sum(cold.call_ns::HUGEINT + coalesce(cold.wait_ns, 0)) / count(cold)
        END AS cold_ns,
        list_median(
            flatten(list(list_transform(steady.block_ns, lambda ns: ns / steady.calls_per_block)))
        ) AS steady_ns
    FROM measured_calls
    JOIN verdicts USING (framework, version, device, machine, sync, function, successor_of, test)
    JOIN runs_of_test USING (framework, version, device, machine, sync, function, successor_of, test)
    WHERE verdict IN ('passed', 'unknown') AND (cold IS NOT NULL OR steady IS NOT NULL)
    GROUP BY ALL
)
SELECT
    target, row, dense_rank() OVER (PARTITION BY row ORDER BY test) - 1 AS test,
    cold_ns, steady_ns
FROM of_test
JOIN page_targets USING (framework, version, device, machine, sync)
JOIN page_rows USING (framework, function, successor_of);

CREATE TEMP VIEW page_samples AS
SELECT
    framework, version, device, machine, sync, function, successor_of, test,
    list(cold.call_ns + coalesce(cold.wait_ns, 0) ORDER BY run_id, run, call) FILTER (cold IS NOT NULL) AS cold_ns,
    flatten(
        list(
            list_transform(steady.block_ns, lambda ns: ns / steady.calls_per_block) ORDER BY run_id, run, call
        ) FILTER (steady IS NOT NULL)
    ) AS steady_ns,
    bool_and(steady.stable) AS stable
FROM measured_calls
WHERE cold IS NOT NULL OR steady IS NOT NULL
GROUP BY ALL;

-- Test by test and run by run, with the facts that the page's texts are made of; the first run of a test has its samples.
CREATE TEMP VIEW page_details AS
SELECT
    target, row, test, run, run_id, framework, outcome, verdict, reason, phase, category, overruled, misplaced,
    fingerprint, cause, error_type, error_message, error_traceback, error_causes, exit_code, exit_signal, oom_killed,
    peak_memory_bytes, placement, placement_evidence, host_operations, value_verdict, deviation, cpu_control,
    full_precision, contaminated, disturbed, CASE WHEN NOT sync_check.passed THEN sync_check END AS sync_check,
    prediction, output_text,
    row_number() OVER (PARTITION BY row, target, test ORDER BY run, run_id) = 1 AS is_first,
    CASE WHEN is_first THEN len(cold_ns) END AS cold_samples,
    CASE WHEN is_first THEN cold_ns[:getvariable('most_samples')] END AS cold_ns,
    CASE WHEN is_first THEN len(page_samples.steady_ns) END AS steady_samples,
    CASE WHEN is_first THEN page_samples.steady_ns[:getvariable('most_samples')] END AS steady_ns,
    page_samples.stable AS stable
FROM recorded
JOIN verdicts USING (framework, version, device, machine, sync, function, successor_of, test)
JOIN page_targets USING (framework, version, device, machine, sync)
JOIN page_rows USING (framework, function, successor_of)
LEFT JOIN page_samples USING (framework, version, device, machine, sync, function, successor_of, test);
