-- The evidence of the tests that did not pass, the most frequent first within each function. On the views of the summary.
SELECT
    framework, version, device, machine, sync, function, successor_of,
    CASE WHEN misplaced THEN 'placement' ELSE coalesce(category, 'other') END AS category,
    CASE
        WHEN misplaced AND placement = 'host' THEN 'ran on the host'
        WHEN misplaced THEN 'ran partly on the host'
        ELSE coalesce(error_type, outcome)
    END AS what,
    CASE WHEN misplaced THEN array_to_string(host_operations, ', ') ELSE error_message END AS said,
    coalesce(said, reason, '') AS message,
    NOT misplaced AND overruled IS NOT NULL AS overruled,
    count(DISTINCT test) AS tests
FROM recorded
WHERE misplaced OR (outcome NOT IN ('passed', 'skipped', 'error') AND category IS DISTINCT FROM 'removed')
GROUP BY ALL
ORDER BY framework, version, device, machine, sync, function, successor_of, tests DESC, category, what, message, overruled;
