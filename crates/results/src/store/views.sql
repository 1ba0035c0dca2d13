-- What people query. Made anew whenever the form of the store is raised; docs/store.md explains each column.
-- Only functions that SQLite has had since 3.9, so that old shells and libraries can query them too.

CREATE VIEW run_summary AS
SELECT run,
       status,
       reason,
       started_at,
       ended_at,
       alive_at,
       (SELECT group_concat(json_extract(value, '$.name'), '+') FROM json_each(plan, '$.scripts')) AS scripts,
       json_extract(environment, '$.server.version') AS server_version,
       json_extract(environment, '$.server.server_version_num') AS server_version_num,
       hostname,
       json_extract(tables, '$.scale') AS scale,
       json_extract(plan, '$.clients') AS clients,
       json_extract(plan, '$.workers') AS workers,
       ifnull(json_extract(plan, '$.machines'), 1) AS machines,
       json_extract(plan, '$.protocol') AS protocol,
       json_extract(plan, '$.rate_tps') AS rate_tps,
       json_extract(plan, '$.warmup_s') AS warmup_s,
       json_extract(summary, '$.duration_s') AS duration_s,
       json_extract(summary, '$.tps') AS tps,
       json_extract(summary, '$.confidence.tps.low') AS tps_low,
       json_extract(summary, '$.confidence.tps.high') AS tps_high,
       json_extract(summary, '$.counts.scheduled') AS scheduled,
       json_extract(summary, '$.counts.succeeded') AS succeeded,
       json_extract(summary, '$.counts.failed') AS failed,
       json_extract(summary, '$.counts.skipped') AS skipped,
       json_extract(summary, '$.counts.unfinished') AS unfinished,
       ifnull(json_extract(summary, '$.counts.unknown'), 0) AS unknown,
       ifnull(json_extract(summary, '$.counts.reserved'), 0) AS reserved,
       json_extract(summary, '$.counts.late') AS late,
       json_extract(summary, '$.counts.retried') AS retried,
       ifnull(json_extract(summary, '$.other_endings.all_us.mean'),
              json_extract(summary, '$.response_us.mean')) AS mean_us,
       json_extract(summary, '$.confidence.response_mean_us.low') AS mean_low_us,
       json_extract(summary, '$.confidence.response_mean_us.high') AS mean_high_us,
       ifnull(json_extract(summary, '$.other_endings.all_us.stddev'),
              json_extract(summary, '$.response_us.stddev')) AS stddev_us,
       json_extract(summary, '$.response_us.min') AS min_us,
       ifnull(max(json_extract(summary, '$.response_us.p50'), json_extract(summary, '$.other_endings.all_us.p50')),
              json_extract(summary, '$.response_us.p50')) AS p50_us,
       ifnull(max(json_extract(summary, '$.response_us.p90'), json_extract(summary, '$.other_endings.all_us.p90')),
              json_extract(summary, '$.response_us.p90')) AS p90_us,
       ifnull(max(json_extract(summary, '$.response_us.p95'), json_extract(summary, '$.other_endings.all_us.p95')),
              json_extract(summary, '$.response_us.p95')) AS p95_us,
       ifnull(max(json_extract(summary, '$.response_us.p99'), json_extract(summary, '$.other_endings.all_us.p99')),
              json_extract(summary, '$.response_us.p99')) AS p99_us,
       ifnull(max(json_extract(summary, '$.response_us.p999'), json_extract(summary, '$.other_endings.all_us.p999')),
              json_extract(summary, '$.response_us.p999')) AS p999_us,
       ifnull(max(json_extract(summary, '$.response_us.max'), json_extract(summary, '$.other_endings.all_us.max')),
              json_extract(summary, '$.response_us.max')) AS max_us,
       json_extract(summary, '$.service_us.mean') AS service_mean_us,
       json_extract(summary, '$.service_us.p50') AS service_p50_us,
       json_extract(summary, '$.service_us.p99') AS service_p99_us,
       iif(json_extract(summary, '$.generator.verdict.limit') = 'client', 'generator',
           json_extract(summary, '$.generator.verdict.limit')) AS limited_by,
       json_extract(summary, '$.generator.verdict.evidence.kind') AS evidence,
       json_extract(summary, '$.steady_state.settled') AS settled,
       json_extract(summary, '$.service_level.kept') AS kept,
       (SELECT count(*) FROM json_each(summary, '$.goals') WHERE json_extract(value, '$.verdict') = 'met')
           AS goals_met,
       (SELECT count(*) FROM json_each(summary, '$.goals') WHERE json_extract(value, '$.verdict') = 'missed')
           AS goals_missed,
       (SELECT count(*) FROM json_each(summary, '$.goals') WHERE json_extract(value, '$.verdict') = 'undecided')
           AS goals_undecided,
       json_array_length(warnings) AS warnings,
       record_path,
       record_bytes,
       label,
       note
