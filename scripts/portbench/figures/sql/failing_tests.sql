-- How many tests of each configuration fail by each category; those that count as failed as they did not run wholly on the device are
-- of the category placement. On the views of the summary. Variable: strict_placement.
WITH counted AS (
    SELECT framework, version, device, machine, sync, seen AS category, tests
    FROM categories
    WHERE successor_of = '' AND seen <> 'removed'
    UNION ALL
    SELECT framework, version, device, machine, sync, 'placement' AS category, tests
    FROM placements
    WHERE successor_of = '' AND seen IN ('host', 'mixed') AND getvariable('strict_placement')
)
SELECT framework, version, device, machine, sync, category, sum(tests)::BIGINT AS tests
FROM counted
GROUP BY ALL
ORDER BY ALL;
