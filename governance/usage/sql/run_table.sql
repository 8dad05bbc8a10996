-- Runs, partitioned by month of submit, keyed as slurmdbd keys them: (cluster, raw job id, submit time).
-- Where the submit time is unknown the start stands in and submit_known is false.
CREATE TABLE run (
    cluster_id bigint NOT NULL,
    job_id text COLLATE "C" NOT NULL,
    submit_at timestamptz NOT NULL,
    submit_known boolean NOT NULL,
    label text NOT NULL,
    eligible_at timestamptz,
    start_at timestamptz,
    end_at timestamptz,
    stop_at timestamptz,          -- the end, or the last observation of a run that has not ended; NULL: never started
    state text NOT NULL,
    outcome text NOT NULL,
    exit_code text NOT NULL,
    reason text NOT NULL,
    account text NOT NULL,
    "user" text NOT NULL,
    partition text NOT NULL,
    qos text NOT NULL,
    job_name text NOT NULL,
    nodes integer NOT NULL,
    node_list text NOT NULL,
    cpus integer NOT NULL,
    memory_mib bigint NOT NULL,
    gpu_milli bigint,             -- NULL: cards that were asked for or named but not counted
    gpu_type text NOT NULL,
    asked_gpu_milli bigint,
    elapsed_s bigint,
    suspended_s bigint NOT NULL,
    limit_s bigint,
    restarts integer,
    db_index bigint,
    sluid text NOT NULL,
    flags text NOT NULL,
    observed_at timestamptz NOT NULL,
    digest uuid NOT NULL,
    raw text NOT NULL,
    source bigint NOT NULL,
    PRIMARY KEY (cluster_id, job_id, submit_at),
    CONSTRAINT run_started_stops CHECK ((start_at IS NULL) = (stop_at IS NULL)),
    CONSTRAINT run_stops_after_start CHECK (start_at IS NULL OR stop_at >= start_at),
    CONSTRAINT run_end_is_stop CHECK (start_at IS NULL OR end_at IS NULL OR stop_at = end_at),
    CONSTRAINT run_outcome_known CHECK (outcome IN ('completed', 'failed', 'cancelled', 'timeout', 'out_of_memory',
        'node_failure', 'preempted', 'running', 'pending')),
    CONSTRAINT run_not_negative CHECK (nodes >= 0 AND cpus >= 0 AND memory_mib >= 0 AND suspended_s >= 0
        AND (gpu_milli IS NULL OR gpu_milli >= 0))
) PARTITION BY RANGE (submit_at);
CREATE INDEX run_stop ON run (cluster_id, stop_at);

-- When an ended run was seen again with the same content: kept beside it, so that an unchanged pull leaves the wide row alone.
CREATE TABLE run_seen (
    cluster_id bigint NOT NULL,
    job_id text COLLATE "C" NOT NULL,
    submit_at timestamptz NOT NULL,
    digest uuid NOT NULL,
    last_seen_at timestamptz NOT NULL,
    PRIMARY KEY (cluster_id, job_id, submit_at)
) WITH (fillfactor = 70);

-- The earliest start and latest stop of each partition and cluster, to leave out partitions that cannot hold a day's runs.
CREATE TABLE run_span (
    cluster_id bigint NOT NULL,
    month date NOT NULL,
    min_start_at timestamptz,
    max_stop_at timestamptz,
    PRIMARY KEY (cluster_id, month)
);
