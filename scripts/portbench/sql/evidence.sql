-- What the tests that did not pass left behind, the most frequent first within each function.
SELECT
    framework, version, device, machine, function,
    coalesce(category, 'other') AS category,
    coalesce(error_type, outcome) AS what,
    coalesce(error_message, reason, '') AS message,
    count(DISTINCT test) AS tests
FROM results
WHERE outcome NOT IN ('passed', 'skipped') AND category IS DISTINCT FROM 'unavailable'
GROUP BY ALL
ORDER BY framework, version, device, machine, function, tests DESC, category, what, message;
