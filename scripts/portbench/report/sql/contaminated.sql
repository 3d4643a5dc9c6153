-- Tests that failed after others in the same worker, and their results alone. On the views of the summary.
SELECT
    framework, version, device, machine, sync, function, test,
    contaminated.category AS category,
    contaminated.outcome AS first,
    coalesce(contaminated.error.message, contaminated.reason, '') AS message,
    outcome AS alone,
    count(*) AS runs
FROM recorded
WHERE contaminated IS NOT NULL
GROUP BY ALL
ORDER BY ALL;
