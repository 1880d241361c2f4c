/* How many threads each worker computes on: the arithmetic, and what the system's files say. */
#include "check.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/train/replica/places.h"

static struct syn_place place(const char *machine, uint64_t mask)
{
    struct syn_place made = {.mask = {mask}};
    snprintf(made.machine, sizeof made.machine, "%s", machine);
    snprintf(made.host, sizeof made.host, "%s", machine);
    return made;
}

static void eight_hosts_of_eight_cores_compute_on_eight_threads_each(void **state)
{
    (void)state;
    struct syn_place all[8];
    for (size_t w = 0; w < 8; w++)
        all[w] = place((const char[2]){(char)('a' + w), '\0'}, 0xff);
    for (size_t w = 0; w < 8; w++)
        assert_int_equal(syn_places_threads(all, 8, w), 8);
}

static void workers_of_one_host_share_its_cores(void **state)
{
    (void)state;
    struct syn_place all[] = {place("a", 0xff), place("b", 0xff), place("a", 0xff),
                              place("a", 0xff)};
    assert_int_equal(syn_places_threads(all, 4, 0), 2);
    assert_int_equal(syn_places_threads(all, 4, 1), 8);
    assert_int_equal(syn_places_threads(all, 4, 3), 2);
}

static void workers_bound_to_cores_of_their_own_do_not_share(void **state)
{
    (void)state;
    struct syn_place all[] = {place("a", 0x0f), place("a", 0xf0), place("a", 0xf00)};
    for (size_t w = 0; w < 3; w++)
        assert_int_equal(syn_places_threads(all, 3, w), 4);
    struct syn_place half[] = {place("a", 0x0f), place("a", 0x3c)}; /* two of four in common */
    assert_int_equal(syn_places_threads(half, 2, 0), 3);
}

static void there_is_always_one_thread(void **state)
{
    (void)state;
    struct syn_place all[] = {place("a", 1), place("a", 1), place("a", 1)};
    all[2].quota = 0.25;
    for (size_t w = 0; w < 3; w++)
        assert_int_equal(syn_places_threads(all, 3, w), 1);
}

static void what_the_user_asks_for_is_done(void **state)
{
    (void)state;
    struct syn_place all[] = {place("a", 3), place("a", 3)};
    all[1].asked = 7;
    assert_int_equal(syn_places_threads(all, 2, 0), 1);
    assert_int_equal(syn_places_threads(all, 2, 1), 7);
}

static void a_quota_is_shared_in_its_container_only(void **state)
{
    (void)state;
    struct syn_place all[] = {place("a", 0xffff), place("a", 0xffff), place("a", 0xffff)};
    for (size_t w = 0; w < 3; w++)
        all[w].quota = 4;
    snprintf(all[2].host, sizeof all[2].host, "another-container");
    assert_int_equal(syn_places_threads(all, 3, 0), 2);
    assert_int_equal(syn_places_threads(all, 3, 2), 4);
    assert_int_equal(syn_place_cores(&all[0]), 4);
}

static void json_tells_neighbours_that_are_alike_once(void **state)
{
    (void)state;
    char text[512];
    struct syn_place all[] = {place("a", 0xff), place("a", 0xff), place("b", 0x3)};
    const char *expected =
        "[{\"host\": \"a\", \"first_worker\": 0, \"workers\": 2, \"cores\": 8, \"threads\": 4}, "
        "{\"host\": \"b\", \"first_worker\": 2, \"workers\": 1, \"cores\": 2, \"threads\": 2}]";
    assert_int_equal(syn_places_json(all, 3, text, sizeof text), strlen(expected));
    assert_string_equal(text, expected);
    assert_int_equal(syn_places_json(all, 3, NULL, 0), strlen(expected));
}

/* Below a root of our own, with all the folders that it needs. */
static void put(const char *root, const char *path, const char *text)
{
    char full[512];
    snprintf(full, sizeof full, "%s%s", root, path);
    for (char *slash = strchr(full + strlen(root) + 1, '/'); slash;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(full, 0777);
        *slash = '/';
    }
    FILE *file = fopen(full, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void remove_root(const char *root)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", root);
    assert_int_equal(system(command), 0);
}

static void quota_of_version_2_is_the_smallest_on_the_way_up(void **state)
{
    (void)state;
    char root[] = "/tmp/syncopate-places-XXXXXX";
    assert_non_null(mkdtemp(root));
    put(root, "/proc/self/cgroup", "0::/jobs/17\n");
    put(root, "/sys/fs/cgroup/jobs/17/cpu.max", "max 100000\n");
    assert_true(syn_cores_quota(root) == 0);
    put(root, "/sys/fs/cgroup/jobs/cpu.max", "150000 100000\n");
    assert_true(syn_cores_quota(root) == 1.5);
    put(root, "/sys/fs/cgroup/cpu.max", "800000 100000\n"); /* the whole container's */
    assert_true(syn_cores_quota(root) == 1.5);
    put(root, "/proc/self/cgroup", "0::/not/to/be/seen/from/inside\n");
    assert_true(syn_cores_quota(root) == 8);
    remove_root(root);
}

static void quota_of_version_1_is_found_beside_other_controllers(void **state)
{
    (void)state;
    char root[] = "/tmp/syncopate-places-XXXXXX";
    assert_non_null(mkdtemp(root));
    put(root, "/proc/self/cgroup", "5:cpuset:/jobs\n4:cpuacct,cpu:/jobs\n1:name=systemd:/\n0::/\n");
    put(root, "/sys/fs/cgroup/cpu/jobs/cpu.cfs_quota_us", "-1\n");
    put(root, "/sys/fs/cgroup/cpu/jobs/cpu.cfs_period_us", "100000\n");
    assert_true(syn_cores_quota(root) == 0);
    put(root, "/sys/fs/cgroup/cpu/jobs/cpu.cfs_quota_us", "250000\n");
    assert_true(syn_cores_quota(root) == 2.5);
    remove_root(root);
}

static void strange_files_mean_no_limit(void **state)
{
    (void)state;
    char root[] = "/tmp/syncopate-places-XXXXXX";
    assert_non_null(mkdtemp(root));
    assert_true(syn_cores_quota(root) == 0);
    put(root, "/proc/self/cgroup", "\n::\n0::\nx\n0::/a\n");
    put(root, "/sys/fs/cgroup/a/cpu.max", "lots 0\n");
    assert_true(syn_cores_quota(root) == 0);
    put(root, "/sys/fs/cgroup/a/cpu.max", "");
    assert_true(syn_cores_quota(root) == 0);
    remove_root(root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(eight_hosts_of_eight_cores_compute_on_eight_threads_each),
        cmocka_unit_test(workers_of_one_host_share_its_cores),
        cmocka_unit_test(workers_bound_to_cores_of_their_own_do_not_share),
        cmocka_unit_test(there_is_always_one_thread),
        cmocka_unit_test(what_the_user_asks_for_is_done),
        cmocka_unit_test(a_quota_is_shared_in_its_container_only),
        cmocka_unit_test(json_tells_neighbours_that_are_alike_once),
        cmocka_unit_test(quota_of_version_2_is_the_smallest_on_the_way_up),
        cmocka_unit_test(quota_of_version_1_is_found_beside_other_controllers),
        cmocka_unit_test(strange_files_mean_no_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
