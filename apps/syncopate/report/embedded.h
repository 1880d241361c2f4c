/* Files of this folder as arrays, which the build makes (cmake/SyncopateEmbed.cmake). A NUL follows
 * the bytes that are counted. */
#ifndef SYN_APP_REPORT_EMBEDDED_H
#define SYN_APP_REPORT_EMBEDDED_H

#include <stddef.h>

extern const unsigned char report_page_html[];
extern const size_t report_page_html_bytes;
extern const unsigned char report_page_css[];
extern const size_t report_page_css_bytes;
extern const unsigned char report_chart_js[];
extern const size_t report_chart_js_bytes;
extern const unsigned char report_bars_js[];
extern const size_t report_bars_js_bytes;
extern const unsigned char report_page_js[];
extern const size_t report_page_js_bytes;

#endif
