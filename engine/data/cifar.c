/* Reading CIFAR-10's binary version. The format has neither magic number nor header: only length
 * and labels can be checked, so the length must be exact. */
#include "engine/data/cifar.h"

#include "engine/base/fail.h"

enum syn_status syn_cifar_read(const char *name, const uint8_t *bytes, size_t count, size_t records,
                               struct syn_span *span, int32_t *labels)
{
    if (count != records * SYN_CIFAR_RECORD)
        return syn_report(SYN_FORMAT, "%s: %zu bytes; expected %zu records of %d, %zu bytes", name,
                          count, records, SYN_CIFAR_RECORD, records * SYN_CIFAR_RECORD);
    SYN_TRY(syn_labels_read(name, bytes, SYN_CIFAR_RECORD, records, SYN_CIFAR_CLASSES, labels));
    *span = (struct syn_span){bytes + 1, SYN_CIFAR_RECORD, records};
    return SYN_OK;
}

static bool is_blank(uint8_t c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

enum syn_status syn_cifar_read_json(const char *name, const uint8_t *bytes, size_t count,
                                    size_t records, uint8_t *labels)
{
    size_t at = 0;
    for (size_t i = 0; i <= 2 * records; i++) {
        /* In turn: '[' or ',', a digit; at the very end ']'. */
        while (at < count && is_blank(bytes[at]))
            at++;
        uint8_t c = at < count ? bytes[at] : 0;
        bool is_digit = c >= '0' && c <= '9';
        uint8_t sign = i == 0 ? '[' : i == 2 * records ? ']' : ',';
        if (i % 2 == 1 ? !is_digit : c != sign)
            return syn_report(SYN_FORMAT,
                              "%s: byte 0x%02x at %zu; expected a list of %zu labels, 0 to %d",
                              name, c, at, records, SYN_CIFAR_CLASSES - 1);
        if (i % 2 == 1)
            labels[i / 2] = (uint8_t)(c - '0');
        at++;
    }
    while (at < count && is_blank(bytes[at]))
        at++;
    if (at != count)
        return syn_report(SYN_FORMAT, "%s: %zu bytes after its %zu labels", name, count - at,
                          records);
    return SYN_OK;
}
