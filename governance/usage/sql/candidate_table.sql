-- One row a run key of the chunk: which staged row is the best of the chunk's own records, and the verdict against the run that is there.
-- Narrow: what is stored goes from the staged row into `run` at once, and is not copied on the way.
CREATE TEMP TABLE candidate (
    staged_row tid NOT NULL,
    job_id text COLLATE "C" NOT NULL,
    submit_at timestamptz NOT NULL,
    submit_known boolean NOT NULL,
    start_at timestamptz,
    stop_at timestamptz,
    observed_at timestamptz NOT NULL,
    digest uuid NOT NULL,
    verdict text NOT NULL,
    old_start_at timestamptz,
    old_stop_at timestamptz
) ON COMMIT DROP;
