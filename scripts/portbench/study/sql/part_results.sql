-- With the fingerprints of its failures, made anew (table fingerprints), what a part of a study's results says. On a view
-- told_results.
CREATE TEMP VIEW part_results AS
SELECT told_results.*, fingerprints.fingerprint, fingerprints.cause
FROM told_results
LEFT JOIN fingerprints USING (run_id, function, test, run);
