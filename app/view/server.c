/* The server of the page: libmicrohttpd on the loopback interface. It answers whoever knows the token, from a
 * page of its own address. The header Host must name it, and so must Origin where a browser sends it. A
 * foreign name that resolves to 127.0.0.1 (DNS rebinding) is refused. Four threads answer; connections beyond
 * the limit wait, and idle ones end after some seconds. */
#include "app/view/answer.h"

#ifdef HC_HAS_MICROHTTPD
#include <arpa/inet.h>
#include <errno.h>
#include <microhttpd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <time.h>

enum { TOKEN_BYTES = 16, THREADS = 4, CONNECTIONS = 4096, FILES = 256, QUEUE = 64, IDLE_SECONDS = 5 };

typedef struct Server {
    HcViewer *viewer;
    char token[2 * TOKEN_BYTES + 1];
    char host[2][32]; /* what Host may be: both with the port */
} Server;

/* ---- who asks ---- */

static bool is_own(const Server *server, const char *name) {
    return name != NULL && (strcmp(name, server->host[0]) == 0 || strcmp(name, server->host[1]) == 0);
}

static bool comes_from_page(const Server *server, struct MHD_Connection *connection) {
    static const char scheme[] = "http://";
    const char *origin = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Origin");
    return origin == NULL ||
           (strncmp(origin, scheme, strlen(scheme)) == 0 && is_own(server, origin + strlen(scheme)));
}

/* What follows "/TOKEN/"; NULL where that is wrong. All characters are compared, so that the time tells
 * nothing of them. */
static const char *place_of(const Server *server, const char *url) {
    const size_t length = 2 * TOKEN_BYTES;
    unsigned differs = 0;
    if (strlen(url) < length + 2 || url[0] != '/' || url[length + 1] != '/') {
        return NULL;
    }
    for (size_t i = 0; i < length; i++) {
        differs |= (unsigned)url[i + 1] ^ (unsigned)server->token[i];
    }
    return differs == 0 ? url + length + 2 : NULL;
}

/* ---- answers ---- */

static const char *query_value(const char *name, void *user) {
    return MHD_lookup_connection_value(user, MHD_GET_ARGUMENT_KIND, name);
}

static enum MHD_Result send_answer(struct MHD_Connection *connection, HcAnswer *answer) {
    static char empty[1];
    char download[64];
    struct MHD_Response *response = MHD_create_response_from_buffer(
        answer->bytes, answer->data != NULL ? answer->data : empty,
        answer->data != NULL ? MHD_RESPMEM_MUST_FREE : MHD_RESPMEM_PERSISTENT);
    if (response == NULL) {
        free(answer->data);
        return MHD_NO;
    }
    if (answer->download != NULL) {
        snprintf(download, sizeof download, "attachment; filename=\"%s\"", answer->download);
    }
    const char *const header[][2] = {{"Content-Type", answer->type != NULL ? answer->type : "text/plain"},
                                     {"Content-Security-Policy", hc_view_policy},
                                     {"X-Content-Type-Options", "nosniff"},
                                     {"Referrer-Policy", "no-referrer"},
                                     {"Cross-Origin-Resource-Policy", "same-origin"},
                                     {"Cache-Control", answer->keeps ? "private, max-age=3600" : "no-store"},
                                     {"Content-Disposition", answer->download != NULL ? download : NULL}};
    for (size_t h = 0; h < sizeof header / sizeof *header; h++) {
        if (header[h][1] != NULL) {
            (void)MHD_add_response_header(response, header[h][0], header[h][1]);
        }
    }
    enum MHD_Result queued = MHD_queue_response(connection, (unsigned)answer->code, response);
    MHD_destroy_response(response);
    return queued;
}

