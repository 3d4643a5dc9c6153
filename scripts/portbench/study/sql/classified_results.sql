-- The results of a study with the categories that 'portbench classify' derived (table classes) and with fingerprints (table
-- named). What has no class keeps its category: it passed, was skipped, or its function is not in that version.
CREATE TEMP VIEW classified_results AS
SELECT
    told.* EXCLUDE (fingerprint, cause, recorded_category, overruled)
        REPLACE (coalesce(classes.category, told.recorded_category, told.category) AS category),
    coalesce(named.fingerprint, told.fingerprint) AS fingerprint,
    coalesce(named.cause, told.cause) AS cause,
    classes.recorded_category AS recorded_category,
    classes.overruled AS overruled
FROM results AS told
LEFT JOIN classes USING (run_id, function, test, run)
LEFT JOIN named USING (run_id, function, test, run);