FROM runs;

CREATE VIEW run_scripts AS
SELECT runs.run,
       script.key AS script,
       json_extract(script.value, '$.name') AS name,
       json_extract(plan, '$.scripts[' || script.key || '].weight') AS weight,
       json_extract(script.value, '$.tps') AS tps,
       json_extract(script.value, '$.confidence.tps.low') AS tps_low,
       json_extract(script.value, '$.confidence.tps.high') AS tps_high,
       json_extract(script.value, '$.counts.scheduled') AS scheduled,
       json_extract(script.value, '$.counts.succeeded') AS succeeded,
       json_extract(script.value, '$.counts.failed') AS failed,
       json_extract(script.value, '$.counts.skipped') AS skipped,
       json_extract(script.value, '$.counts.unfinished') AS unfinished,
       ifnull(json_extract(script.value, '$.counts.unknown'), 0) AS unknown,
       ifnull(json_extract(script.value, '$.counts.reserved'), 0) AS reserved,
       json_extract(script.value, '$.counts.late') AS late,
       json_extract(script.value, '$.counts.retried') AS retried,
       ifnull(json_extract(script.value, '$.all_us.mean'),
              json_extract(script.value, '$.response_us.mean')) AS mean_us,
       json_extract(script.value, '$.confidence.response_mean_us.low') AS mean_low_us,
       json_extract(script.value, '$.confidence.response_mean_us.high') AS mean_high_us,
       ifnull(json_extract(script.value, '$.all_us.stddev'),
              json_extract(script.value, '$.response_us.stddev')) AS stddev_us,
       json_extract(script.value, '$.response_us.min') AS min_us,
       ifnull(max(json_extract(script.value, '$.response_us.p50'), json_extract(script.value, '$.all_us.p50')),
              json_extract(script.value, '$.response_us.p50')) AS p50_us,
       ifnull(max(json_extract(script.value, '$.response_us.p90'), json_extract(script.value, '$.all_us.p90')),
              json_extract(script.value, '$.response_us.p90')) AS p90_us,
       ifnull(max(json_extract(script.value, '$.response_us.p95'), json_extract(script.value, '$.all_us.p95')),
              json_extract(script.value, '$.response_us.p95')) AS p95_us,
       ifnull(max(json_extract(script.value, '$.response_us.p99'), json_extract(script.value, '$.all_us.p99')),
              json_extract(script.value, '$.response_us.p99')) AS p99_us,
       ifnull(max(json_extract(script.value, '$.response_us.p999'), json_extract(script.value, '$.all_us.p999')),
              json_extract(script.value, '$.response_us.p999')) AS p999_us,
       ifnull(max(json_extract(script.value, '$.response_us.max'), json_extract(script.value, '$.all_us.max')),
              json_extract(script.value, '$.response_us.max')) AS max_us,
       json_extract(script.value, '$.service_us.mean') AS service_mean_us,
       json_extract(script.value, '$.service_us.p50') AS service_p50_us,
       json_extract(script.value, '$.service_us.p99') AS service_p99_us
FROM runs, json_each(runs.summary, '$.scripts') AS script;

CREATE VIEW run_commands AS
SELECT runs.run,
       script.key AS script,
       json_extract(script.value, '$.name') AS script_name,
       command.key AS command,
       json_extract(command.value, '$.line') AS line,
       json_extract(command.value, '$.text') AS text,
       json_extract(command.value, '$.executions') AS executions,
       json_extract(command.value, '$.mean_us') AS mean_us,
       json_extract(command.value, '$.stddev_us') AS stddev_us,
       json_extract(command.value, '$.min_us') AS min_us,
       json_extract(command.value, '$.latency_us.p50') AS p50_us,
       json_extract(command.value, '$.latency_us.p90') AS p90_us,
       json_extract(command.value, '$.latency_us.p95') AS p95_us,
       json_extract(command.value, '$.latency_us.p99') AS p99_us,
       json_extract(command.value, '$.latency_us.p999') AS p999_us,
       json_extract(command.value, '$.max_us') AS max_us,
       json_extract(command.value, '$.failures') AS failures,
       json_extract(command.value, '$.retries') AS retries
