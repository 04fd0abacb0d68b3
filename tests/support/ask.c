/* A client of the server of `hcube view`, for hostile requests that no browser makes.
 *
 *     ask PORT < REQUEST       sends the bytes as they are; prints what comes until the server closes
 *     ask PORT hold COUNT      opens as many connections (fewer where the system gives fewer files), prints
 * how many, and keeps them open and silent until standard input ends */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

static int dial(int port) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    int to = socket(AF_INET, SOCK_STREAM, 0);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (to >= 0 && connect(to, (struct sockaddr *)&address, sizeof address) != 0) {
        close(to);
        return -1;
    }
    return to;
}

/* Copies until the end; returns whether nothing failed. */
static int copy(int from, int to) {
    char bytes[1 << 16];
    ssize_t got = 0;
    while ((got = read(from, bytes, sizeof bytes)) > 0) {
        for (ssize_t done = 0, put = 0; done < got; done += put) {
            put = to == STDOUT_FILENO ? write(to, bytes + done, (size_t)(got - done))
                                      : send(to, bytes + done, (size_t)(got - done), MSG_NOSIGNAL);
            if (put <= 0) {
                return 0;
            }
        }
    }
    return got == 0;
}

static int hold(int port, int count) {
    struct rlimit files;
    int open = 0;
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files);
    }
    /* Connections that the server has no room for stay in its queue: do not wait for them. */
    for (int c = 0; c < count; c++) {
        struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
        int to = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        if (to < 0) {
            break;
        }
        (void)connect(to, (struct sockaddr *)&address, sizeof address);
        open++;
    }
    printf("%d\n", open);
    fflush(stdout);
    return getchar() == EOF;
}

int main(int argc, char **argv) {
    if (argc == 4 && strcmp(argv[2], "hold") == 0) {
        return hold(atoi(argv[1]), atoi(argv[3])) ? 0 : 1;
    }
    int to = argc == 2 ? dial(atoi(argv[1])) : -1;
    if (to < 0) {
        fprintf(stderr, "ask: no server\n");
        return 1;
    }
    (void)copy(STDIN_FILENO, to); /* a server may close before it has read all */
    shutdown(to, SHUT_WR);
    (void)copy(to, STDOUT_FILENO);
    return 0;
}
