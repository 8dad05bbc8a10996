-- One day of one cluster summed by what the records say: before pools, models and projects are known.
-- `slice` holds the day's bands; a run counts in each to its own end or last observation, never past `through`.
CREATE TEMP TABLE meter_sum ON COMMIT DROP AS
SELECT
    band, partition, gpu_type, node_list, account, "user", qos, outcome, has_gpu, gpu_unknown,
    sum(milli * secs)::bigint AS milligpu_seconds,
    sum(cpu_secs)::bigint AS cpu_seconds,
    sum(nodes * secs)::bigint AS node_seconds,
    sum(secs)::bigint AS wall_seconds,
    sum(memory_mib * secs)::bigint AS memory_mib_seconds,
    sum(started::int)::bigint AS runs_started,
    sum(ended::int)::bigint AS runs_ended,
    sum((started AND gpu_unknown)::int)::bigint AS unknown_gpu_runs,
    -- What queue samples saw goes to its class; the rest of the wait to the class of the record's last reason.
    sum(v.quota + CASE WHEN waited_for = 'quota' THEN v.rest ELSE 0 END)::bigint AS wait_quota_seconds,
    sum(v.capacity + CASE WHEN waited_for = 'capacity' THEN v.rest ELSE 0 END)::bigint AS wait_capacity_seconds,
    sum(v.other + CASE WHEN waited_for = 'other' THEN v.rest ELSE 0 END)::bigint AS wait_other_seconds,
    sum(CASE WHEN waited_for = '' THEN v.rest ELSE 0 END)::bigint AS wait_unknown_seconds,
    coalesce(sum(active), 0)::bigint AS active_milligpu_seconds,
    coalesce(sum(idle), 0)::bigint AS idle_milligpu_seconds,
    coalesce(sum(measured), 0)::bigint AS measured_milligpu_seconds,
    coalesce(sum(busy), 0)::bigint AS busy_milligpu_seconds,
    coalesce(sum(energy), 0)::bigint AS energy_joules
FROM (
    SELECT
        s.band, r.partition, r.gpu_type, r.account, r."user", r.qos, r.outcome, r.nodes, r.memory_mib,
        coalesce(r.gpu_milli, 0) AS milli,
        coalesce(r.gpu_milli, 0) > 0 AS has_gpu,
        r.gpu_milli IS NULL OR (r.gpu_milli = 0 AND NOT %(tracks_gpus)s) AS gpu_unknown,
        -- The nodes matter only where they tell an untyped card's model.
        CASE WHEN r.gpu_milli > 0 AND (r.gpu_type = '' OR r.gpu_type LIKE '%%+:%%' OR r.gpu_type LIKE ':%%')
            THEN r.node_list ELSE '' END AS node_list,
        t.secs,
        -- CPU time leaves out suspended time, spread evenly over the run; the difference of two whole sums, so that days add up.
        CASE WHEN r.suspended_s = 0 OR t.secs = 0 THEN r.cpus * t.secs
            ELSE r.cpus * greatest(t.wall - r.suspended_s, 0) * (t.offset_s + t.secs) / t.wall
                - r.cpus * greatest(t.wall - r.suspended_s, 0) * t.offset_s / t.wall END AS cpu_secs,
        r.start_at >= s.from_at AND r.start_at < s.until_at AS started,
        coalesce(r.end_at >= s.from_at AND r.end_at < s.until_at AND r.end_at <= %(through)s, false) AS ended,
        CASE WHEN r.start_at >= s.from_at AND r.start_at < s.until_at
            THEN greatest(extract(epoch FROM r.start_at - greatest(r.submit_at, r.eligible_at))::bigint, 0) ELSE 0 END AS wait_s,
        CASE WHEN r.reason = '' THEN '' WHEN r.reason ~ %(quota_reasons)s THEN 'quota' WHEN r.reason ~ %(other_reasons)s THEN 'other'
            WHEN r.reason ~ %(capacity_reasons)s THEN 'capacity' ELSE '' END AS waited_for,
        -- A task of an array was sampled under the array's id until it was split off.
        coalesce(w.quota_seconds, 0) + coalesce(a.quota_seconds, 0) AS quota_s,
        coalesce(w.capacity_seconds, 0) + coalesce(a.capacity_seconds, 0) AS capacity_s,
        coalesce(w.other_seconds, 0) + coalesce(a.other_seconds, 0) AS other_s,
        k.active, k.idle, k.measured, k.busy, k.energy
    FROM run AS r
    JOIN unnest(%(bands)s::text[], %(from_at)s::timestamptz[], %(until_at_of_band)s::timestamptz[]) AS s (band, from_at, until_at)
        ON r.start_at < s.until_at AND r.stop_at >= s.from_at
    CROSS JOIN LATERAL (
        SELECT
            greatest(extract(epoch FROM least(r.stop_at, s.until_at, %(through)s) - greatest(r.start_at, s.from_at))::bigint, 0) AS secs,
            extract(epoch FROM greatest(r.start_at, s.from_at) - r.start_at)::bigint AS offset_s,
            extract(epoch FROM r.stop_at - r.start_at)::bigint AS wall
    ) AS t
    LEFT JOIN wait_sample AS w ON w.cluster_id = %(cluster)s AND w.job_id = r.job_id AND w.submit_at = r.submit_at
    LEFT JOIN wait_sample AS a ON a.cluster_id = %(cluster)s AND r.label LIKE '%%\_%%' AND a.job_id = split_part(r.label, '_', 1)
        AND a.job_id <> r.job_id AND a.submit_at = r.submit_at
    LEFT JOIN meter_activity AS k ON k.job_id = r.job_id AND k.submit_at = r.submit_at AND k.from_at = s.from_at
    WHERE r.cluster_id = %(cluster)s AND r.submit_at >= %(low)s AND r.submit_at < %(high)s
        AND r.start_at < %(end_at)s AND r.stop_at >= %(start_at)s AND r.start_at <= %(through)s
    OFFSET 0  -- a fence: without it each of the sums works out the same seconds and reasons again
) AS u
CROSS JOIN LATERAL (
    -- Samples that say more than the wait (a job that was held again) are scaled down to it.
    SELECT scaled.*, wait_s - scaled.quota - scaled.capacity - scaled.other AS rest
    FROM (
        SELECT
            CASE WHEN quota_s + capacity_s + other_s > wait_s THEN quota_s * wait_s / (quota_s + capacity_s + other_s) ELSE quota_s END AS quota,
            CASE WHEN quota_s + capacity_s + other_s > wait_s THEN capacity_s * wait_s / (quota_s + capacity_s + other_s) ELSE capacity_s END
                AS capacity,
            CASE WHEN quota_s + capacity_s + other_s > wait_s THEN other_s * wait_s / (quota_s + capacity_s + other_s) ELSE other_s END AS other
    ) AS scaled
    OFFSET 0
) AS v
WHERE secs > 0 OR started OR ended  -- not a run last seen at the very midnight
GROUP BY band, partition, gpu_type, node_list, account, "user", qos, outcome, has_gpu, gpu_unknown;
