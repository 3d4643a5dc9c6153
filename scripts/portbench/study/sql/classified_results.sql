-- The results of a study with the categories that 'portbench classify' derived (table classes) and with fingerprints (table
-- named). A result without a class keeps its category: it passed, was skipped, or its function is not in that version.
CREATE TEMP VIEW classified_results AS
SELECT
    recorded.* EXCLUDE (fingerprint, cause, recorded_category, overruled)
        REPLACE (coalesce(classes.category, recorded.recorded_category, recorded.category) AS category),
    coalesce(named.fingerprint, recorded.fingerprint) AS fingerprint,
    coalesce(named.cause, recorded.cause) AS cause,
    classes.recorded_category AS recorded_category,
    classes.overruled AS overruled
FROM results AS recorded
LEFT JOIN classes USING (run_id, function, test, run)
LEFT JOIN named USING (run_id, function, test, run);
