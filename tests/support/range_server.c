/* A small HTTP/1.1 server of the files of a folder, for tests of reading by ranges. It counts what it is
 * asked for, delays its answers, and fails on purpose.
 *
 *     range_server FOLDER PORT_FILE
 *
 * It listens on a free port of 127.0.0.1 and writes the number into PORT_FILE. GET /.counts answers with
 * "HEADS GETS BYTES MOST" since the last such question; MOST is the number of requests that it had at once.
 * All requests but HEAD count as GET. A second line says how many bytes it took.
 *
 * The lines of FOLDER/.faults hold from the next request on. They concern parts (GET with a range) that begin
 * at byte N or later (beyond N; 0), of files whose names end with the word of "only":
 *
 *     latency MS        answer later
 *     every N CODE      each N-th part fails with that code
 *     all CODE          all parts fail with it
 *     head CODE         HEAD fails with it
 *     short, stop       the answer says that it has a byte less; the body ends half-way
 *     long              the answer has 100 bytes more than were asked for
 *     whole             ranges are not known: 200
 *     gzip              Content-Encoding: gzip
 *     redirect          302 to another path
 *     changes N         the ETag is another one after N parts
 *     put N CODE WORD   each N-th PUT fails with that code, and <Code>WORD</Code> in its answer
 *     away              302 to a host that has no address
 *     slow              the body stands still for 3 s after its first half, and ends
 *
 * These concern each request, whatever its kind:
 *
 *     any CODE WORD     it fails with that code and word; with AuthorizationHeaderMalformed, unless it is
 *                       signed for the region that the answer names
 *     reset             the connection is reset
 *     lost              it is done, but no answer comes
 *     some PERCENT SEED that part of all fails, by 500, 503, 429 or one of the two above
 *     at N FAULT        the N-th request since the last question for the counts has this fault of those above
 *     from N FAULT      the N-th and all after it
 *
 * It is an object store, too (range_objects.c): AWS_S3_ENDPOINT=127.0.0.1:PORT, AWS_HTTPS=NO,
 * AWS_VIRTUAL_HOSTING=FALSE.
 *
 * With RANGE_SERVER_LOG it prints what it is asked for. */
#include "tests/support/range_server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { WORDS = 4096, PIECE = 1 << 18 };

static const char *folder;
static _Atomic long heads, gets, parts_seen, now_asked, most_asked;
static _Atomic int64_t bytes_sent, bytes_taken;
static _Atomic long requests;
static _Thread_local bool mute; /* nothing is sent any more */

/* The same numbers fail each time. */
static void draw_fault(Faults *faults, long percent, long seed, long number) {
    uint64_t x = (uint64_t)number * 0x9e3779b97f4a7c15u ^ (uint64_t)seed * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 31)) * 0x94d049bb133111ebu;
    x ^= x >> 29;
    if (x % 100 < (uint64_t)percent) {
        static const long codes[] = {500, 503, 429};
        long kind = (long)(x / 100 % 5);
        faults->any = kind < 3 ? codes[kind] : 0;
        faults->reset = kind == 3;
        faults->lost = kind == 4;
        strcpy(faults->any_word, "SlowDown");
    }
}

