-- Tests that ran again alone because their first end may not be their own, and the results that count. "why" is
-- contaminated (after others in the same worker) or disturbed (from outside). On the views of the summary.
WITH retried AS (
    SELECT *, 'contaminated' AS why, contaminated AS before FROM recorded WHERE contaminated IS NOT NULL
    UNION ALL BY NAME
    SELECT *, 'disturbed' AS why, disturbed AS before FROM recorded WHERE disturbed IS NOT NULL
)
SELECT
    why, framework, version, device, machine, sync, function, test,
    before.category AS category,
    before.outcome AS first,
    coalesce(before.error.message, before.reason, '') AS message,
    outcome AS alone,
    count(*) AS runs
FROM retried
GROUP BY ALL
ORDER BY ALL;
