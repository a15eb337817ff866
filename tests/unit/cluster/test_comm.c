#include "cluster/comm.h"
#include "cluster/threads.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <stdatomic.h>
#include <string.h>

static void collectives(geodec_comm *c, void *ctx)
{
    geodec_err err = {0};
    const int rank = geodec_comm_rank(c), size = geodec_comm_size(c);
    int64_t own[3] = {rank, rank * rank, 7}, all[8][3], from_0 = rank == 0 ? 42 : 0;
    (void)ctx;
    test_ok(geodec_comm_broadcast(c, &from_0, sizeof from_0, &err), &err);
    cr_assert_eq(from_0, 42);
    test_ok(geodec_comm_share(c, own, sizeof own, all, &err), &err);
    for (int r = 0; r < size; r++) cr_assert(all[r][0] == r && all[r][1] == r * r && all[r][2] == 7);
    test_ok(geodec_comm_barrier(c, &err), &err);
    /* once around the ring */
    int token = rank, got = -1;
    for (int t = 0; t < size; t++) {
        geodec_comm_transfer in, out;
        test_ok(geodec_comm_receive(c, (rank - 1 + size) % size, &got, sizeof got, &in, &err), &err);
        test_ok(geodec_comm_send(c, (rank + 1) % size, &token, sizeof token, &out, &err), &err);
        test_ok(geodec_comm_wait(c, &in, &err), &err);
        test_ok(geodec_comm_wait(c, &out, &err), &err);
        cr_assert_eq(got, (rank - t - 1 + 2 * size) % size);
        token = got;
    }
    cr_assert_eq(token, rank);
}

Test(cluster, collectives_and_a_ring_on_one_to_seven_ranks)
{
    for (int size = 1; size <= 7; size++) threads_run(size, collectives, NULL);
}

static void one_fails(geodec_comm *c, void *ctx)
{
    geodec_err err = {0};
    char line[300];
    const int rank = geodec_comm_rank(c);
    geodec_status st = GEODEC_OK;
    (void)ctx;
    test_ok(geodec_comm_agree(c, st, &err), &err);
    cr_assert(!geodec_comm_agreed(c));
    if (rank >= 1) st = geodec_err_set(&err, GEODEC_NOTFOUND, "f", 1, "file %d is missing", rank);
    cr_assert_eq(geodec_comm_agree(c, st, &err), GEODEC_NOTFOUND);
    cr_assert(geodec_comm_agreed(c));
    cr_assert(strstr(geodec_err_line(&err, line, sizeof line), "file 1 is missing"), "rank %d: %s", rank, line);
}

Test(cluster, ranks_agree_on_the_error_of_the_lowest) { threads_run(4, one_fails, NULL); }

Test(cluster, one_process_needs_no_communicator)
{
    geodec_err err = {0};
    int own = 5, all = 0;
    int64_t first, end;
    cr_assert_eq(geodec_comm_rank(NULL), 0);
    cr_assert_eq(geodec_comm_size(NULL), 1);
    test_ok(geodec_comm_share(NULL, &own, sizeof own, &all, &err), &err);
    cr_assert_eq(all, 5);
    test_ok(geodec_comm_barrier(NULL, &err), &err);
    geodec_comm_range(NULL, 10, 0, &first, &end);
    cr_assert(first == 0 && end == 10);
    cr_assert_eq(geodec_comm_agree(NULL, GEODEC_IO, &err), GEODEC_IO);
}

Test(cluster, a_missing_driver_is_one_error)
{
    geodec_err err = {0};
    geodec_comm *c = NULL;
    cr_assert_eq(geodec_comm_load("/nonexistent/libgeodec-mpi.so", NULL, &c, &err), GEODEC_NOTFOUND);
    cr_assert_eq(geodec_comm_load("/etc/passwd", NULL, &c, &err), GEODEC_UNSUPPORTED);
}