static void read_fault(Faults *faults, const char *line, long number) {
    long percent, seed;
    (void)(sscanf(line, "latency %ld", &faults->latency) == 1 ||
           sscanf(line, "every %ld %ld", &faults->every, &faults->code) >= 1 ||
           sscanf(line, "all %ld", &faults->all) == 1 || sscanf(line, "beyond %ld", &faults->beyond) == 1 ||
           sscanf(line, "head %ld", &faults->head) == 1 ||
           sscanf(line, "put %ld %ld %63s", &faults->put, &faults->put_code, faults->put_word) == 3 ||
           sscanf(line, "any %ld %63s", &faults->any, faults->any_word) == 2 ||
           sscanf(line, "changes %ld", &faults->changes) == 1 ||
           sscanf(line, "only %63s", faults->only) == 1);
    if (sscanf(line, "some %ld %ld", &percent, &seed) == 2) {
        draw_fault(faults, percent, seed, number);
    }
    faults->brief = faults->brief || strncmp(line, "short", 5) == 0;
    faults->stop = faults->stop || strncmp(line, "stop", 4) == 0;
    faults->more = faults->more || strncmp(line, "long", 4) == 0;
    faults->gzip = faults->gzip || strncmp(line, "gzip", 4) == 0;
    faults->whole = faults->whole || strncmp(line, "whole", 5) == 0;
    faults->redirect = faults->redirect || strncmp(line, "redirect", 8) == 0;
    faults->away = faults->away || strncmp(line, "away", 4) == 0;
    faults->slow = faults->slow || strncmp(line, "slow", 4) == 0;
    faults->reset = faults->reset || strncmp(line, "reset", 5) == 0;
    faults->lost = faults->lost || strncmp(line, "lost", 4) == 0;
}

static Faults read_faults(long number) {
    Faults faults = {.code = 503};
    char path[1200], line[200];
    snprintf(path, sizeof path, "%s/.faults", folder);
    FILE *file = fopen(path, "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        char word[8], fault[200];
        long from = 0;
        bool one = sscanf(line, "%7s %ld %199[^\n]", word, &from, fault) == 3 &&
                   (strcmp(word, "at") == 0 || strcmp(word, "from") == 0);
        if (!one || number == from || (number > from && word[0] == 'f')) {
            read_fault(&faults, one ? fault : line, number);
        }
    }
    if (file != NULL) {
        fclose(file);
    }
    return faults;
}

bool send_all(int to, const char *data, size_t bytes) {
    while (bytes > 0 || mute) {
        if (mute) {
            return false;
        }
        ssize_t sent = send(to, data, bytes, MSG_NOSIGNAL);
        if (sent <= 0) {
            return false;
        }
        data += sent;
        bytes -= (size_t)sent;
    }
    return true;
}

static bool send_file(int to, int file, int64_t at, int64_t bytes) {
    static _Thread_local char piece[PIECE];
    bool sent = true;
    while (bytes > 0 && sent) {
        ssize_t got = pread(file, piece, bytes < PIECE ? (size_t)bytes : PIECE, (off_t)at);
        if (got <= 0) { /* "long": there is nothing more in the file */
            memset(piece, 'x', sizeof piece);
            got = (ssize_t)(bytes < PIECE ? bytes : PIECE);
        }
        sent = send_all(to, piece, (size_t)got);
        at += got;
        bytes -= got;
        bytes_sent += got;
    }
    return sent;
}

static bool send_text(int to, const char *state, const char *text, bool head) {
    char answer[600];
    snprintf(answer, sizeof answer, "HTTP/1.1 %s\r\nContent-Length: %zu\r\n\r\n%s", state, strlen(text),
             head ? "" : text);
    return send_all(to, answer, strlen(answer));
}

static const char *state_of(long code) {
    static _Thread_local char text[32];
    snprintf(text, sizeof text, "%ld Fault", code);
    return text;
}

