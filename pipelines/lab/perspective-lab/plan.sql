SELECT 'kv-window' AS key, 'MB of the cache of a window, 16 bits' AS quantity, 2.0 * window * kv_heads * head * 2 * attention * 1e-6 AS value FROM t
UNION ALL SELECT 'kv-context', 'MB of the cache of the whole context', 2.0 * context * kv_heads * head * 2 * attention * 1e-6 FROM t
UNION ALL SELECT 'router-torus', 'MB of routers of three projections, 16 bits', 3.0 * d * 2 * layers * 1e-6 FROM t
UNION ALL SELECT 'router-flat', 'MB of routers of a score an expert, 8 bits', 1.0 * d * experts * layers * 1e-6 FROM t
UNION ALL SELECT 'shared', 'MB of the shared weights at 2 bits', params * 2 / 8 * 1e-6 FROM t
UNION ALL SELECT 'shared-embedding', 'MB of the embedding in them, counted twice', 1.0 * vocab * d * 8 / 8 * 1e-6 FROM t
UNION ALL SELECT 'banks', 'GB of all banks', 1.0 * banks * bank * 1e-9 FROM t
UNION ALL SELECT 'texts', 'GB of all texts', 1.0 * texts * text * 1e-9 FROM t
UNION ALL SELECT 'state-half', 'MB of the states in 16 bits', 2.0 * d * rank * recurrent * 1e-6 FROM t
UNION ALL SELECT 'state-single', 'MB of the states in 32 bits, as in the program', 4.0 * d * rank * recurrent * 1e-6 FROM t
UNION ALL SELECT 'chunk-elements', 'GB of the elements of a scan of one chunk and layer', 1.0 * chunk * d * rank * 4 * 1e-9 FROM t
UNION ALL SELECT 'chunk-state', 'GB of the state that the chunked form keeps in their place', 1.0 * d * rank * 4 * 1e-9 FROM t
UNION ALL SELECT 'flops', 'operations of training by 6 N D', 6 * params * tokens FROM t
UNION ALL SELECT 'gpu-hours', 'hours of the named device for them', 6 * params * tokens / (gpu * use) / 3600 FROM t
UNION ALL SELECT 'use-table', 'kB of a table of use by layer and expert, 20 bytes each', 20.0 * recurrent * experts * 1e-3 FROM t
