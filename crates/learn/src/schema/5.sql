-- Version 5. Never edited once released: a change is a new file beside this one.

-- What failed on a device is asked for before every run, and is little of what there is.
CREATE INDEX failed ON sample (device, subject) WHERE status NOT IN ('done', 'built');
