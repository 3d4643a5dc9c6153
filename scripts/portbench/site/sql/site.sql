-- What a page of a function shows besides page.sql, on whose tables this builds: where tests ran and when, and why they failed.

-- Of each cell: where its passing tests ran, and when its newest run file ended.
CREATE TEMP TABLE site_facts AS
WITH places AS (
    SELECT target, row, map(list(seen ORDER BY seen), list(placements.tests ORDER BY seen)) AS placements
    FROM placements
    JOIN page_targets USING (framework, version, device, machine, sync)
    JOIN page_rows USING (framework, function, successor_of)
    GROUP BY ALL
),
ends AS (
    SELECT target, row, max(coalesce(ended_at, started_at)) AS ran_at
    FROM (SELECT DISTINCT framework, version, device, machine, sync, function, successor_of, run_id FROM recorded) AS found
    JOIN (SELECT run_id, started_at, ended_at FROM runs) AS files USING (run_id)
    JOIN page_targets USING (framework, version, device, machine, sync)
    JOIN page_rows USING (framework, function, successor_of)
    GROUP BY ALL
)
SELECT target, row, coalesce(placements, MAP {}) AS placements, ran_at
FROM ends
LEFT JOIN places USING (target, row);

CREATE TEMP VIEW site_cells AS
SELECT
    page_rows.framework, page_rows.function, page_rows.successor_of, decile, uses, top20, listed_as,
    page_rows.row, target, status, passed, ran, tests, categories, marks, cold_mean_ns, steady_median_ns, placements, ran_at
FROM page_rows
LEFT JOIN page_cells USING (row)
LEFT JOIN site_facts USING (row, target);

-- The failures of each function by cause, over its targets; predicted ones apart. "example" is the test and run to repeat.
CREATE TEMP VIEW site_causes AS
SELECT
    row,
    coalesce(fingerprint, '') AS fingerprint,
    prediction IS NOT NULL AS predicted,
    min(coalesce(category, 'other')) AS category,
    min(coalesce(cause, '')) AS cause,
    min(coalesce(error_type || ': ' || error_message, reason, '')) AS message,
    list_sort(list(DISTINCT target)) AS targets,
    count(DISTINCT test) AS tests,
    min({target: target, test: test, run_id: run_id}) AS example
FROM recorded
JOIN page_targets USING (framework, version, device, machine, sync)
JOIN page_rows USING (framework, function, successor_of)
WHERE outcome NOT IN ('passed', 'skipped', 'error') AND category IS DISTINCT FROM 'removed'
GROUP BY row, fingerprint, prediction IS NOT NULL;
