-- The tests of each configuration that did not run or have an error of their own, by function and reason. On test_facts.sql.
SELECT framework, version, device, machine, sync, function, verdict, reason, count(*) AS tests
FROM test_facts
WHERE verdict IN ('skipped', 'error')
GROUP BY ALL
UNION ALL
SELECT framework, version, device, machine, sync, function, 'outside' AS verdict, NULL AS reason, count(*) AS tests
FROM verdicts
JOIN outside_functions USING (framework, version, device, machine, sync, function)
WHERE successor_of = ''
GROUP BY ALL
ORDER BY ALL;
