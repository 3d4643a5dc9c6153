-- Findings in addition to the outcome of each test: the verdict on its values, whether it fails on the CPU too, its operations
-- on the host, and the synchronization check of its worker. On the views of analysis.sql.

CREATE TEMP VIEW value_verdicts AS
SELECT framework, version, device, machine, sync, function, successor_of, value_verdict AS seen, count(DISTINCT test) AS tests
FROM seen_results
WHERE value_verdict IS NOT NULL
GROUP BY ALL;

-- Tests that failed on a device, by their outcome on the CPU. A test that ever failed there is no fault of the device.
CREATE TEMP VIEW test_controls AS
SELECT
    framework, version, device, machine, sync, function, successor_of, test,
    CASE
        WHEN coalesce(bool_or(cpu_control IN ('failed', 'timed_out', 'crashed')), false) THEN 'on_cpu_too'
        WHEN coalesce(bool_or(cpu_control = 'passed'), false) THEN 'only_on_device'
        ELSE 'unknown'
    END AS cpu_control
FROM seen_results
WHERE device <> 'cpu' AND outcome NOT IN ('passed', 'skipped', 'error') AND category IS DISTINCT FROM 'removed'
GROUP BY framework, version, device, machine, sync, function, successor_of, test;

CREATE TEMP VIEW controls AS
SELECT * EXCLUDE (test, cpu_control), cpu_control AS seen, count(*) AS tests
FROM test_controls
GROUP BY ALL;

-- The greatest deviation of all runs. Null (not finite, or another shape) is greater than any number.
CREATE TEMP VIEW wrong_values AS
WITH of_test AS (
    SELECT
        framework, version, device, machine, sync, function, successor_of, test,
        sum(runs)::BIGINT AS runs,
        min(deviation.dtype) AS dtype,
        CASE WHEN bool_and(deviation.device IS NOT NULL) THEN max(deviation.device) END AS deviation_on_device,
        max(deviation.host) AS deviation_on_host
    FROM seen_results
    WHERE value_verdict = 'wrong'
    GROUP BY ALL
)
SELECT of_test.*, cpu_control
FROM of_test
LEFT JOIN test_controls USING (framework, version, device, machine, sync, function, successor_of, test);

-- Tests that failed by precision, by their outcome with the full precision of each dtype.
CREATE TEMP VIEW strict_modes AS
WITH of_test AS (
    SELECT
        framework, version, device, machine, sync, function, successor_of, test,
        CASE
            WHEN coalesce(bool_or(full_precision IN ('failed', 'timed_out', 'crashed')), false) THEN 'failed'
            WHEN coalesce(bool_or(full_precision = 'passed'), false) THEN 'passed'
            ELSE 'unknown'
        END AS seen
    FROM seen_results
    WHERE device <> 'cpu' AND category = 'precision'
    GROUP BY framework, version, device, machine, sync, function, successor_of, test
)
SELECT * EXCLUDE (test), count(*) AS tests
FROM of_test
GROUP BY ALL;

CREATE TEMP VIEW operations_on_host AS
WITH named AS (
    SELECT DISTINCT
        framework, version, device, machine, sync, function, successor_of, test,
        unnest(host_operations) AS seen
    FROM seen_results
    WHERE outcome = 'passed' AND placement IN ('host', 'mixed')
)
SELECT * EXCLUDE (test), count(*) AS tests
FROM named
GROUP BY ALL;

CREATE TEMP VIEW failed_sync_checks AS
SELECT framework, version, device, machine, sync, function, successor_of, 'tests' AS seen, count(DISTINCT test) AS tests
FROM seen_results
WHERE NOT passed_sync_check
GROUP BY ALL;

-- The number of workers whose synchronization check passed and failed, and the worst reason of those that failed.
CREATE TEMP VIEW sync_checks AS
WITH of_worker AS (
    SELECT DISTINCT framework, version, device, machine, sync, run_id, worker, sync_check
    FROM recorded
    WHERE sync_check IS NOT NULL
)
SELECT
    framework, version, device, machine, sync,
    count(*) FILTER (sync_check.passed) AS passed,
    count(*) FILTER (NOT sync_check.passed) AS failed,
    min({ratio: sync_check.ratio, reason: coalesce(sync_check.reason, '')}) FILTER (NOT sync_check.passed) AS worst,
    median(sync_check.grown_ns / nullif(sync_check.grown_ns::HUGEINT + sync_check.left_ns, 0)) AS seen_fraction
FROM of_worker
GROUP BY ALL;
