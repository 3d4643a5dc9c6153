-- The study as it was at a moment: of each test of a target, the results of the last day on which it ran before "to_instant" and not before
-- "from_instant". The results of several days are never one result: a test that broke in between would be flaky. On the views of
-- shown_tables.sql; the views runs, results and timed_calls then have these rows alone, and so does samples.
-- Variables: from_instant, to_instant (the beginnings of instants in UTC, as run files write them).
CREATE TEMP TABLE last_results AS
WITH dated AS (
    SELECT run_id, left(coalesce(started_at, ''), 10) AS day
    FROM runs
    WHERE coalesce(started_at, '') >= getvariable('from_instant') AND coalesce(started_at, '') < getvariable('to_instant')
),
ran AS (
    SELECT DISTINCT
        framework, version, device, machine, sync, function, coalesce(successor_of, '') AS former, test, run_id, day
    FROM results
    JOIN dated USING (run_id)
)
SELECT run_id, function, former, test
FROM ran
QUALIFY day = max(day) OVER (PARTITION BY framework, version, device, machine, sync, function, former, test);

ALTER VIEW runs RENAME TO all_runs;
CREATE TEMP VIEW runs AS
FROM all_runs WHERE run_id IN (SELECT run_id FROM last_results);

-- The rows of a view, such as 'all_results', that are of these results.
CREATE TEMP MACRO last_rows(every) AS TABLE
SELECT found.*
FROM query_table(every) AS found
SEMI JOIN last_results
    ON found.run_id = last_results.run_id
    AND found.function = last_results.function
    AND found.test = last_results.test
    AND coalesce(found.successor_of, '') = last_results.former;

ALTER VIEW results RENAME TO all_results;
CREATE TEMP VIEW results AS
FROM last_rows('all_results');

ALTER VIEW timed_calls RENAME TO all_timed_calls;
CREATE TEMP VIEW timed_calls AS
FROM last_rows('all_timed_calls');
