SELECT 'wall' AS key, 'tokens a second that the link allows, all loads' AS quantity, 1.0 * link / (loads * mean_load) AS value FROM t
UNION ALL SELECT 'wall-routed', 'tokens a second that the link allows, routed layers', 1.0 * link / (routed * mean_load) FROM t
UNION ALL SELECT 'foretold', 'tokens a second when a foretold load costs nothing', 1 / (loads * (1 - accuracy) * load * mean_load / blob) FROM t
UNION ALL SELECT 'foretold-demand', 'GB/s that the printed rate needs', rate * loads * mean_load * 1e-9 FROM t
UNION ALL SELECT 'link', 'GB/s of the link', link * 1e-9 FROM t
UNION ALL SELECT 'one-ahead-demand', 'GB/s that the printed rate needs, one layer ahead', one_ahead * loads * mean_load * 1e-9 FROM t
UNION ALL SELECT 'two-ahead-demand', 'GB/s that the printed rate needs, two layers ahead', two_ahead * loads * mean_load * 1e-9 FROM t
UNION ALL SELECT 'routed', 'layers with routed experts', routed FROM t
UNION ALL SELECT 'file-layers', 'layers in the file of an expert', 1.0 * file / blob FROM t
UNION ALL SELECT 'first-attention', 'first layer with attention', period - 1 FROM t
UNION ALL SELECT 'delta', 'MB of a difference, as printed', delta * blob * 1e-6 FROM t
UNION ALL SELECT 'delta-floor', 'MB of a difference, least by information', floor * 1e-6 FROM t
UNION ALL SELECT 'delta-32-bit', 'MB of a difference with 32-bit positions and 2-bit values', delta * weights * 34 / 8 * 1e-6 FROM t
UNION ALL SELECT 'delta-slots', 'buffers that hold the expert before of each layer', routed FROM t
UNION ALL SELECT 'printed-buffers', 'MB of two buffers', 2 * blob * 1e-6 FROM t
UNION ALL SELECT 'delta-buffers', 'MB of a buffer for each routed layer', routed * blob * 1e-6 FROM t
-- a changed digit and its new value leave two candidates for the old one; the change modulo 3 leaves one
UNION ALL SELECT 'reverse-new-value', 'share of old values that position and new value determine',
    (SELECT mean(candidates = 1) FROM (SELECT new, count(*) AS candidates FROM (SELECT 0 AS old UNION SELECT 1 UNION SELECT 2),
        (SELECT 0 AS new UNION SELECT 1 UNION SELECT 2) WHERE old <> new GROUP BY new)) FROM t
UNION ALL SELECT 'reverse-change', 'share of old values that new value and change modulo 3 determine',
    (SELECT mean((new - 1 - m + 3) % 3 = old) FROM (SELECT old, m, (old + 1 + m) % 3 AS new FROM
        (SELECT 0 AS old UNION SELECT 1 UNION SELECT 2), (SELECT 0 AS m UNION SELECT 1))) FROM t
UNION ALL SELECT 'hit-uniform', 'hits of whole experts cached, uniform loads', 1.0 * cached / experts FROM t
UNION ALL SELECT 'hit-most', 'hits of whole experts cached, largest imbalance', 1.0 * cached / experts + gini FROM t
UNION ALL SELECT 'miss-link', 'ms of a full load over the link', bytes / link * 1e3 FROM t
UNION ALL SELECT 'miss-disk', 'ms of a full load from a fast disk', 1.0 * blob / disk * 1e3 FROM t
UNION ALL SELECT 'miss-start', 'ms of a full load at the speed of the start-up', 1.0 * blob / start * 1e3 FROM t
UNION ALL SELECT 'miss-tokens', 'tokens a second with the printed hits, fast disk', 1 / ((1 - hit) * routed * blob / disk) FROM t
UNION ALL SELECT 'stage', 'ms of a token without the further perspectives, by difference', (stage_all - (stage_all - stage) * 2) * 1e3 FROM t
UNION ALL SELECT 'stage-rows', 'ms, sum of the stages', stage_rows * 1e3 FROM t
UNION ALL SELECT 'prompt-distinct', 'experts of a layer that a prompt needs', distinct_experts FROM t
UNION ALL SELECT 'prompt-GB', 'GB read for a prompt', routed * distinct_experts * bytes * 1e-9 FROM t
UNION ALL SELECT 'prompt-rate', 'tokens a second of a prompt, over the link', prompt / (routed * distinct_experts * bytes / link) FROM t
