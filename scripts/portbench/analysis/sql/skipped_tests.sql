-- The tests of each configuration that did not run, by function and reason. On test_facts.sql.
SELECT framework, version, device, machine, sync, function, reason, count(*) AS tests
FROM test_facts
WHERE verdict = 'skipped'
GROUP BY ALL
ORDER BY ALL;
