/* The network in double. */
#define REAL double
#define REAL_IS_FLOAT 0
#define NET_OPS geodec_ops_f64
#define NET_SELECT geodec__ops_f64
#define NET geodec_net_f64
#define NET_WORK geodec_net_f64_work
#define NET_FN(name) geodec_net_f64_##name
#include "train/net.inc"
