/* The head and the settings of a checkpoint from arbitrary bytes: refused or read, never more than
 * that. Archives have a fuzzer of their own. */
#include <stddef.h>
#include <stdint.h>

#include "engine/train/checkpoint/checkpoint.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_both(const struct syn_archive *archive)
{
    struct syn_checkpoint_head head;
    struct syn_train_options options;
    (void)syn_checkpoint_head(archive, "input", &head);
    if (syn_train_defaults("mlp", &options) == SYN_OK)
        (void)syn_checkpoint_check_settings(archive, &options);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct syn_archive *archive;
    size_t head =
        sizeof(struct syn_checkpoint_head) < size ? sizeof(struct syn_checkpoint_head) : size;
    if (syn_archive_new(&archive) != SYN_OK)
        return 0;
    if (syn_archive_add(archive, "train/head", data, head) == SYN_OK &&
        syn_archive_add(archive, "train/settings", data + head, size - head) == SYN_OK)
        read_both(archive);
    syn_archive_free(archive);
    return 0;
}
