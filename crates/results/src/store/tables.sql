-- The tables of the store. A change here needs a new form in tables.rs. What people query are the views; docs/store.md
-- explains both.
-- A run that is over is never changed, apart from its label and its note, and entries are removed only after a row of
-- removals says so: triggers check both.

CREATE TABLE runs (
    run INTEGER PRIMARY KEY AUTOINCREMENT,
    status TEXT NOT NULL CHECK (status IN ('running', 'complete', 'interrupted', 'failed', 'killed')),
    reason TEXT,
    started_at TEXT NOT NULL,
    ended_at TEXT,
    pgmeter_version TEXT NOT NULL,
    schema_version INTEGER,
    record_path TEXT,
    record_bytes INTEGER,
    hostname TEXT NOT NULL,
    boot_id TEXT,
    pid_namespace TEXT,
    pid INTEGER,
    pid_started_ticks INTEGER,
    seed TEXT NOT NULL,
    plan TEXT NOT NULL CHECK (json_valid(plan)),
    environment TEXT NOT NULL CHECK (json_valid(environment)),
    tables TEXT CHECK (tables IS NULL OR json_valid(tables)),
    summary TEXT CHECK (summary IS NULL OR json_valid(summary)),
    observation TEXT CHECK (observation IS NULL OR json_valid(observation)),
    warnings TEXT CHECK (warnings IS NULL OR json_valid(warnings)),
    notes TEXT CHECK (notes IS NULL OR json_valid(notes)),
    label TEXT,
    note TEXT,
    alive_at TEXT
);

CREATE INDEX runs_identity ON runs (started_at, hostname, seed);

CREATE TABLE intervals (
    run INTEGER NOT NULL REFERENCES runs (run),
    position INTEGER NOT NULL,
    start_s REAL NOT NULL,
    end_s REAL NOT NULL,
    scheduled INTEGER NOT NULL,
    succeeded INTEGER NOT NULL,
    failed INTEGER NOT NULL,
    skipped INTEGER NOT NULL,
    unfinished INTEGER NOT NULL,
    late INTEGER NOT NULL,
    retried INTEGER NOT NULL,
    retries INTEGER NOT NULL,
    mean_us REAL,
    p50_us REAL,
    p90_us REAL,
    p99_us REAL,
    p999_us REAL,
    max_us REAL,
    PRIMARY KEY (run, position)
) WITHOUT ROWID;

CREATE TABLE samples (
    run INTEGER NOT NULL REFERENCES runs (run),
    position INTEGER NOT NULL,
    sample TEXT NOT NULL CHECK (json_valid(sample)),
    PRIMARY KEY (run, position)
) WITHOUT ROWID;

CREATE TABLE experiments (
    experiment INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL,
    profile TEXT NOT NULL CHECK (profile IN ('full', 'quick')),
    files TEXT NOT NULL CHECK (json_valid(files)),
    started_at TEXT NOT NULL,
    hostname TEXT NOT NULL,
    label TEXT,
    note TEXT,
    design TEXT CHECK (design IS NULL OR json_valid(design))
);

CREATE TABLE trials (
    trial INTEGER PRIMARY KEY AUTOINCREMENT,
    experiment INTEGER NOT NULL REFERENCES experiments (experiment),
    position INTEGER NOT NULL,
    factors TEXT NOT NULL CHECK (json_valid(factors)),
    repeat INTEGER NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('planned', 'running', 'complete', 'failed')),
    reason TEXT,
    run INTEGER REFERENCES runs (run),
    UNIQUE (experiment, position)
);

CREATE TABLE steps (
    trial INTEGER PRIMARY KEY REFERENCES trials (trial),
    record TEXT NOT NULL CHECK (json_valid(record))
);

CREATE TABLE trial_searches (
    trial INTEGER PRIMARY KEY REFERENCES trials (trial),
    record TEXT NOT NULL CHECK (json_valid(record))
);

CREATE TABLE executions (
    execution INTEGER PRIMARY KEY AUTOINCREMENT,
    experiment INTEGER NOT NULL REFERENCES experiments (experiment),
    mark TEXT NOT NULL UNIQUE,
    started_at TEXT NOT NULL,
    ended_at TEXT,
    hostname TEXT NOT NULL,
    boot_id TEXT,
    pid_namespace TEXT,
    pid INTEGER,
    pid_started_ticks INTEGER
);

