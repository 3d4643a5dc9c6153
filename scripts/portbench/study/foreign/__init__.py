"""Results of other software: readers of its reports, and the import of a report as a run file."""
