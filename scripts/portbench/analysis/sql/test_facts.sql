-- What comparisons need of each test of each configuration, computed once: its verdict, why it was skipped, whether it was not timed
-- since the synchronization check failed, and its times: the mean of all first calls (cold), null unless every run timed one; the
-- median call after the warm-up (steady). Successors do not count. On the views of the summary.
-- The module of a function, of at most three parts: torch.nn.functional of torch.nn.functional.relu.
CREATE OR REPLACE TEMP MACRO module_of(function) AS
    array_to_string(string_split(function, '.')[1:greatest(1, least(3, len(string_split(function, '.')) - 1))], '.');

-- Where functions of the paper's sample ran, other functions do not count: they would move rates that are published for the
-- sample. study-FRAMEWORK lists the sample, and so do the paper's own results (study-2023-...). What no manifest lists counts.
CREATE TEMP TABLE IF NOT EXISTS outside_functions AS
WITH sample AS (
    SELECT DISTINCT framework, function FROM listed_functions WHERE manifest = 'study-' || framework OR starts_with(manifest, 'study-2023-')
),
others AS (
    SELECT DISTINCT framework, function FROM listed_functions ANTI JOIN sample USING (framework, function)
),
ran AS (
    SELECT DISTINCT framework, version, device, machine, sync, function FROM verdicts WHERE successor_of = ''
),
of_paper AS (
    SELECT DISTINCT framework, version, device, machine, sync FROM ran JOIN sample USING (framework, function)
)
SELECT ran.* FROM ran JOIN others USING (framework, function) JOIN of_paper USING (framework, version, device, machine, sync);

-- The times of a test, of all runs: of first calls the mean, null unless every run timed one (cold); the median call after the warm-up.
CREATE TABLE IF NOT EXISTS times_of_tests AS
WITH timed_in AS (
    SELECT DISTINCT framework, version, device, machine, sync, function, successor_of, test, run_id, run
    FROM measured_calls
    WHERE cold IS NOT NULL
),
timed AS (
    SELECT framework, version, device, machine, sync, function, successor_of, test, count(*) AS timed_runs
    FROM timed_in
    GROUP BY ALL
),
seen AS (
    SELECT
        framework, version, device, machine, sync, function, successor_of, test,
        coalesce(bool_or(NOT passed_sync_check), false) AS unproven,
        sum(runs) AS runs
    FROM seen_results
    GROUP BY ALL
)
SELECT
    framework, version, device, machine, sync, function, successor_of, test,
    unproven,
    CASE WHEN timed_runs = runs THEN cold_ns / cold_calls END AS cold_ns,
    coalesce(timed_runs BETWEEN 1 AND runs - 1, false) AS timed_in_some_runs,
    median_ns AS steady_median_ns
FROM seen
LEFT JOIN timed USING (framework, version, device, machine, sync, function, successor_of, test)
LEFT JOIN test_times USING (framework, version, device, machine, sync, function, successor_of, test);

CREATE TABLE IF NOT EXISTS test_facts AS
WITH reasons AS (
    SELECT framework, version, device, machine, sync, function, test, min(coalesce(reason, error_message)) AS reason
    FROM recorded
    WHERE successor_of = '' AND (outcome IN ('skipped', 'error') OR category = 'removed')
    GROUP BY ALL
)
SELECT
    framework, version, device, machine, sync, function, test, verdict,
    CASE WHEN verdict IN ('skipped', 'error') THEN reason END AS reason,
    unproven,
    cold_ns,
    timed_in_some_runs,
    steady_median_ns
FROM verdicts
JOIN times_of_tests USING (framework, version, device, machine, sync, function, successor_of, test)
LEFT JOIN reasons USING (framework, version, device, machine, sync, function, test)
ANTI JOIN outside_functions USING (framework, version, device, machine, sync, function)
WHERE successor_of = '';
