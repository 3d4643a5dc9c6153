-- Results that an earlier test of the same worker spoilt at first, and what came of them alone. On the views of analysis.sql.
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
