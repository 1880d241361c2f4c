/* A locale that writes decimal commas, German's. Where it is not installed it is made, from the
 * sources that Debian's package "locales" has: the test must not depend on what a machine
 * speaks. */
#ifndef SYN_TEST_COMMA_H
#define SYN_TEST_COMMA_H

/* Enter it, for the whole process; whether it writes a comma now. */
_Bool comma_enter(void);

/* Back to the C locale. */
void comma_leave(void);

#endif
