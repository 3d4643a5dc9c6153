-- The tests of each configuration that did not pass, in groups of what they have in common; and how often the tests with each
-- trait fail. On test_facts.sql and the views of the summary.

-- The operation that a message says is missing or does not take a dtype; null where it names none.
CREATE OR REPLACE TEMP MACRO operation_in(message) AS coalesce(
    nullif(regexp_extract(message, '\bthe operation ([\w:.]+) ', 1), ''),
    nullif(regexp_extract(message, '"(\w+)"(?: "[^"]*")? not implemented for ''', 1), ''),
    nullif(regexp_extract(message, '\boperator ''?((?:\w+::)[\w.]+)', 1), ''),
    nullif(regexp_extract(message, '\bCould not run ''([\w:.]+)''', 1), ''),
    nullif(regexp_extract(message, '^((?:\w+::)?[a-z_]\w*(?:\.\w+)?)\(\): ', 1), ''),
    nullif(regexp_extract(message, '\bError while lowering: \[\] ([\w:]+)', 1), ''),
    nullif(regexp_extract(message, '\bNo registered ''(\w+)'' OpKernel', 1), ''),
    nullif(regexp_extract(message, '\bfor primitive ''(\w+)'' not found', 1), ''),
    nullif(regexp_extract(message, '\bthis rewriting is not implemented: %?[\w.-]+ = \S+ ([\w-]+)\(', 1), ''),
    nullif(regexp_extract(message, '(?i)\bHLO opcode `([\w-]+)`', 1), ''),
    nullif(regexp_extract(message, '\[Op:(\w+)\]', 1), '')
);

-- What a test's id says of it: its dtypes, whether it is one of gradients, and its other parameters.
CREATE OR REPLACE TEMP MACRO traits_of(test) AS list_sort(list_distinct(
    regexp_extract_all(
        test,
        '\b(b?float(?:16|32|64|8\w*)|complex(?:32|64|128)|u?int(?:2|4|8|16|32|64)|qu?int(?:8|32)|bool|gradient)\b',
        1
    )
    || list_filter(regexp_extract_all(test, '[\[,](\w+=[^,=\[\]]+)', 1), lambda pair: pair NOT LIKE '%dtype=%')
));

CREATE OR REPLACE TEMP TABLE traits AS
SELECT test, traits_of(test) AS traits
FROM (SELECT DISTINCT test FROM test_facts);

CREATE OR REPLACE TEMP TABLE caused AS
WITH failed AS (
    SELECT
        framework, version, device, machine, sync, function, test,
        -- Of the runs that failed in several ways, one: the same for every order of the run files.
        min({
            cause: if(misplaced, 'passed, but ran ' || if(placement = 'host', '', 'partly ') || 'on the host', replace(cause, function, '*')),
            category: if(misplaced, 'placement', coalesce(category, 'other')),
            message: error_message
        }) AS first
    FROM recorded
    WHERE successor_of = '' AND (misplaced OR (outcome NOT IN ('passed', 'skipped', 'error') AND category IS DISTINCT FROM 'removed'))
    GROUP BY ALL
)
SELECT
    framework, version, device, machine, sync, function, test, traits, first.cause AS said, first.category AS category,
    CASE WHEN first.category IN ('type', 'not_implemented') THEN operation_in(left(first.message, 2000)) END AS operation
FROM failed
JOIN test_facts USING (framework, version, device, machine, sync, function, test)
JOIN traits USING (test)
WHERE verdict IN ('failed', 'flaky');

-- A row for each trait of a configuration: how many tests with it ran and failed, of how many functions; and how many other tests of
-- the functions that fail with it.
CREATE OR REPLACE TEMP VIEW failing_traits AS
WITH ran AS (
    SELECT framework, version, device, machine, sync, function, traits, verdict <> 'passed' AS fails
    FROM test_facts
    JOIN traits USING (test)
    WHERE verdict IN ('passed', 'failed', 'flaky')
),
of_function AS (
    SELECT framework, version, device, machine, sync, function, count(*) AS ran, count(*) FILTER (fails) AS failed
    FROM ran
    GROUP BY ALL
),
has_trait AS (
    SELECT * EXCLUDE (traits), unnest(traits) AS trait FROM ran
),
with_trait AS (
    SELECT framework, version, device, machine, sync, function, trait, count(*) AS ran, count(*) FILTER (fails) AS failed
    FROM has_trait
    GROUP BY ALL
)
SELECT
    framework, version, device, machine, sync, trait,
    sum(with_trait.ran)::BIGINT AS ran,
    sum(with_trait.failed)::BIGINT AS failed,
    count(*) FILTER (with_trait.failed > 0) AS functions,
    sum(of_function.ran - with_trait.ran)::BIGINT AS others,
    sum(of_function.failed - with_trait.failed)::BIGINT AS others_failed
FROM with_trait
JOIN of_function USING (framework, version, device, machine, sync, function)
GROUP BY ALL;

-- The same for each module and each module that it is in.
CREATE OR REPLACE TEMP VIEW failing_modules AS
WITH ran AS (
    SELECT framework, version, device, machine, sync, function, string_split(module_of(function), '.') AS parts, verdict <> 'passed' AS fails
    FROM test_facts
    WHERE verdict IN ('passed', 'failed', 'flaky')
),
of_function AS (
    SELECT framework, version, device, machine, sync, function, parts, count(*) AS ran, count(*) FILTER (fails) AS failed
    FROM ran
    GROUP BY ALL
),
of_prefix AS (
    SELECT
        framework, version, device, machine, sync, ran, failed,
        unnest(list_transform(range(1, len(parts) + 1), lambda length: array_to_string(parts[1:length], '.'))) AS module
    FROM of_function
)
SELECT
    framework, version, device, machine, sync, module,
    sum(ran)::BIGINT AS ran,
    sum(failed)::BIGINT AS failed,
    count(*) FILTER (failed > 0) AS functions
FROM of_prefix
GROUP BY ALL;

CREATE OR REPLACE TEMP VIEW caused_groups AS
SELECT
    framework, version, device, machine, sync, traits, module_of(function) AS module, operation, said, category,
    count(*) AS tests,
    list_sort(list(DISTINCT function)) AS functions,
    min({function: function, test: test}) AS example
FROM caused
GROUP BY ALL;
