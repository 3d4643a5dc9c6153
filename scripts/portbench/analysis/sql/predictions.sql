-- What foretold each device that was not there. On the views runs and recorded.
CREATE OR REPLACE TEMP VIEW foretold_runs AS
SELECT DISTINCT framework, version, device, machine, coalesce(sync, 'complete') AS sync, prediction
FROM runs
WHERE prediction IS NOT NULL;

-- What was foretold of each test of a device that was not there, over all runs.
-- A test counts as refused where any run refused it, and as unknown where any run could not tell.
CREATE OR REPLACE TEMP VIEW foretold_tests AS
SELECT
    framework, version, device, machine, sync, function, successor_of, test,
    CASE
        WHEN bool_or(prediction.verdict = 'refused') THEN 'refused'
        WHEN bool_or(prediction.verdict = 'unknown') THEN 'unknown'
        ELSE 'accepted'
    END AS foretold,
    min(prediction.reason) AS reason,
    median(prediction.compile_ns) AS compile_ns,
    max(prediction.flops) AS flops,
    max(prediction.bytes) AS bytes,
    max(prediction.memory_bytes) AS memory_bytes,
    min(prediction.roofline_ns) AS roofline_ns
FROM recorded
WHERE prediction IS NOT NULL
GROUP BY ALL;

-- Figures are of one test of the function: the greatest, since the least is often that of an empty input.
CREATE OR REPLACE TEMP VIEW foretold_functions AS
SELECT
    framework, version, device, machine, sync, function, successor_of,
    count(*) FILTER (foretold = 'accepted') AS accepted,
    count(*) FILTER (foretold = 'refused') AS refused,
    count(*) FILTER (foretold = 'unknown') AS unknown,
    sum(compile_ns) AS compile_ns,
    max(flops) AS flops,
    max(bytes) AS bytes,
    max(memory_bytes) AS memory_bytes,
    max(roofline_ns) AS roofline_ns
FROM foretold_tests
GROUP BY ALL;
