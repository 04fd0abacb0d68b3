/* Answers to requests of the page, without the library that carries them. */
#ifndef HC_APP_VIEW_ANSWER_H
#define HC_APP_VIEW_ANSWER_H

#include "app/view/view.h"

/* The value of a parameter of the query, or NULL; borrowed. */
typedef struct HcQuery {
    const char *(*value)(const char *name, void *user);
    void *user;
} HcQuery;

typedef struct HcAnswer {
    int code;             /* of HTTP */
    const char *type;     /* "image/png" */
    const char *download; /* name of the file that it is, or NULL */
    char *data;           /* fresh memory */
    size_t bytes;
    bool keeps; /* the browser may keep it */
} HcAnswer;

/* Answers the request for `place`, what follows the token and a slash. A failure is an answer, too: its code,
 * and {"error": "one line"}. */
void hc_answer(HcViewer *viewer, const char *place, HcQuery query, HcAnswer *answer);
/* An answer of {"error": text}. */
void hc_answer_error(HcAnswer *answer, int code, const char *text);

#endif
