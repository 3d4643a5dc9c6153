-- Tests that are wrong themselves: errors of the manifest, then tests whose expected value is probably wrong. On the views of the
-- summary.
SELECT
    framework, version, device, machine, function, test,
    outcome = 'error' AS is_error,
    min(coalesce(error_type || ': ' || error_message, reason, '')) AS message,
    count(*) AS runs
FROM recorded
WHERE outcome = 'error' OR value_verdict = 'unexpected'
GROUP BY ALL
ORDER BY is_error DESC, framework, version, device, machine, function, test;
