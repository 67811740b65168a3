-- Version 4. Never edited once released: a change is a new file beside this one.

-- Keys (first lines of subjects' texts) of earlier versions, and the key that what lies under them has today. Until version 3 the key
-- of a family was a hash of text that was not kept, and no hash leads back; but the Programs under a key say of which family they are.
-- Whoever finds that out notes it here, once for each key.
CREATE TABLE renamed (
    earlier TEXT PRIMARY KEY,
    key     TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX renamed_to ON renamed (key);

CREATE TRIGGER renamed_kept  BEFORE UPDATE ON renamed BEGIN SELECT raise(ABORT, 'the store is append-only'); END;
CREATE TRIGGER renamed_stays BEFORE DELETE ON renamed BEGIN SELECT raise(ABORT, 'the store is append-only'); END;
