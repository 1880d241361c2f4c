/* Clusters in cmocka tests. */
#ifndef SYN_TEST_CLUSTER_CHECK_H
#define SYN_TEST_CLUSTER_CHECK_H

#include "check.h"

#include "cluster.h"

#define LONG_MS 20000

static const size_t worker_counts[] = {1, 2, 3, 5};

/* Run it, all going well and all workers ending at the same weights. */
static inline struct cluster *run_cluster(struct cluster *cluster, size_t workers)
{
    run_workers(workers + cluster->servers, LONG_MS, cluster_member, cluster);
    for (size_t i = 0; i < workers + cluster->servers; i++)
        if (cluster->status[i] != SYN_OK)
            fail_msg("member %zu of %zu + %zu: %s", i, workers, cluster->servers,
                     cluster->cause[i]);
    for (size_t i = 0; i < workers; i++)
        assert_memory_equal(cluster->weights[i], cluster->weights[0], sizeof cluster->weights[0]);
    return cluster;
}

static inline struct cluster *with(struct cluster *cluster, const char *name, const char *value)
{
    assert_ok(cluster_set(cluster, name, value));
    return cluster;
}

/* Every form that a push can have. */
static inline struct cluster *pushing(size_t form, size_t servers)
{
    static const char *const recipes[] = {"ssgd", "ssgd", "topk", "topk", "topk", "strom"};
    struct cluster *cluster = cluster_of(recipes[form], servers);
    if (form == 1)
        with(with(cluster, "values", "f16"), "residual", "feedback");
    if (form == 3)
        with(with(cluster, "select", "threshold"), "threshold", "1.5");
    if (form == 4)
        with(with(cluster, "values", "f16"), "indices", "raw");
    return cluster;
}
enum { FORMS = 6 };

#endif
