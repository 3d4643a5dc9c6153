-- The results of one part of a study's tables, with the fingerprints of its failures (table fingerprints). On a view
-- recorded_results.
CREATE TEMP VIEW part_results AS
SELECT recorded_results.*, fingerprints.fingerprint, fingerprints.cause
FROM recorded_results
LEFT JOIN fingerprints USING (run_id, function, test, run);
