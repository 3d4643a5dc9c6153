-- The rows of some run files of a study (table chosen). On the view part_results.
CREATE TEMP VIEW chosen_runs AS
FROM runs SEMI JOIN chosen USING (run_id);

CREATE TEMP VIEW chosen_results AS
FROM part_results SEMI JOIN chosen USING (run_id);

CREATE TEMP VIEW chosen_calls AS
FROM timed_calls SEMI JOIN chosen USING (run_id);

CREATE TEMP VIEW chosen_functions AS
FROM listed_functions SEMI JOIN chosen_runs USING (framework, manifest);