FROM runs, json_each(runs.summary, '$.scripts') AS script, json_each(script.value, '$.commands') AS command;

CREATE VIEW run_intervals AS
SELECT run, position, start_s, end_s,
       CASE WHEN end_s > start_s THEN succeeded / (end_s - start_s) END AS tps,
       scheduled, succeeded, failed, skipped, unfinished,
       scheduled - succeeded - failed - skipped - unfinished AS unknown, late, retried, retries,
       mean_us, p50_us, p90_us, p99_us, p999_us, max_us
FROM intervals;

CREATE VIEW run_waits AS
SELECT runs.run,
       NULL AS script,
       json_extract(wait.value, '$.event_type') AS event_type,
       json_extract(wait.value, '$.event') AS event,
       json_extract(wait.value, '$.seen') AS seen,
       json_extract(wait.value, '$.share') AS share
FROM runs, json_each(runs.observation, '$.waits.top') AS wait
UNION ALL
SELECT runs.run,
       script.key AS script,
       json_extract(wait.value, '$.event_type'),
       json_extract(wait.value, '$.event'),
       json_extract(wait.value, '$.seen'),
       json_extract(wait.value, '$.share')
FROM runs, json_each(runs.observation, '$.waits.scripts') AS script, json_each(script.value) AS wait;

CREATE VIEW run_samples AS
SELECT run, position,
       json_extract(sample, '$.start_s') AS start_s,
       json_extract(sample, '$.end_s') AS end_s,
       json_extract(sample, '$.idle') AS idle,
       json_extract(sample, '$.values.wal_bytes') AS wal_bytes,
       json_extract(sample, '$.values.commits') AS commits,
       json_extract(sample, '$.values.rollbacks') AS rollbacks,
       json_extract(sample, '$.values.blocks_hit') AS blocks_hit,
       json_extract(sample, '$.values.blocks_read') AS blocks_read,
       json_extract(sample, '$.values.host_busy_share') AS host_busy_share,
       sample
FROM samples;

CREATE VIEW run_events AS
SELECT runs.run,
       json_extract(event.value, '$.kind') AS kind,
       json_extract(event.value, '$.start_s') AS start_s,
       json_extract(event.value, '$.end_s') AS end_s,
       json_extract(event.value, '$.detail') AS detail
FROM runs, json_each(runs.observation, '$.events') AS event;

CREATE VIEW run_costs AS
SELECT runs.run, cost.key AS name, cost.value AS per_transaction
FROM runs, json_each(runs.observation, '$.per_transaction') AS cost
WHERE cost.value IS NOT NULL;

CREATE VIEW run_settings AS
SELECT runs.run, setting.key AS name, setting.value AS value
FROM runs, json_each(runs.environment, '$.server.non_default_settings') AS setting;

CREATE VIEW run_warnings AS
SELECT runs.run, 'caution' AS severity, warning.key AS position, json_extract(warning.value, '$.kind') AS kind,
       warning.value AS warning
FROM runs, json_each(runs.warnings) AS warning
UNION ALL
SELECT runs.run, 'note', note.key, json_extract(note.value, '$.kind'), note.value
FROM runs, json_each(runs.notes) AS note;

CREATE VIEW trial_summary AS
SELECT trial, experiment, experiments.name, profile, position, factors, repeat, trials.status, trials.reason, trials.run,
       tps, tps_low, tps_high, succeeded, failed, mean_us, stddev_us, p50_us, p90_us, p95_us, p99_us, p999_us, max_us,
       limited_by
FROM trials JOIN experiments USING (experiment) LEFT JOIN run_summary ON run_summary.run = trials.run;

