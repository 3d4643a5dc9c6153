-- The results of a study as the runners told them: what 'portbench classify' made of their categories is taken back, so that a
-- study depends on its run files alone.
CREATE TEMP VIEW told_results AS
SELECT
    * EXCLUDE (fingerprint, cause, recorded_category, overruled)
        REPLACE (coalesce(recorded_category, category) AS category)
FROM results;
