-- What was predicted for each test, and what it did on the device itself. On the views verdicts, recorded and test_controls.
-- Variables: first (the key of the predicted side), second (that of the measured one): structs as for pairs.sql.
CREATE OR REPLACE TEMP VIEW compared_sides AS
SELECT 'predicted' AS place, unnest(getvariable('first'))
UNION ALL
SELECT 'measured' AS place, unnest(getvariable('second'));

-- Where a test ran: off the device if any of its work was on the host in any run; null where that was not seen.
CREATE OR REPLACE TEMP VIEW ran_tests AS
WITH seen AS (
    SELECT
        framework, version, device, machine, sync, function, successor_of, test,
        CASE
            WHEN bool_or(placement IN ('host', 'mixed')) FILTER (outcome = 'passed') THEN true
            WHEN bool_or(placement = 'device') FILTER (outcome = 'passed') THEN false
        END AS is_off_device,
        min(category) FILTER (outcome NOT IN ('passed', 'skipped', 'error')) AS category,
        min(coalesce(error_message, reason)) FILTER (outcome NOT IN ('passed', 'skipped', 'error')) AS message,
        min(coalesce(reason, error_message)) FILTER (outcome IN ('skipped', 'error')) AS why_skipped
    FROM recorded
    JOIN compared_sides USING (framework, version, device, machine, sync)
    GROUP BY ALL
)
SELECT *
FROM verdicts
JOIN compared_sides USING (framework, version, device, machine, sync)
JOIN seen USING (framework, version, device, machine, sync, function, successor_of, test);

-- Tests that fail on the CPU too, in the control of their own run or on the CPU as a target of the study: no fault of the device.
CREATE OR REPLACE TEMP VIEW failing_on_cpu AS
SELECT framework, version, function, successor_of, test FROM verdicts WHERE device = 'cpu' AND verdict = 'failed'
UNION
SELECT framework, version, function, successor_of, test
FROM test_controls
JOIN compared_sides USING (framework, version, device, machine, sync)
WHERE place = 'measured' AND cpu_control = 'on_cpu_too';

CREATE OR REPLACE TEMP VIEW prediction_matches AS
SELECT
    function, successor_of, test,
    CASE
        WHEN measured.verdict IN ('skipped', 'error') THEN 'not run'
        WHEN predicted.verdict IN ('skipped', 'error') THEN 'not predicted'
        WHEN predicted.verdict = 'flaky' OR measured.verdict = 'flaky' THEN 'flaky'
        WHEN measured.verdict = 'failed' AND on_cpu.test IS NOT NULL THEN 'fails on the CPU too'
        WHEN predicted.verdict = 'failed' AND measured.verdict = 'failed' THEN 'agreement'
        WHEN measured.verdict = 'failed' THEN 'missed'
        WHEN predicted.verdict = 'failed' THEN 'false alarm'
        ELSE 'both pass'
    END AS outcome,
    CASE
        WHEN predicted.verdict <> 'passed' OR measured.verdict <> 'passed' THEN NULL
        WHEN predicted.is_off_device AND measured.is_off_device THEN 'agreement'
        WHEN measured.is_off_device AND NOT predicted.is_off_device THEN 'missed'
        WHEN predicted.is_off_device AND NOT measured.is_off_device THEN 'false alarm'
        WHEN NOT predicted.is_off_device AND NOT measured.is_off_device THEN 'both pass'
    END AS placement,
    predicted.category AS predicted_category,
    measured.category AS measured_category,
    coalesce(predicted.message, predicted.why_skipped) AS predicted_message,
    coalesce(measured.message, measured.why_skipped) AS measured_message
FROM ran_tests AS predicted
JOIN ran_tests AS measured USING (function, successor_of, test)
LEFT JOIN failing_on_cpu AS on_cpu
    ON
        on_cpu.framework = measured.framework
        AND on_cpu.version = measured.version
        AND on_cpu.function = measured.function
        AND on_cpu.successor_of = measured.successor_of
        AND on_cpu.test = measured.test
WHERE predicted.place = 'predicted' AND measured.place = 'measured';
