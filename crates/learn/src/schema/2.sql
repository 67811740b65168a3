-- Version 2. Never edited once released: a change is a new file beside this one.

-- Bytes of registers that the compiler keeps in memory for want of registers, stores and loads together; NULL where nobody says,
-- as for everything that version 1 stored. What `private_bytes` holds is all of a work-item's memory, arrays included.
ALTER TABLE feedback ADD COLUMN spill_bytes INTEGER;
