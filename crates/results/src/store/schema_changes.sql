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
    pid_started_ticks INTEGER
);