/* Sends a part of an open file. False: the connection is to be closed. */
static bool answer_part(int to, int file, const struct stat *info, const Faults *faults, bool head,
                        const char *range) {
    int64_t size = info->st_size, first = 0, last = size - 1;
    bool part = range != NULL && sscanf(range, "bytes=%" SCNd64 "-%" SCNd64, &first, &last) >= 1;
    part = part && !(faults->whole && first >= faults->beyond);
    first = part ? first : 0;
    last = part && last < size ? last : size - 1;
    bool faulty = part && first >= faults->beyond;
    long number = part ? ++parts_seen : 0;
    if (head && faults->head > 0) {
        return send_text(to, state_of(faults->head), "", head);
    }
    if (faulty && faults->all > 0) {
        return send_text(to, state_of(faults->all), "", head);
    }
    if (faulty && faults->every > 0 && number % faults->every == 0) {
        return send_text(to, state_of(faults->code), "", head);
    }
    if (first > last) {
        return send_text(to, "416 Range Not Satisfiable", "", head);
    }
    int64_t bytes = last - first + 1, said = bytes;
    if (faulty) {
        said = faults->brief ? bytes - 1 : faults->more ? bytes + 100 : bytes;
        bytes = faults->stop || faults->slow ? bytes / 2 : said;
    }
    char answer[600], time[64], place[100] = "";
    struct tm tm;
    strftime(time, sizeof time, "%a, %d %b %Y %H:%M:%S GMT", gmtime_r(&info->st_mtime, &tm));
    if (part) {
        snprintf(place, sizeof place, "Content-Range: bytes %" PRId64 "-%" PRId64 "/%" PRId64 "\r\n", first,
                 last, size);
    }
    snprintf(answer, sizeof answer,
             "HTTP/1.1 %s\r\nContent-Length: %" PRId64
             "\r\nAccept-Ranges: bytes\r\nLast-Modified: %s\r\nETag: \"%d\"\r\n%s%s\r\n",
             part ? "206 Partial Content" : "200 OK", said, time,
             faults->changes > 0 && parts_seen > faults->changes, place,
             faults->gzip ? "Content-Encoding: gzip\r\n" : "");
    bool sent = send_all(to, answer, strlen(answer)) && (head || send_file(to, file, first, bytes));
    if (faulty && faults->slow) {
        sleep(3);
    }
    return sent && bytes == said;
}

ssize_t take_bytes(Request *request, char *to, size_t most) {
    size_t some = request->begun_bytes < most ? request->begun_bytes : most;
    if (some == 0) {
        ssize_t got = recv(request->to, to, most, 0);
        bytes_taken += got > 0 ? got : 0;
        return got;
    }
    memcpy(to, request->begun, some);
    request->begun += some;
    request->begun_bytes -= some;
    bytes_taken += (int64_t)some;
    return (ssize_t)some;
}

/* Answers one request, whose head are the words; *used = bytes of its body that came with it. false ends the
 * connection. */
