/* A team: threads that share out the items of a call, and are kept from call to call.
 *
 *     HcTeam *team = hc_team_open(hc_team_count(0, 16));
 *     hc_team_run(team, lines, pack_line, &packing);
 *
 * Several threads may run calls at the same time: the team helps the oldest call that has items left. A call
 * from inside an item runs on the thread that makes it, so that no thread waits for threads that wait for it.
 */
#ifndef HC_CORE_TEAM_H
#define HC_CORE_TEAM_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct HcTeam HcTeam;

/* One item of the work, 0 to count-1; items are begun in that order, on any thread. `thread` numbers the
 * threads of a call, for memory of their own: 0 is the caller, the others are below hc_team_threads(). A
 * call inside an item counts anew, from 0. */
typedef void HcWork(void *user, int64_t item, int32_t thread);

/* Threads that are worth having, the caller's own included: `wanted`, or (0 and below) one for each processor
 * that this process may use, at most `most` of them. */
int32_t hc_team_count(int32_t wanted, int32_t most);

/* `threads` includes the caller's. NULL where one is enough, or where there is no memory: the caller then
 * does all items. Where the system gives fewer threads, those do them. */
HcTeam *hc_team_open(int32_t threads);

/* Threads that a call may use, the caller's included. These are fewer than asked for where the system gave
 * fewer. NULL has 1. */
int32_t hc_team_threads(const HcTeam *team);

/* Sets the maximum number of threads of a call, the caller's included; it never grows again. No call
 * may be running. Takes NULL. */
void hc_team_limit(HcTeam *team, int32_t threads);

/* No call may be running. Takes NULL. */
void hc_team_close(HcTeam *team);

/* Does all items and returns when all are done. `team` may be NULL. */
void hc_team_run(HcTeam *team, int64_t count, HcWork *work, void *user);

#ifdef __cplusplus
}
#endif
#endif
