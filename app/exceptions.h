/* C++ exceptions of libraries that are not caught, and fatal errors of GDAL and GLib. */
#ifndef HC_APP_EXCEPTIONS_H
#define HC_APP_EXCEPTIONS_H

#ifdef __cplusplus
extern "C" {
#endif

/* From now on the process ends with one line and without temporary files: with exit code 5 for a lack of
 * memory or threads, else by SIGABRT. */
void hc_catch_exceptions(void);

/* Ends the process in that way, with exit code 5: for hc_stages_on_fatal. */
void hc_end_drawing(const char *text);

#ifdef __cplusplus
}
#endif
#endif
