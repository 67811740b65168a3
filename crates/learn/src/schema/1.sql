-- Version 1. Never edited once released: a change is a new file beside this one.
--
-- Durations named `_ns` are decimal text in nanoseconds, because binary floating point cannot hold every time in seconds as
-- nanoseconds and back; `times_ns` is a JSON array of such numbers, one per repetition.

-- One execution of the command.
CREATE TABLE run (
    id      INTEGER PRIMARY KEY,
    started TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
    host    TEXT NOT NULL,
    argv    TEXT NOT NULL CHECK (json_valid(argv)),
    git     TEXT,
    schema  INTEGER NOT NULL
) STRICT;

CREATE TABLE device (
    id           INTEGER PRIMARY KEY,
    backend      TEXT NOT NULL,
    name         TEXT NOT NULL,
    driver       TEXT NOT NULL,
    fingerprint  TEXT NOT NULL UNIQUE,
    profile_hash TEXT
) STRICT;

CREATE TABLE subject (
    hash TEXT PRIMARY KEY,
    kind TEXT NOT NULL,
    text TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- The first line of a subject's text is its key: it groups what belongs to one search.
CREATE INDEX subject_key ON subject (substr(text, 1, instr(text || char(10), char(10)) - 1));

CREATE TABLE sample (
    id           INTEGER PRIMARY KEY,
    run          INTEGER NOT NULL REFERENCES run,
    device       INTEGER NOT NULL REFERENCES device,
    subject      TEXT NOT NULL REFERENCES subject,
    config       TEXT NOT NULL CHECK (json_valid(config)),
    times_ns     TEXT NOT NULL CHECK (json_type(times_ns) = 'array'),
    clock        REAL,
    reference_ns TEXT,
    quantum_ns   TEXT NOT NULL,
    source       TEXT NOT NULL CHECK (source IN ('measured', 'simulated')),
    verified     INTEGER NOT NULL CHECK (verified IN (0, 1)),
    status       TEXT NOT NULL,
    -- What went wrong where the status is a failure.
    detail       TEXT
) STRICT;

CREATE INDEX sample_of ON sample (subject, device);

-- What a model said before the sample was taken.
CREATE TABLE estimate (
    sample   INTEGER NOT NULL REFERENCES sample,
    model_id TEXT NOT NULL CHECK (json_valid(model_id)),
    seconds  REAL NOT NULL,
    lo       REAL NOT NULL,
    hi       REAL NOT NULL,
    limiter  TEXT NOT NULL,
    PRIMARY KEY (sample, model_id)
) STRICT, WITHOUT ROWID;

-- What the driver says of the compiled kernel; NULL where it does not say.
CREATE TABLE feedback (
    sample         INTEGER PRIMARY KEY REFERENCES sample,
    registers      INTEGER,
    private_bytes  INTEGER,
    local_bytes    INTEGER,
    max_group_size INTEGER
) STRICT;

-- How often each block of a shader ran.
CREATE TABLE trace (
    sample INTEGER NOT NULL REFERENCES sample,
    block  INTEGER NOT NULL,
    count  INTEGER NOT NULL,
    PRIMARY KEY (sample, block)
) STRICT, WITHOUT ROWID;

-- The store is append-only. Only a device's profile changes: a probe writes a better one.
CREATE TRIGGER run_kept      BEFORE UPDATE ON run      BEGIN SELECT raise(ABORT, 'the store is append-only'); END;
CREATE TRIGGER run_stays     BEFORE DELETE ON run      BEGIN SELECT raise(ABORT, 'the store is append-only'); END;
CREATE TRIGGER device_kept   BEFORE UPDATE OF id, backend, name, driver, fingerprint ON device
                                                       BEGIN SELECT raise(ABORT, 'the store is append-only'); END;
CREATE TRIGGER device_stays  BEFORE DELETE ON device   BEGIN SELECT raise(ABORT, 'the store is append-only'); END;
CREATE TRIGGER subject_kept  BEFORE UPDATE ON subject  BEGIN SELECT raise(ABORT, 'the store is append-only'); END;
CREATE TRIGGER subject_stays BEFORE DELETE ON subject  BEGIN SELECT raise(ABORT, 'the store is append-only'); END;
CREATE TRIGGER sample_kept   BEFORE UPDATE ON sample   BEGIN SELECT raise(ABORT, 'the store is append-only'); END;
CREATE TRIGGER sample_stays  BEFORE DELETE ON sample   BEGIN SELECT raise(ABORT, 'the store is append-only'); END;
CREATE TRIGGER estimate_kept  BEFORE UPDATE ON estimate BEGIN SELECT raise(ABORT, 'the store is append-only'); END;
CREATE TRIGGER estimate_stays BEFORE DELETE ON estimate BEGIN SELECT raise(ABORT, 'the store is append-only'); END;
CREATE TRIGGER feedback_kept  BEFORE UPDATE ON feedback BEGIN SELECT raise(ABORT, 'the store is append-only'); END;
CREATE TRIGGER feedback_stays BEFORE DELETE ON feedback BEGIN SELECT raise(ABORT, 'the store is append-only'); END;
CREATE TRIGGER trace_kept    BEFORE UPDATE ON trace    BEGIN SELECT raise(ABORT, 'the store is append-only'); END;
CREATE TRIGGER trace_stays   BEFORE DELETE ON trace    BEGIN SELECT raise(ABORT, 'the store is append-only'); END;
