-- The results of old and new run files as the runners told them: what 'portbench classify' made of the categories of the old
-- ones is taken back, so that a study depends on its run files alone. On the view both_results.
CREATE TEMP VIEW told_results AS
SELECT
    * EXCLUDE (fingerprint, cause, recorded_category, overruled)
        REPLACE (coalesce(recorded_category, category) AS category)
FROM both_results;

-- With their fingerprints, also anew: those of one study come from one version of portbench.fingerprints.
CREATE TEMP TABLE fingerprints (run_id VARCHAR, function VARCHAR, test VARCHAR, run BIGINT, fingerprint VARCHAR, cause VARCHAR);

CREATE TEMP VIEW merged_results AS
SELECT told_results.*, fingerprints.fingerprint, fingerprints.cause
FROM told_results
LEFT JOIN fingerprints USING (run_id, function, test, run);
