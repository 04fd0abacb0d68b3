/* The version, from the project() line of CMakeLists.txt. */
#ifndef HC_CORE_VERSION_H
#define HC_CORE_VERSION_H

/* "0.1.0" */
const char *hc_version(void);

#endif
