-- The data of the page, in columns that fit its arrays. On the views of analysis.sql and triage.sql, and on
-- listed_functions, and on test_facts.sql; page_targets numbers the targets.

-- One row for each function, also for those that a manifest lists and of which nothing ran. Strata are those of the
-- manifests; where these contradict each other, the greatest values.
CREATE TABLE page_rows AS
WITH strata AS (
    SELECT
        framework, function,
        max(decile) AS decile, max(uses) AS uses, bool_or(top20) AS top20, max(listed_as) AS listed_as
    FROM listed_functions
    GROUP BY ALL
),
named AS (
    SELECT DISTINCT framework, function, successor_of FROM verdicts
    UNION
    SELECT framework, function, '' FROM strata
)
SELECT
    row_number() OVER (ORDER BY named.framework, named.function, successor_of) - 1 AS row,
    named.framework, named.function, successor_of, decile, uses, top20, listed_as
FROM named
LEFT JOIN strata ON strata.framework = named.framework AND strata.function = coalesce(nullif(successor_of, ''), named.function);

-- The status, categories and marks of each cell; portbench.page.data has the order of categories and marks.
CREATE TABLE page_cells AS
WITH seen AS (
    SELECT
        framework, version, device, machine, sync, function, successor_of,
        list(DISTINCT category) FILTER (category IS NOT NULL) AS categories,
        coalesce(bool_or(outcome = 'passed' AND placement = 'host'), false) AS host,
        coalesce(bool_or(outcome = 'passed' AND placement = 'mixed'), false) AS mixed,
        coalesce(bool_or(value_verdict = 'wrong'), false) AS wrong,
        coalesce(bool_or(NOT passed_sync_check), false) AS unproven
    FROM seen_results
    GROUP BY ALL
),
after_others AS (
    SELECT DISTINCT framework, version, device, machine, sync, function, successor_of, true AS contaminated
    FROM recorded
    WHERE contaminated IS NOT NULL
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
LEFT JOIN after_others USING (framework, version, device, machine, sync, function, successor_of)
JOIN page_targets USING (framework, version, device, machine, sync)
JOIN page_rows USING (framework, function, successor_of);

-- The times by which the latencies of two targets are compared: by the paper's method, the mean of a test's first calls, null unless
-- every run timed one; robust, the median of its steady-state samples. Of tests that passed in every run, as in analysis.sql.
CREATE TEMP VIEW page_times AS
SELECT
    target, row, dense_rank() OVER (PARTITION BY row ORDER BY test) - 1 AS test,
    times_of_tests.cold_ns AS cold_ns, steady_median_ns AS steady_ns
FROM times_of_tests
JOIN test_times USING (framework, version, device, machine, sync, function, successor_of, test)
JOIN page_targets USING (framework, version, device, machine, sync)
JOIN page_rows USING (framework, function, successor_of)
WHERE verdict IN ('passed', 'unknown') AND (cold_calls > 0 OR steady_median_ns IS NOT NULL);