static enum MHD_Result answer_request(void *user, struct MHD_Connection *connection, const char *url,
                                      const char *method, const char *version, const char *upload,
                                      size_t *upload_size, void **state) {
    Server *server = user;
    static int seen;
    HcAnswer answer = {0};
    const char *place = place_of(server, url);
    (void)version;
    (void)upload;
    if (*state == NULL) { /* the headers alone are there: a body may follow */
        *state = &seen;
        return MHD_YES;
    }
    if (*upload_size > 0) {
        *upload_size = 0;
        return MHD_YES;
    }
    if (!is_own(server, MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Host")) ||
        !comes_from_page(server, connection)) {
        hc_answer_error(&answer, 403,
                        "wrong host or origin: only the address that hcube view prints is answered "
                        "(with ssh -L, the same port on both sides)");
    } else if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0) {
        hc_answer_error(&answer, 405, "only GET and HEAD are answered");
    } else if (place == NULL) {
        hc_answer_error(&answer, 404, "there is no such page");
    } else {
        hc_answer(server->viewer, place, (HcQuery){.value = query_value, .user = connection}, &answer);
    }
    return send_answer(connection, &answer);
}

/* ---- the server ---- */

static HcStatus make_token(Server *server, HcError *err) {
    uint8_t byte[TOKEN_BYTES];
    if (getrandom(byte, sizeof byte, 0) != (ssize_t)sizeof byte) {
        return hc_fail(err, HC_E_IO, "view: random numbers of the system: %s", strerror(errno));
    }
    for (size_t b = 0; b < sizeof byte; b++) {
        snprintf(server->token + 2 * b, 3, "%02x", byte[b]);
    }
    return HC_OK;
}

/* As many connections as the system gives files, beside those of the layers. */
static unsigned connections(void) {
    struct rlimit files = {0};
    const rlim_t wanted = CONNECTIONS + FILES;
    if (getrlimit(RLIMIT_NOFILE, &files) != 0) {
        return FILES;
    }
    if (files.rlim_cur < wanted) {
        files.rlim_cur = files.rlim_max < wanted ? files.rlim_max : wanted;
        (void)setrlimit(RLIMIT_NOFILE, &files);
    }
    return files.rlim_cur >= wanted ? CONNECTIONS : (unsigned)files.rlim_cur / 2;
}

static HcStatus start(Server *server, int32_t port, struct MHD_Daemon **daemon, HcError *err) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    *daemon = MHD_start_daemon(MHD_USE_EPOLL | MHD_USE_INTERNAL_POLLING_THREAD, 0, NULL, NULL, answer_request,
                               server, MHD_OPTION_SOCK_ADDR, (struct sockaddr *)&address,
                               MHD_OPTION_THREAD_POOL_SIZE, (unsigned)THREADS, MHD_OPTION_CONNECTION_LIMIT,
                               connections(), MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)IDLE_SECONDS,
                               MHD_OPTION_END);
    if (*daemon == NULL) {
        return hc_fail(err, HC_E_IO, "view: --port %d: 127.0.0.1 gives no such port: %s", port,
                       strerror(errno));
    }
    int bound = (int)MHD_get_daemon_info(*daemon, MHD_DAEMON_INFO_BIND_PORT)->port;
    snprintf(server->host[0], sizeof server->host[0], "127.0.0.1:%d", bound);
    snprintf(server->host[1], sizeof server->host[1], "localhost:%d", bound);
    return HC_OK;
}

HcStatus hc_view_serve(HcViewer *viewer, int32_t port, const HcFlag *stop, void (*ready)(const char *address),
                       HcError *err) {
    Server server = {.viewer = viewer};
    struct MHD_Daemon *daemon = NULL;
    char address[128];
    HC_OR_RETURN(make_token(&server, err));
    HC_OR_RETURN(start(&server, port, &daemon, err));
    snprintf(address, sizeof address, "http://%s/%s/", server.host[0], server.token);
    ready(address);
    while (hc_flag(stop) == 0) {
        nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
    }
    MHD_stop_daemon(daemon);
    return HC_OK;
}

const char *hc_view_server_version(void) {
    return MHD_get_version();
}

#else

const char *hc_view_server_version(void) {
    return "none";
}

HcStatus hc_view_serve(HcViewer *viewer, int32_t port, const HcFlag *stop, void (*ready)(const char *address),
                       HcError *err) {
    (void)viewer;
    (void)port;
    (void)stop;
    (void)ready;
    return hc_fail(err, HC_E_UNSUPPORTED,
                   "view: this hcube was built without libmicrohttpd (Debian package libmicrohttpd-dev)");
}
#endif