CREATE TABLE comparisons (
    comparison INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('complete', 'interrupted')),
    decision TEXT NOT NULL,
    started_at TEXT NOT NULL,
    ended_at TEXT NOT NULL,
    files TEXT NOT NULL CHECK (json_valid(files)),
    record TEXT NOT NULL CHECK (json_valid(record)),
    hostname TEXT NOT NULL,
    label TEXT,
    note TEXT
);

CREATE TABLE query_sets (
    query_set INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('complete', 'interrupted', 'failed')),
    started_at TEXT NOT NULL,
    ended_at TEXT NOT NULL,
    record TEXT NOT NULL CHECK (json_valid(record)),
    hostname TEXT NOT NULL,
    label TEXT,
    note TEXT
);

CREATE TABLE searches (
    search INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('complete', 'interrupted', 'failed')),
    answer TEXT NOT NULL,
    started_at TEXT NOT NULL,
    ended_at TEXT NOT NULL,
    record TEXT NOT NULL CHECK (json_valid(record)),
    hostname TEXT NOT NULL,
    label TEXT,
    note TEXT
);

CREATE TABLE removals (
    kind TEXT NOT NULL CHECK (kind IN ('run', 'comparison', 'experiment', 'query_set', 'search')),
    number INTEGER NOT NULL,
    started_at TEXT NOT NULL,
    removed_at TEXT NOT NULL,
    PRIMARY KEY (kind, number)
) WITHOUT ROWID;

CREATE TRIGGER runs_stay BEFORE DELETE ON runs
WHEN NOT EXISTS (SELECT 1 FROM removals WHERE kind = 'run' AND number = OLD.run)
BEGIN SELECT RAISE(ABORT, 'runs are removed only by pgmeter runs rm'); END;

CREATE TRIGGER comparisons_stay BEFORE DELETE ON comparisons
WHEN NOT EXISTS (SELECT 1 FROM removals WHERE kind = 'comparison' AND number = OLD.comparison)
BEGIN SELECT RAISE(ABORT, 'comparisons are removed only by pgmeter runs rm'); END;

CREATE TRIGGER query_sets_stay BEFORE DELETE ON query_sets
WHEN NOT EXISTS (SELECT 1 FROM removals WHERE kind = 'query_set' AND number = OLD.query_set)
BEGIN SELECT RAISE(ABORT, 'query sets are removed only by pgmeter runs rm'); END;

CREATE TRIGGER searches_stay BEFORE DELETE ON searches
WHEN NOT EXISTS (SELECT 1 FROM removals WHERE kind = 'search' AND number = OLD.search)
BEGIN SELECT RAISE(ABORT, 'searches are removed only by pgmeter runs rm'); END;

CREATE TRIGGER experiments_stay BEFORE DELETE ON experiments
WHEN NOT EXISTS (SELECT 1 FROM removals WHERE kind = 'experiment' AND number = OLD.experiment)
    AND EXISTS (SELECT 1 FROM trials WHERE experiment = OLD.experiment)
BEGIN SELECT RAISE(ABORT, 'experiments are removed only by pgmeter runs rm'); END;

CREATE TRIGGER runs_that_are_over_stay_as_they_are BEFORE UPDATE OF
    run, status, reason, started_at, ended_at, pgmeter_version, schema_version, record_path, record_bytes, hostname, boot_id,
    pid_namespace, pid, pid_started_ticks, seed, plan, environment, tables, summary, observation, warnings, notes
ON runs
WHEN OLD.status NOT IN ('running', 'killed')
BEGIN SELECT RAISE(ABORT, 'a run that is over is never changed'); END;

-- Changes of the schema of users' databases that are in force; see schema_changes.rs.
CREATE TABLE schema_changes (
    change INTEGER PRIMARY KEY AUTOINCREMENT,
    server TEXT NOT NULL,
    database TEXT NOT NULL,
    database_oid INTEGER NOT NULL,
    undo TEXT NOT NULL CHECK (json_valid(undo)),
    has_only_indexes INTEGER NOT NULL,
    is_made INTEGER NOT NULL DEFAULT 0,
    began_at TEXT NOT NULL,
    hostname TEXT NOT NULL,
    boot_id TEXT,
    pid_namespace TEXT,
    pid INTEGER,
    pid_started_ticks INTEGER,
    system TEXT,
    made TEXT CHECK (made IS NULL OR json_valid(made))
);
