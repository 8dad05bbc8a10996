-- One row a run key of the chunk: the best of the chunk's own records, then the verdict against the run that is there.
CREATE TEMP TABLE candidate (
    LIKE run,
    is_ended boolean NOT NULL,
    records bigint NOT NULL,
    verdict text,
    old_start_at timestamptz,
    old_stop_at timestamptz
) ON COMMIT DROP;
ALTER TABLE candidate ALTER COLUMN digest DROP NOT NULL;