CREATE VIEW step_summary AS
SELECT trial, experiment, experiments.name, profile, position, factors, repeat, trials.status, trials.reason,
       step.key AS step,
       json_extract(step.value, '$.name') AS step_name,
       time.key + 1 AS time,
       json_extract(time.value, '$.duration_us') AS duration_us,
       json_extract(time.value, '$.measured_us') AS measured_us,
       json_extract(time.value, '$.limited') AS limited,
       json_extract(time.value, '$.error') AS error,
       json_extract(time.value, '$.stream') AS stream,
       json_extract(time.value, '$.repeat') AS stream_repeat,
       json_extract(time.value, '$.rows') AS rows,
       json_extract(time.value, '$.checksum') AS checksum,
       json_extract(time.value, '$.wal_bytes') AS wal_bytes,
       json_extract(time.value, '$.temp_bytes') AS temp_bytes,
       json_extract(time.value, '$.backend_user_us') AS backend_user_us,
       json_extract(time.value, '$.backend_system_us') AS backend_system_us,
       json_extract(time.value, '$.workers_cpu_us') AS workers_cpu_us,
       json_extract(time.value, '$.buffers.hit') AS buffers_hit,
       json_extract(time.value, '$.buffers.read') AS buffers_read,
       json_extract(time.value, '$.buffers.dirtied') AS buffers_dirtied,
       json_extract(time.value, '$.buffers.written') AS buffers_written,
       json_extract(time.value, '$.table_bytes') AS table_bytes,
       json_extract(time.value, '$.index_bytes') AS index_bytes
FROM steps JOIN trials USING (trial) JOIN experiments USING (experiment),
     json_each(steps.record, '$.steps') AS step, json_each(step.value, '$.times') AS time;

CREATE VIEW comparison_summary AS
SELECT comparison, name, status, decision, started_at, ended_at,
       json_extract(record, '$.factor') AS factor,
       json_extract(record, '$.sides[0].label') AS a,
       json_extract(record, '$.sides[1].label') AS b,
       json_extract(record, '$.method.draws') AS draws,
       json_array_length(record, '$.pairs') AS pairs,
       json_extract(record, '$.elapsed_s') AS elapsed_s,
       json_extract(record, '$.method.tolerance') AS tolerance,
       (SELECT json_extract(value, '$.ratio') FROM json_each(record, '$.findings')
        WHERE json_extract(value, '$.metric') = 'tps') AS tps_ratio,
       (SELECT json_extract(value, '$.ratio') FROM json_each(record, '$.findings')
        WHERE json_extract(value, '$.metric') = 'p50' AND json_extract(value, '$.script') IS NULL) AS p50_ratio,
       (SELECT json_extract(value, '$.ratio') FROM json_each(record, '$.findings')
        WHERE json_extract(value, '$.metric') = 'p99' AND json_extract(value, '$.script') IS NULL) AS p99_ratio,
       (SELECT json_extract(value, '$.ratio') FROM json_each(record, '$.findings')
        WHERE json_extract(value, '$.metric') = 'server_cpu') AS server_cpu_ratio,
       (SELECT json_extract(value, '$.ratio') FROM json_each(record, '$.findings')
        WHERE json_extract(value, '$.metric') = 'client_cpu') AS client_cpu_ratio,
       (SELECT json_extract(value, '$.ratio') FROM json_each(record, '$.findings')
        WHERE json_extract(value, '$.metric') = 'wal') AS wal_ratio,
       label,
       note
FROM comparisons;

CREATE VIEW comparison_findings AS
SELECT comparison,
       json_extract(finding.value, '$.metric') AS metric,
       json_extract(comparisons.record, '$.method.scripts[' || json_extract(finding.value, '$.script') || ']') AS script,
       json_extract(finding.value, '$.a') AS a,
       json_extract(finding.value, '$.b') AS b,
       json_extract(finding.value, '$.pairs') AS pairs,
       json_extract(finding.value, '$.decision') AS decision,
       json_extract(finding.value, '$.ratio') AS ratio,
       json_extract(finding.value, '$.low') AS low,
       json_extract(finding.value, '$.high') AS high,
       json_extract(finding.value, '$.smallest_difference') AS smallest_difference
FROM comparisons, json_each(comparisons.record, '$.findings') AS finding;

CREATE VIEW query_set_summary AS
SELECT query_set, name, status, started_at, ended_at, hostname,
       json_extract(record, '$.query_set.scale') AS scale,
       json_extract(record, '$.query_set.indexes') AS indexes,
       json_extract(record, '$.query_set.text') AS text,
       json_extract(record, '$.query_set.seed') AS seed,
       json_extract(record, '$.query_set.streams') AS streams,
       json_extract(record, '$.query_set.repeats') AS repeats,
       json_extract(record, '$.environment.server.version') AS server_version,
       json_extract(record, '$.environment.server.server_version_num') AS server_version_num,
       json_array_length(record, '$.steps') AS queries,
       (SELECT max(json_extract(value, '$.started_us') + json_extract(value, '$.duration_us'))
        FROM json_each(record, '$.streams')) AS elapsed_us,
       label,
       note
