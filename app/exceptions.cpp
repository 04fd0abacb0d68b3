/* C++ exceptions that nobody catches, and fatal errors of GDAL and GLib: libraries throw them through C code.
 *
 * Lack of memory and of threads is a documented failure: one line, no temporary file, exit code 5. Anything
 * else is a bug of a library. The process then ends by SIGABRT as before, with its text, and temporary files
 * are removed as well. Failed assertions call abort() themselves and do not come here. */
#include "app/exceptions.h"
#include "core/status.h"
#include "io/file.h"
#include "io/gdal/errors.h"

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>
#include <system_error>
#include <unistd.h>

namespace {

const char no_memory[] =
    "hcube: out of memory: a library could not go on (an exception that was not caught)\n";
const char no_threads[] =
    "hcube: out of threads: a library could not go on (an exception that was not caught; "
    "--threads takes fewer)\n";

void say(const char *text) {
    (void)!write(STDERR_FILENO, text, std::strlen(text));
}

/* Nothing here takes memory. */
[[noreturn]] void leave(const char *text) {
    say(text);
    hc_file_remove_partials();
    _exit(HC_E_MEMORY);
}

[[noreturn]] void abort_with(const char *text) {
    say("hcube: ended by an exception of a library: ");
    say(text);
    say("\n");
    hc_file_remove_partials();
    std::signal(SIGABRT, SIG_DFL); /* all is said */
    std::abort();
}

/* Returns for one thread. */
void be_the_only_one() {
    static std::atomic_flag entered = ATOMIC_FLAG_INIT;
    while (entered.test_and_set()) {
        pause(); /* another thread ends the process */
    }
}

void on_fatal_error(const char *text, bool memory) {
    be_the_only_one();
    if (memory) {
        say("hcube: out of memory: GDAL could not go on: ");
        say(text);
        leave("\n");
    }
    abort_with(text);
}

[[noreturn]] void on_terminate() {
    be_the_only_one();
    std::exception_ptr current = std::current_exception();
    if (current == nullptr) {
        abort_with("std::terminate was called");
    }
    try {
        std::rethrow_exception(current);
    } catch (const std::bad_alloc &) {
        leave(no_memory);
    } catch (const std::system_error &error) {
        if (error.code() == std::errc::resource_unavailable_try_again) {
            leave(no_threads);
        }
        if (error.code() == std::errc::not_enough_memory) {
            leave(no_memory);
        }
        abort_with(error.what());
    } catch (const std::exception &error) {
        abort_with(error.what());
    } catch (...) {
        abort_with("of an unknown type");
    }
}

} // namespace

void hc_catch_exceptions(void) {
    std::set_terminate(on_terminate);
    hc_gdal_on_fatal(on_fatal_error);
}

/* GLib gives up for lack of these alone. */
void hc_end_drawing(const char *text) {
    be_the_only_one();
    say("hcube: out of memory or threads: a figure could not be drawn: ");
    say(text);
    leave("\n");
}
