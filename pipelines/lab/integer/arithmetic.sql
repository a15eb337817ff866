SELECT 'config-b' AS key, 'relative change of the perplexity under Config B' AS quantity, small_b / small - 1 AS value FROM t
UNION ALL SELECT 'config-e', 'the same under Config E', small_e / small - 1 FROM t
-- 13.12 is printed with two decimals, so the perplexity is at least 13.115
UNION ALL SELECT 'large-e', 'least relative change of the 1 B model under Config E', large_e / (large - 0.005) - 1 FROM t
UNION ALL SELECT 'same-tokens', 'difference of the two rows with KL = 0, nats a token', ln(few / many) FROM t
UNION ALL SELECT 'same-ratio', 'ratio of the two rows with KL = 0', few / many FROM t
UNION ALL SELECT 'crt', 'change of the time with two primes', wall_crt / wall_store - 1 FROM t
UNION ALL SELECT 'store', 'change of the time with keys kept transformed', wall_store / wall_hoist - 1 FROM t
UNION ALL SELECT 'hoist', 'time saved by transforming queries once', 1 - wall_hoist / wall_before FROM t
UNION ALL SELECT 'hoist-total', 'time saved since the first version', 1 - wall_hoist / wall_start FROM t
UNION ALL SELECT 'kv-rate', 'GB/s of the reads with the prefetch', kv_bytes / kv_fast * 1e-9 FROM t
UNION ALL SELECT 'kv-slow', 'GB/s of the reads before it', kv_bytes / kv_slow * 1e-9 FROM t
UNION ALL SELECT 'kv-bus', 'GB/s of the memory of a telephone', kv_bus * kv_bus_bytes * 1e-9 FROM t
UNION ALL SELECT 'slowdown-16', 'time of prefill by transforms relative to fp32, context 16', 1 / log16 FROM t
UNION ALL SELECT 'slowdown-128', 'the same, context 128', 1 / log128 FROM t
UNION ALL SELECT 'slowdown-256', 'the same, context 256', 1 / log256 FROM t
UNION ALL SELECT 'alignment', 'bytes of a line of 1024 bits that blocks leave over', line % block FROM t
UNION ALL SELECT 'alignment-64', 'the same of blocks of 64', line % 64 FROM t
UNION ALL SELECT 'coverage', 'coefficients that the block keeps', skeleton + residual FROM t
UNION ALL SELECT 'v1-fp32', 'container against fp32, heads of 256', 4.0 * v1_long / (block * ((v1_long + v1_values - 1) / v1_values)) FROM t
UNION ALL SELECT 'v1-fp16', 'container against fp16, heads of 256', 2.0 * v1_long / (block * ((v1_long + v1_values - 1) / v1_values)) FROM t
UNION ALL SELECT 'v1-fp16-128', 'container against fp16, heads of 128', 2.0 * v1_short / (block * ((v1_short + v1_values - 1) / v1_values)) FROM t
UNION ALL SELECT 'q8-fp32', 'q8_0 against fp32', 128.0 / q8_block FROM t
UNION ALL SELECT 'q8-fp16', 'q8_0 against fp16', 64.0 / q8_block FROM t
UNION ALL SELECT 'hierarchical', 'hierarchical mode against fp16', 1.0 * half / hierarchical FROM t
UNION ALL SELECT 'hierarchical-padded', 'hierarchical mode against 154 values in fp16', 1.0 * padded / hierarchical FROM t
UNION ALL SELECT 'high-bytes', 'bytes that the larger ratio leaves', padded / ratio_high FROM t
UNION ALL SELECT 'hierarchical-bytes', 'bytes of the hierarchical mode', hierarchical FROM t
UNION ALL SELECT 'band-5543', 'relative change of the perplexity, bands 5/5/4/3', band5543 / fp16 - 1 FROM t
UNION ALL SELECT 'band-4443', 'the same, 4/4/4/3', band4443 / fp16 - 1 FROM t
UNION ALL SELECT 'band-4333', 'the same, 4/3/3/3', band4333 / fp16 - 1 FROM t
UNION ALL SELECT 'band-3333', 'the same, 3/3/3/3', band3333 / fp16 - 1 FROM t
UNION ALL SELECT 'tests', 'tests that passed', tests - expected - pending FROM t
UNION ALL SELECT 'not-passing', 'tests expected to fail, or pending', expected + pending FROM t
