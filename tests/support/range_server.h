/* What the files of the range server share. */
#ifndef HC_TESTS_RANGE_SERVER_H
#define HC_TESTS_RANGE_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* What the file of faults says. */
typedef struct Faults {
    long latency, every, code, all, beyond, head, changes, put, put_code, any;
    bool brief, stop, more, gzip, whole, redirect, away, slow, reset, lost;
    char only[64], put_word[64], any_word[64];
} Faults;

/* A request with its head, whose body is still to come. */
typedef struct Request {
    int to;
    const char *folder;
    char method[8], target[1000];
    const char *query; /* after the target, "" = none */
    const char *begun; /* [begun_bytes] of the body, which came with the head */
    size_t begun_bytes;
    int64_t bytes; /* of the body */
} Request;

/* The next bytes of the body, `most` at most; 0 at its end, negative where they do not come. */
ssize_t take_bytes(Request *request, char *to, size_t most);
bool send_all(int to, const char *data, size_t bytes);
/* Answers with that code, and the word in XML; false ends the connection. */
bool refuse(Request *request, long code, const char *word);

/* Answers what an object store is asked for; *mine = whether it is that. false ends the connection. */
bool answer_objects(Request *request, const Faults *faults, bool *mine);

#endif