FROM query_sets;

CREATE VIEW query_summary AS
SELECT query_set, query_sets.name,
       step.key AS position,
       json_extract(step.value, '$.name') AS query,
       CASE WHEN json_type(step.value, '$.answer') = 'object' THEN 'different'
            ELSE json_extract(step.value, '$.answer') END AS answer,
       json_extract(time.value, '$.stream') AS stream,
       json_extract(time.value, '$.repeat') AS repeat,
       json_extract(time.value, '$.duration_us') AS duration_us,
       json_extract(time.value, '$.measured_us') AS measured_us,
       json_extract(time.value, '$.limited') AS limited,
       json_extract(time.value, '$.error') AS error,
       json_extract(time.value, '$.rows') AS rows,
       json_extract(time.value, '$.checksum') AS checksum,
       json_extract(time.value, '$.buffers.hit') AS buffers_hit,
       json_extract(time.value, '$.buffers.read') AS buffers_read,
       json_extract(time.value, '$.temp_bytes') AS temp_bytes,
       json_extract(time.value, '$.wal_bytes') AS wal_bytes,
       json_extract(time.value, '$.backend_user_us') AS backend_user_us,
       json_extract(time.value, '$.backend_system_us') AS backend_system_us,
       json_extract(time.value, '$.workers_cpu_us') AS workers_cpu_us
FROM query_sets, json_each(query_sets.record, '$.steps') AS step, json_each(step.value, '$.times') AS time;

-- A row per search; its rates are in transactions per second.
CREATE VIEW search_summary AS
SELECT search, name, status, answer, started_at, ended_at, hostname,
       json_extract(record, '$.environment.server.version') AS server_version,
       json_extract(record, '$.search.rate_tps') AS rate_tps,
       json_extract(record, '$.search.interval.low') AS rate_low,
       json_extract(record, '$.search.interval.high') AS rate_high,
       json_extract(record, '$.search.kept_tps') AS kept_tps,
       json_extract(record, '$.search.broken_tps') AS broken_tps,
       json_extract(record, '$.search.nearest.resource') AS nearest_limit,
       (SELECT group_concat(json_extract(value, '$.goal'), ', ') FROM json_each(record, '$.search.goals')) AS goals,
       json_extract(record, '$.search.clients') AS clients,
       json_extract(record, '$.search.elapsed_s') AS elapsed_s,
       json_extract(record, '$.comparison.ratio') AS ratio,
       json_extract(record, '$.comparison.interval.low') AS ratio_low,
       json_extract(record, '$.comparison.interval.high') AS ratio_high,
       json_extract(record, '$.comparison.decision') AS decision,
       label, note
FROM searches;

-- A row per trial of an experiment that is a search.
CREATE VIEW trial_search_summary AS
SELECT experiment, trial, factors, repeat, status,
       json_extract(record, '$.search.answer') AS answer,
       json_extract(record, '$.search.rate_tps') AS rate_tps,
       json_extract(record, '$.search.interval.low') AS rate_low,
       json_extract(record, '$.search.interval.high') AS rate_high,
       json_extract(record, '$.search.nearest.resource') AS nearest_limit,
       json_extract(record, '$.search.clients') AS clients
FROM trials JOIN trial_searches USING (trial);

-- A row per load of a search.
CREATE VIEW search_loads AS
SELECT search, searches.name,
       json_extract(load.value, '$.rate_tps') AS rate_tps,
       json_extract(load.value, '$.verdict') AS verdict,
       json_extract(load.value, '$.achieved_tps') AS achieved_tps,
       json_extract(load.value, '$.p50_us') AS p50_us,
       json_extract(load.value, '$.p99_us') AS p99_us,
       json_extract(load.value, '$.p999_us') AS p999_us,
       json_extract(load.value, '$.nearest.resource') AS nearest_limit,
       json_extract(load.value, '$.nearest.share') AS nearest_share,
       json_array_length(load.value, '$.trials') AS trials
FROM searches, json_each(searches.record, '$.search.loads') AS load;
