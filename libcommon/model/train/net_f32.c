/* The network in float. */
#define REAL float
#define REAL_IS_FLOAT 1
#define NET_OPS geodec_ops_f32
#define NET_SELECT geodec__ops_f32
#define NET geodec_net_f32
#define NET_WORK geodec_net_f32_work
#define NET_FN(name) geodec_net_f32_##name
#include "train/net.inc"
