/* Archives from arbitrary bytes: refused or read, never more than that. */
#include <stddef.h>
#include <stdint.h>

#include <syncopate/archive.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct syn_archive *archive;
    if (syn_archive_parse(data, size, "input", &archive) == SYN_OK)
        syn_archive_free(archive);
    return 0;
}
