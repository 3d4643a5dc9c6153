-- The results of a study as the runners recorded them, without the categories of 'portbench classify': a study depends on its
-- run files alone.
CREATE TEMP VIEW recorded_results AS
SELECT
    * EXCLUDE (fingerprint, cause, recorded_category, overruled)
        REPLACE (coalesce(recorded_category, category) AS category)
FROM results;