static bool answer(int to, char *words, const char *begun, size_t begun_bytes, size_t *used) {
    Request request = {.to = to, .folder = folder, .query = "", .begun = begun};
    char *method = request.method, *target = request.target, path[2100];
    *used = 0;
    if (sscanf(words, "%7s %999s", method, target) != 2) {
        return false;
    }
    const char *length_line = strcasestr(words, "\r\nContent-Length:");
    request.bytes = length_line != NULL ? strtoll(length_line + 17, NULL, 10) : 0;
    *used = (int64_t)begun_bytes < request.bytes ? begun_bytes : (size_t)request.bytes;
    request.begun_bytes = *used;
    if (strcasestr(words, "\r\nExpect: 100-continue") != NULL) {
        (void)send_all(to, "HTTP/1.1 100 Continue\r\n\r\n", 25);
    }
    bool head = strcmp(method, "HEAD") == 0;
    if (strcmp(target, "/.counts") == 0) {
        char text[100];
        snprintf(text, sizeof text, "%ld %ld %" PRId64 " %ld\n%" PRId64 "\n", heads, gets, bytes_sent,
                 most_asked, bytes_taken);
        heads = gets = parts_seen = most_asked = requests = 0;
        bytes_sent = bytes_taken = 0;
        return send_text(to, "200 OK", text, false);
    }
    if (getenv("RANGE_SERVER_LOG") != NULL) {
        struct timespec now;
        const char *range = strcasestr(words, "\r\nRange:");
        clock_gettime(CLOCK_MONOTONIC, &now);
        fprintf(stderr, "%.3f %s %s %.40s\n", (double)now.tv_sec + (double)now.tv_nsec * 1e-9, method, target,
                range != NULL ? range + 9 : "");
    }
    if (head) {
        heads++;
    } else {
        gets++;
    }
    Faults faults = read_faults(++requests);
    long asked = ++now_asked;
    most_asked = asked > most_asked ? asked : most_asked;
    if (faults.latency > 0) {
        nanosleep(&(struct timespec){faults.latency / 1000, faults.latency % 1000 * 1000000}, NULL);
    }
    now_asked--;
    char *question = strchr(target, '?');
    if (question != NULL) {
        *question = '\0';
        request.query = question + 1;
    }
    if (faults.reset) {
        (void)setsockopt(to, SOL_SOCKET, SO_LINGER, &(struct linger){1, 0}, sizeof(struct linger));
        return false;
    }
    bool placed = strcmp(faults.any_word, "AuthorizationHeaderMalformed") == 0 &&
                  strstr(words, "eu-west-9") != NULL; /* it asks where it was sent */
    if (faults.any > 0 && !placed) {
        return refuse(&request, faults.any, faults.any_word);
    }
    mute = faults.lost;
    bool mine = false, goes_on = answer_objects(&request, &faults, &mine);
    if (mine) {
        return goes_on;
    }
    size_t length = strlen(target), ending = strlen(faults.only);
    if (length < ending || strcmp(target + length - ending, faults.only) != 0) {
        faults = (Faults){0};
    }
    if (faults.away) {
        static const char there[] =
            "HTTP/1.1 302 Found\r\nLocation: http://nowhere.invalid/\r\nContent-Length: 0\r\n\r\n";
        return send_all(to, there, sizeof there - 1);
    }
    if (faults.redirect && strncmp(target, "/moved/", 7) != 0) {
        char text[1300];
        snprintf(text, sizeof text, "HTTP/1.1 302 Found\r\nLocation: /moved%s\r\nContent-Length: 0\r\n\r\n",
                 target);
        return send_all(to, text, strlen(text));
    }
    snprintf(path, sizeof path, "%s%s", folder, strncmp(target, "/moved/", 7) == 0 ? target + 6 : target);
    struct stat info;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0 || fstat(file, &info) != 0 || !S_ISREG(info.st_mode) || strstr(path, "..") != NULL) {
        if (file >= 0) {
            close(file);
        }
        return send_text(to, "404 Not Found", "", head);
    }
    const char *range = strcasestr(words, "\r\nRange:");
    range = range != NULL ? range + 8 + strspn(range + 8, " ") : NULL;
    goes_on = answer_part(to, file, &info, &faults, head, range);
    close(file);
    return goes_on;
}

static void *serve(void *argument) {
    int to = (int)(intptr_t)argument, one = 1;
    char words[WORDS];
    size_t length = 0;
    (void)setsockopt(to, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    for (bool goes_on = true; goes_on;) {
        ssize_t got = recv(to, words + length, sizeof words - 1 - length, 0);
        if (got <= 0) {
            break;
        }
        length += (size_t)got;
        words[length] = '\0';
        char *end = strstr(words, "\r\n\r\n");
        if (end != NULL) {
            size_t head = (size_t)(end + 4 - words), used = 0;
            end[2] = '\0';
            goes_on = answer(to, words, end + 4, length - head, &used);
            used += head;
            memmove(words, words + used, length - used);
            length -= used;
        } else if (length == sizeof words - 1) {
            break;
        }
    }
    close(to);
    return NULL;
}

int main(int argc, char **argv) {
    int one = 1, from = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in place = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t bytes = sizeof place;
    if (argc < 3) {
        fprintf(stderr, "range_server FOLDER PORT_FILE\n");
        return 2;
    }
    folder = argv[1];
    signal(SIGPIPE, SIG_IGN);
    (void)setsockopt(from, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (bind(from, (struct sockaddr *)&place, sizeof place) != 0 || listen(from, 256) != 0 ||
        getsockname(from, (struct sockaddr *)&place, &bytes) != 0) {
        perror("range_server");
        return 1;
    }
    FILE *file = fopen(argv[2], "w");
    if (file == NULL || fprintf(file, "%d\n", ntohs(place.sin_port)) < 0 || fclose(file) != 0) {
        perror(argv[2]);
        return 1;
    }
    for (;;) {
        int to = accept(from, NULL, NULL);
        pthread_t thread;
        if (to >= 0 && pthread_create(&thread, NULL, serve, (void *)(intptr_t)to) == 0) {
            pthread_detach(thread);
        }
    }
}
