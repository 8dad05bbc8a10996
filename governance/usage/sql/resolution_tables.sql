-- What the matching rules answered for the day: where each shape of run belongs, and whose each account is.
CREATE TEMP TABLE meter_place (
    partition text, gpu_type text, node_list text, has_gpu boolean, gpu_unknown boolean,
    pool text, model text, milli bigint, is_first boolean
) ON COMMIT DROP;
CREATE TEMP TABLE meter_owner (account text, "user" text, qos text, project text) ON COMMIT DROP;
