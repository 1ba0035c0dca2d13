-- The step of the store from form 1 to form 2: query sets. The list of kinds in removals is a constraint, which SQLite
-- changes only with a new table; the triggers name that table.

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

DROP TRIGGER runs_stay;
DROP TRIGGER comparisons_stay;
DROP TRIGGER experiments_stay;
ALTER TABLE removals RENAME TO removals_before;

CREATE TABLE removals (
    kind TEXT NOT NULL CHECK (kind IN ('run', 'comparison', 'experiment', 'query_set')),
    number INTEGER NOT NULL,
    started_at TEXT NOT NULL,
    removed_at TEXT NOT NULL,
    PRIMARY KEY (kind, number)
) WITHOUT ROWID;

INSERT INTO removals (kind, number, started_at, removed_at)
SELECT kind, number, started_at, removed_at FROM removals_before;
DROP TABLE removals_before;

CREATE TRIGGER runs_stay BEFORE DELETE ON runs
WHEN NOT EXISTS (SELECT 1 FROM removals WHERE kind = 'run' AND number = OLD.run)
BEGIN SELECT RAISE(ABORT, 'runs are removed only by pgmeter runs rm'); END;

CREATE TRIGGER comparisons_stay BEFORE DELETE ON comparisons
WHEN NOT EXISTS (SELECT 1 FROM removals WHERE kind = 'comparison' AND number = OLD.comparison)
BEGIN SELECT RAISE(ABORT, 'comparisons are removed only by pgmeter runs rm'); END;

CREATE TRIGGER query_sets_stay BEFORE DELETE ON query_sets
WHEN NOT EXISTS (SELECT 1 FROM removals WHERE kind = 'query_set' AND number = OLD.query_set)
BEGIN SELECT RAISE(ABORT, 'query sets are removed only by pgmeter runs rm'); END;

CREATE TRIGGER experiments_stay BEFORE DELETE ON experiments
WHEN NOT EXISTS (SELECT 1 FROM removals WHERE kind = 'experiment' AND number = OLD.experiment)
    AND EXISTS (SELECT 1 FROM trials WHERE experiment = OLD.experiment)
BEGIN SELECT RAISE(ABORT, 'experiments are removed only by pgmeter runs rm'); END;
