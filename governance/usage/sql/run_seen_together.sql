-- Ended runs that one answer of the scheduler showed again with the text they had: one row for all of them, since most pulls bring
-- nothing else. Laid out run by run (in run_seen) once that is asked for, or when they have become many. A note never loses its truth:
-- a run's content changes only by a record that is not older than any note of it, so a note older than its run's observation says nothing.
CREATE TABLE run_seen_together (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    cluster_id bigint NOT NULL,
    seen_at timestamptz NOT NULL,
    runs integer NOT NULL,
    job_ids text[] COLLATE "C" NOT NULL,
    submit_ats timestamptz[] NOT NULL
);
-- To compress them would cost more than to write them.
ALTER TABLE run_seen_together ALTER COLUMN job_ids SET STORAGE EXTERNAL, ALTER COLUMN submit_ats SET STORAGE EXTERNAL;
CREATE INDEX run_seen_together_seen ON run_seen_together (cluster_id, seen_at) INCLUDE (runs);
