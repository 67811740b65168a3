-- Version 3. Never edited once released: a change is a new file beside this one.

-- One attempt to measure what a fragment shader takes for a frame. `inputs` says what it was given beside the frame: uniforms and the
-- sizes of textures. `trials` is a JSON array of {round, draws, seconds, reference}; `clocks` one of [core MHz, memory MHz].
CREATE TABLE shot (
    id       INTEGER PRIMARY KEY,
    run      INTEGER NOT NULL REFERENCES run,
    device   INTEGER NOT NULL REFERENCES device,
    shader   TEXT NOT NULL,
    width    INTEGER NOT NULL,
    height   INTEGER NOT NULL,
    texture  INTEGER NOT NULL,
    inputs   TEXT NOT NULL,
    protocol INTEGER NOT NULL,
    status   TEXT NOT NULL CHECK (status IN ('done', 'hang', 'lost', 'refused')),
    -- What went wrong where the status is not `done`; all below is NULL then.
    detail   TEXT,
    clock    TEXT CHECK (clock IN ('timestamps', 'processor')),
    -- Seconds of the first draw, compilation included.
    first    REAL,
    trials   TEXT CHECK (json_type(trials) = 'array'),
    image    TEXT,
    flags    TEXT CHECK (json_type(flags) = 'array'),
    clocks   TEXT CHECK (json_type(clocks) = 'array'),
    CHECK ((status = 'done') = (trials IS NOT NULL))
) STRICT;

CREATE INDEX shot_of ON shot (device, shader);

CREATE TRIGGER shot_kept  BEFORE UPDATE ON shot BEGIN SELECT raise(ABORT, 'the store is append-only'); END;
CREATE TRIGGER shot_stays BEFORE DELETE ON shot BEGIN SELECT raise(ABORT, 'the store is append-only'); END;
