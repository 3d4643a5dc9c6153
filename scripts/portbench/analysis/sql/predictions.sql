-- What made the predictions of each predicted target. On the views runs and recorded.
CREATE OR REPLACE TEMP VIEW predicted_runs AS
SELECT DISTINCT framework, version, device, machine, sync, prediction
FROM runs
WHERE prediction IS NOT NULL;

-- What was predicted for each test of a predicted target, over all runs.
-- A test counts as refused if any run refused it, else as unknown if any run could not predict it.
CREATE OR REPLACE TEMP VIEW predicted_tests AS
SELECT
    framework, version, device, machine, sync, function, successor_of, test,
    CASE
        WHEN bool_or(prediction.verdict = 'refused') THEN 'refused'
        WHEN bool_or(prediction.verdict = 'unknown') THEN 'unknown'
        ELSE 'accepted'
    END AS verdict,
    min(prediction.reason) AS reason,
    median(prediction.compile_ns) AS compile_ns,
    max(prediction.flops) AS flops,
    max(prediction.bytes) AS bytes,
    max(prediction.memory_bytes) AS memory_bytes,
    min(prediction.roofline_ns) AS roofline_ns
FROM recorded
WHERE prediction IS NOT NULL
GROUP BY ALL;

-- Figures are the greatest of a function's tests: the least is often that of an empty input.
CREATE OR REPLACE TEMP VIEW predicted_functions AS
SELECT
    framework, version, device, machine, sync, function, successor_of,
    count(*) FILTER (verdict = 'accepted') AS accepted,
    count(*) FILTER (verdict = 'refused') AS refused,
    count(*) FILTER (verdict = 'unknown') AS unknown,
    sum(compile_ns) AS compile_ns,
    max(flops) AS flops,
    max(bytes) AS bytes,
    max(memory_bytes) AS memory_bytes,
    max(roofline_ns) AS roofline_ns
FROM predicted_tests
GROUP BY ALL;
