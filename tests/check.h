/* cmocka with the headers it forgets, and the assertions we miss in it. */
#ifndef SYN_TEST_CHECK_H
#define SYN_TEST_CHECK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include <syncopate/status.h>

/* Fail with the library's own words if call does not end as expected. */
#define assert_status(expected, call)                                                              \
    do {                                                                                           \
        enum syn_status check_got = (call);                                                        \
        if (check_got != (expected))                                                               \
            fail_msg("%s: %s (%s); expected: %s", #call, syn_status_text(check_got),               \
                     syn_error_text(), syn_status_text(expected));                                 \
    } while (0)

#define assert_ok(call) assert_status(SYN_OK, call)

#endif
