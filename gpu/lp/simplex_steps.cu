/* A run of simplex steps on the GPU, dual or primal: the kernel that takes them, and what the host does where
 * it pauses. */
#include "gpu/lp/simplex.cuh"

HcStatus hc_gpu_simplex_steps(HcSimplex *s, const void *kernel, const size_t *shared, bool boxed,
                              HcSimplexStop *stop, HcError *err) {
    HcSimplexOwn *own = s->own;
    HcSimplexState begin = {};
    begin.kept = own->state.kept;
    begin.kept_most = own->state.kept_most;
    begin.since_fresh = own->state.since_fresh;
    begin.pivots = s->pivots;
    begin.boxed = boxed;
    own->state = begin;
    (void)hc_simplex_random(s);
    own->view.seed = s->seed;
    HC_OR_RETURN(hc_gpu_simplex_push(s, err));
    do {
        HC_OR_RETURN(hc_gpu_simplex_launch(own, kernel, shared != NULL ? *shared : 0, err));
        if (own->state.pause == HC_SIMPLEX_FULL) {
            HC_OR_RETURN(hc_gpu_simplex_widen(own, hc_min64(2 * own->state.kept, s->rows), err));
        } else if (own->state.pause == HC_SIMPLEX_REFRESH) {
            HC_OR_RETURN(hc_gpu_simplex_pull(s, err));
            HC_OR_RETURN(hc_gpu_simplex_refresh(s, err));
        }
    } while (own->state.pause != HC_SIMPLEX_ENDED);
    HC_OR_RETURN(hc_gpu_simplex_pull(s, err));
    s->pivots = own->state.pivots;
    s->kept_most = own->state.kept_most;
    stop->end = (HcSimplexEnd)own->state.end;
    stop->leaving = own->state.leaving;
    stop->entering = own->state.entering;
    stop->direction = own->state.direction;
    return HC_OK;
}
