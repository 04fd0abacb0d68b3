/* Throws a C++ exception where the program writes a block through GDAL, as a library that lacks memory does:
 * loaded before the C library (LD_PRELOAD). HCUBE_THROW says which: memory, threads, other, fatal for the
 * fatal error by which GDAL says that memory is short, or abort for a failed assertion. */
#include <cstdlib>
#include <cstring>
#include <new>
#include <stdexcept>
#include <system_error>

extern "C" int GDALFlushRasterCache(void *);
extern "C" void CPLEmergencyError(const char *);

extern "C" int GDALFlushRasterCache(void *) {
    const char *what = std::getenv("HCUBE_THROW");
    if (what == nullptr || std::strcmp(what, "abort") == 0) {
        std::abort();
    }
    if (std::strcmp(what, "fatal") == 0) {
        CPLEmergencyError("CPLRealloc(): Out of memory allocating 8 bytes.");
    }
    if (std::strcmp(what, "memory") == 0) {
        throw std::bad_alloc();
    }
    if (std::strcmp(what, "threads") == 0) {
        throw std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again));
    }
    throw std::length_error("vector too long");
}
