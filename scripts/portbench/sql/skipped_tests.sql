-- The tests of each side that did not run, by function and reason. On the views of analysis.sql.
WITH of_test AS (
    SELECT
        framework, version, device, machine, sync, function, test,
        min(coalesce(reason, error_message)) AS reason
    FROM told
    JOIN verdicts USING (framework, version, device, machine, sync, function, successor_of, test)
    WHERE verdict = 'skipped' AND successor_of = ''
    GROUP BY ALL
)
SELECT * EXCLUDE (test), count(*) AS tests
FROM of_test
GROUP BY ALL
ORDER BY ALL;
