-- The tests of two configurations in pairs: the table is created again for each pair. On test_facts.sql.
-- Variable: paired (the keys of both configurations: a list of structs of framework, version, device, machine and sync).

CREATE OR REPLACE TEMP MACRO facts_of(side) AS TABLE
SELECT
    function,
    test,
    {
        verdict: verdict,
        reason: reason,
        is_known: verdict IN ('passed', 'unknown'),
        unproven: unproven,
        timed_in_some_runs: timed_in_some_runs,
        cold_ns: cold_ns,
        steady_ns: steady_median_ns
    } AS facts
FROM test_facts
WHERE
    framework = side['framework']
    AND version = side['version']
    AND device = side['device']
    AND machine = side['machine']
    AND sync = side['sync'];

-- A null struct: nothing was recorded of the test on that configuration.
CREATE OR REPLACE TEMP TABLE paired_tests AS
WITH paired AS (
    SELECT function, test, one.facts AS first, other.facts AS second
    FROM facts_of(getvariable('paired')[1]) AS one
    FULL JOIN facts_of(getvariable('paired')[2]) AS other USING (function, test)
)
SELECT
    *,
    coalesce(first.verdict NOT IN ('skipped', 'unknown', 'error') AND second.verdict NOT IN ('skipped', 'unknown', 'error'), false) AS ran_on_both,
    coalesce(first.is_known AND second.is_known AND first.cold_ns + second.cold_ns IS NOT NULL, false) AS has_cold,
    coalesce(first.is_known AND second.is_known AND first.steady_ns + second.steady_ns IS NOT NULL, false) AS has_steady
FROM paired;
