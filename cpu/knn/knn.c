/* Nearest training spectra. A product in float32 finds candidates, a bound on its error keeps every one that
 * could be among the k nearest, and these are compared exactly in float64 (docs/numerics.md). Where the
 * spectra lie near few axes, products along these come first, and all bands are multiplied for what they
 * leave. */
#include "cpu/knn/knn.h"
#include "core/allocate.h"
#include "cpu/work.h"

#include <cblas.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    PANEL = 384,      /* pixels of one product, at most */
    TILE = 640,       /* training spectra of one product */
    CHUNK = 32,       /* similarities that are looked at together */
    WAITING_MAX = 240 /* candidates of a pixel that wait */
};

/* What one pixel has found so far. */
typedef struct Search {
    HcQuery query;
    float margin;  /* twice the bound of a product of all bands */
    float slack;   /* rough products are at most that much too large, and never too small */
    float enough;  /* candidates have this similarity or a larger one */
    int32_t found; /* in `index` and `distance`, which are sorted */
    int32_t waiting;
    int32_t refined;   /* candidates that wait and have the similarity of all bands */
    int32_t looked_at; /* candidates that have been refined */
    bool is_rough;     /* candidates come without that similarity */
    const float *moved;
    float *similarity; /* [k], the largest of all bands, the smallest of them first */
    int32_t *index;    /* [k] of the output */
    double *distance;  /* [k] of the output */
    int32_t candidate[WAITING_MAX];
    float candidate_similarity[WAITING_MAX];
} Search;

/* One thread's memory. */
typedef struct Work {
    Search *search;    /* [PANEL] */
    float *similarity; /* [PANEL][k] */
    float *moved;      /* [PANEL][bands] */
    float *turned;     /* [PANEL][HC_KNN_TERMS] */
    float *product;    /* [PANEL][TILE] */
    HcKnnBytes bytes;  /* of PANEL */
    bool is_rough;     /* rough products have served so far */
} Work;

typedef struct Job {
    const HcBlock *in;
    const HcTraining *training;
    int32_t k;
    int32_t *index;
    double *distance;
    int64_t pixels; /* of the interior */
    int64_t panel;  /* pixels of a unit of work */
    Work *work;     /* [threads] */
} Job;

/* Puts a training spectrum where it belongs among the k nearest. */
static void keep(Search *search, int32_t k, int32_t j, double distance) {
    int32_t at = search->found;
    if (at == k) {
        at--;
        if (distance > search->distance[at] || (distance == search->distance[at] && j > search->index[at])) {
            return;
        }
    } else {
        search->found++;
    }
    while (at > 0 && (distance < search->distance[at - 1] ||
                      (distance == search->distance[at - 1] && j < search->index[at - 1]))) {
        search->distance[at] = search->distance[at - 1];
        search->index[at] = search->index[at - 1];
        at--;
    }
    search->distance[at] = distance;
    search->index[at] = j;
}

/* Forgets candidates that are no longer among the best. */
static void prune(Search *search) {
    int32_t left = 0;
    int32_t refined = 0;
    for (int32_t i = 0; i < search->waiting; i++) {
        if (search->candidate_similarity[i] >= search->enough) {
            search->candidate[left] = search->candidate[i];
            search->candidate_similarity[left++] = search->candidate_similarity[i];
            refined += i < search->refined;
        }
    }
    search->waiting = left;
    search->refined = refined;
}

/* Compares some pairs exactly. */
static void compare(const Job *job, Search *const *owner, const HcPair *pair, int32_t count) {
    double distance[WAITING_MAX];
    hc_knn_distances(job->training, pair, count, distance);
    for (int32_t i = 0; i < count; i++) {
        keep(owner[i], job->k, pair[i].number, distance[i]);
    }
}

/* Compares all candidates of some searches exactly, those of several pixels side by side. */
static void settle(const Job *job, Search *searches, int32_t count) {
    HcPair pair[WAITING_MAX];
    Search *owner[WAITING_MAX];
    int32_t pairs = 0;
    for (Search *search = searches; search < searches + count; search++) {
        for (int32_t i = 0; i < search->waiting; i++) {
            owner[pairs] = search;
            pair[pairs++] = (HcPair){&search->query, search->candidate[i]};
            if (pairs == WAITING_MAX) {
                compare(job, owner, pair, pairs);
                pairs = 0;
            }
        }
        search->waiting = search->refined = 0;
    }
    if (pairs > 0) {
        compare(job, owner, pair, pairs);
    }
}

/* Keeps the k largest similarities. They form a heap: none is smaller than its parent. */
static void remember(float *heap, int32_t k, float similarity) {
    int32_t at = 0;
    for (int32_t child = 1; child < k; child = 2 * at + 1) {
        child += child + 1 < k && heap[child + 1] < heap[child] ? 1 : 0;
        if (heap[child] >= similarity) {
            break;
        }
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = similarity;
}

/* Keeps the k largest similarities of all bands, and so what is enough. */
static void learn(Search *search, int32_t k, float similarity) {
    if (similarity > search->similarity[0]) {
        remember(search->similarity, k, similarity);
        float enough = search->similarity[0] - search->margin;
        search->enough = enough > search->enough ? enough : search->enough;
    }
}

HC_CLONES static float multiply(const float *restrict x, const float *restrict t, int64_t bands) {
    float sum[CHUNK] = {0};
    float rest = 0;
    int64_t b = 0;
    for (; b + CHUNK <= bands; b += CHUNK) {
        for (int i = 0; i < CHUNK; i++) {
            sum[i] += x[b + i] * t[b + i];
        }
    }
    for (; b < bands; b++) {
        rest += x[b] * t[b];
    }
    for (int half = CHUNK / 2; half > 0; half /= 2) {
        for (int i = 0; i < half; i++) {
            sum[i] += sum[i + half];
        }
    }
    return sum[0] + rest;
}

/* Finds the similarities of all bands of rough candidates, and forgets those that are not enough. */
static void refine(const Job *job, Search *search) {
    const HcTraining *training = job->training;
    for (int32_t i = search->refined; i < search->waiting; i++) {
        int64_t j = search->candidate[i];
        const float *t = training->moved + j * training->bands;
        float similarity = multiply(search->moved, t, training->bands) - training->half[j];
        search->candidate_similarity[i] = similarity;
        learn(search, job->k, similarity);
    }
    search->looked_at += search->waiting - search->refined;
    search->refined = search->waiting;
    prune(search);
}

static void make_room(const Job *job, Search *search) {
    if (search->is_rough) {
        refine(job, search);
    } else {
        prune(search);
    }
    if (search->waiting > WAITING_MAX / 2) {
        settle(job, search, 1);
    }
}

static void add_candidate(const Job *job, Search *search, int32_t j, float similarity) {
    if (search->waiting == WAITING_MAX) {
        make_room(job, search);
    }
    search->candidate[search->waiting] = j;
    search->candidate_similarity[search->waiting++] = similarity;
    if (!search->is_rough) {
        learn(search, job->k, similarity);
    }
}

/* The first of the `count` similarities from `from` on, in steps of CHUNK, where one is enough. */
HC_CLONES static int64_t find_chunk(const float *restrict product, const float *restrict half, int64_t from,
                                    int64_t count, float enough) {
    for (; from + CHUNK <= count; from += CHUNK) {
        int32_t any = 0;
        for (int64_t j = from; j < from + CHUNK; j++) {
            any |= product[j] - half[j] >= enough;
        }
        if (any != 0) {
            return from;
        }
    }
    return from;
}

/* Lists the similarities that are enough. */
static int32_t list_chunk(const float *product, const float *half, int64_t from, int64_t end, float enough,
                          int32_t *list) {
    int32_t count = 0;
    for (; from < end; from++) {
        list[count] = (int32_t)from;
        count += product[from] - half[from] >= enough;
    }
    return count;
}

static void scan(const Job *job, Search *search, const float *product, const float *half, int64_t first,
                 int64_t count) {
    int64_t from = 0;
    while (from < count) {
        from = find_chunk(product, half, from, count, search->enough);
        int64_t end = hc_min64(from + CHUNK, count);
        int32_t list[CHUNK];
        int32_t listed = list_chunk(product, half, from, end, search->enough, list);
        for (int32_t i = 0; i < listed; i++) {
            add_candidate(job, search, (int32_t)first + list[i], product[list[i]] - half[list[i]]);
        }
        from = end;
    }
}

/* The largest similarity of each of CHUNK parts of a tile. */
HC_CLONES static void find_largest(const float *restrict product, const float *restrict half, int64_t count,
                                   float *restrict largest) {
    for (int i = 0; i < CHUNK; i++) {
        largest[i] = -INFINITY;
    }
    for (int64_t from = 0; from + CHUNK <= count; from += CHUNK) {
        for (int i = 0; i < CHUNK; i++) {
            float similarity = product[from + i] - half[from + i];
            largest[i] = similarity > largest[i] ? similarity : largest[i];
        }
    }
}

/* What is enough, before the first tile is scanned: k parts have a similarity of it or more. */
static void look_ahead(const Job *job, Search *search, const float *product, int64_t count, float margin) {
    float largest[CHUNK];
    float heap[CHUNK];
    find_largest(product, job->training->half, count, largest);
    for (int32_t i = 0; i < job->k; i++) {
        heap[i] = -INFINITY;
    }
    for (int i = 0; i < CHUNK; i++) {
        if (largest[i] > heap[0]) {
            remember(heap, job->k, largest[i]);
        }
    }
    search->enough = heap[0] - margin;
}

/* Every training spectrum is a candidate. */
static void search_plainly(const Job *job, Search *search) {
    for (int64_t j = 0; j < job->training->count; j++) {
        search->candidate[search->waiting++] = (int32_t)j;
        if (search->waiting == WAITING_MAX) {
            settle(job, search, 1);
        }
    }
    settle(job, search, 1);
}

static void begin(const Job *job, Search *search, bool is_rough) {
    search->found = search->waiting = search->refined = search->looked_at = 0;
    search->enough = -INFINITY;
    search->is_rough = is_rough;
    for (int32_t i = 0; i < job->k; i++) {
        search->similarity[i] = -INFINITY;
    }
}

/* Similarities of the searches with `count` spectra from `first` on, by products of all bands, along the axes
 * or of bytes. */
static void multiply_tile(const Job *job, Work *work, int32_t searches, int64_t first, int count) {
    const HcTraining *training = job->training;
    bool is_rough = work->search[0].is_rough;
    if (is_rough && training->word != NULL) {
        hc_knn_multiply_bytes(training, &work->bytes, searches, first, count, work->product, TILE);
        return;
    }
    int terms = is_rough ? HC_KNN_TERMS : training->bands;
    const float *spectra = is_rough ? training->turned : training->moved;
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, searches, count, terms, 1.0F,
                is_rough ? work->turned : work->moved, terms, spectra + first * terms, terms, 0.0F,
                work->product, TILE);
}

/* Searches one tile after the other. Gives up, false, where rough candidates are too many to be worth it. */
static bool search_tiles(const Job *job, Work *work, int32_t searches) {
    const HcTraining *training = job->training;
    int64_t most = searches * (32 + training->count / 32);
    for (int64_t first = 0; first < training->count; first += TILE) {
        int tile = (int)hc_min64(TILE, training->count - first);
        int64_t looked_at = 0;
        multiply_tile(job, work, searches, first, tile);
        for (int32_t i = 0; i < searches; i++) {
            Search *search = &work->search[i];
            const float *product = work->product + (int64_t)i * TILE;
            if (first == 0 && job->k <= CHUNK) {
                look_ahead(job, search, product, tile, search->margin + search->slack);
            }
            scan(job, search, product, training->half + first, first, tile);
            if (search->is_rough) {
                refine(job, search);
                looked_at += search->looked_at;
            }
        }
        if (looked_at > most) {
            return false;
        }
    }
    return true;
}

static bool search_by(const Job *job, Work *work, int32_t searches, bool is_rough) {
    const HcTraining *training = job->training;
    for (int32_t i = 0; i < searches; i++) {
        begin(job, &work->search[i], is_rough);
        const float *moved = work->search[i].moved = work->moved + (int64_t)i * training->bands;
        float slack = 0;
        if (is_rough && training->word != NULL) {
            slack = hc_knn_take_bytes(training, moved, i, &work->bytes);
        } else if (is_rough) {
            slack = training->rest * hc_knn_turn(training, moved, work->turned + (int64_t)i * HC_KNN_TERMS);
        }
        work->search[i].slack = 2 * (1 + 0x1p-20F) * slack;
    }
    return search_tiles(job, work, searches);
}

static void search_fast(const Job *job, Work *work, int32_t searches) {
    work->is_rough = work->is_rough && search_by(job, work, searches, true);
    if (!work->is_rough) {
        search_by(job, work, searches, false);
    }
    for (int32_t i = 0; i < searches; i++) {
        prune(&work->search[i]);
    }
    settle(job, work->search, searches);
}

static void leave_out(const Job *job, int64_t pixel) {
    for (int64_t i = pixel * job->k; i < (pixel + 1) * job->k; i++) {
        job->index[i] = -1;
        job->distance[i] = INFINITY;
    }
}

/* Where every spectrum is as near as the others: the first ones. */
static void take_first(const Job *job, int64_t pixel) {
    for (int32_t i = 0; i < job->k; i++) {
        job->index[pixel * job->k + i] = i;
        job->distance[pixel * job->k + i] = 0;
    }
}

static void start(const Job *job, Search *search, int64_t pixel, const float *x) {
    search->query.x = x;
    search->index = job->index + pixel * job->k;
    search->distance = job->distance + pixel * job->k;
    begin(job, search, false);
}

static void search_panel(const Job *job, int64_t unit, Work *work) {
    const HcTraining *training = job->training;
    const float *values = hc_cpu_line(job->in, job->in->line0);
    const uint8_t *valid = hc_cpu_mask_line(job->in, job->in->line0);
    bool angle = training->metric == HC_METRIC_ANGLE;
    int64_t bands = training->bands;
    int64_t end = hc_min64((unit + 1) * job->panel, job->pixels);
    int32_t searches = 0;
    for (int64_t pixel = unit * job->panel; pixel < end; pixel++) {
        Search *search = &work->search[searches];
        const float *x = values + pixel * bands;
        if (valid[pixel] == 0) {
            leave_out(job, pixel);
            continue;
        }
        start(job, search, pixel, x);
        search->query.norm = angle ? hc_knn_norm(x, training->bands) : 0;
        if (angle && search->query.norm == 0) {
            take_first(job, pixel);
            continue;
        }
        search->margin = hc_knn_move(training, &search->query, work->moved + searches * bands);
        if (search->margin < INFINITY) {
            searches++;
        } else {
            search_plainly(job, search);
        }
    }
    if (searches > 0) {
        search_fast(job, work, searches);
    }
}

static void work_clear(Work *work) {
    free(work->search);
    free(work->similarity);
    free(work->moved);
    free(work->turned);
    free(work->product);
    free(work->bytes.word);
    free(work->bytes.start);
    free(work->bytes.scale);
}

static HcStatus work_init(Work *work, const Job *job, HcError *err) {
    size_t k = (size_t)job->k;
    size_t bands = (size_t)job->training->bands;
    HC_OR_RETURN(hc_new_aligned(work->search, PANEL, "panels of neighbours", err));
    HC_OR_RETURN(hc_new_aligned(work->similarity, PANEL * k, "panels of neighbours", err));
    HC_OR_RETURN(hc_new_aligned(work->moved, PANEL * bands, "panels of neighbours", err));
    HC_OR_RETURN(hc_new_aligned(work->turned, (size_t)PANEL * HC_KNN_TERMS, "panels of neighbours", err));
    HC_OR_RETURN(hc_new_aligned(work->product, (size_t)PANEL * TILE, "panels of neighbours", err));
    HC_OR_RETURN(hc_new_aligned(work->bytes.word, PANEL * (size_t)hc_knn_words(job->training->bands),
                                "panels of neighbours", err));
    HC_OR_RETURN(hc_new(work->bytes.start, PANEL, "panels of neighbours", err));
    HC_OR_RETURN(hc_new(work->bytes.scale, 2 * PANEL, "panels of neighbours", err));
    work->bytes.above = work->bytes.scale + PANEL;
    for (size_t i = 0; i < PANEL; i++) {
        work->search[i].similarity = work->similarity + i * k;
    }
    work->is_rough = (job->training->axis != NULL || job->training->word != NULL) && job->k <= CHUNK;
    return HC_OK;
}

static void search_panels(void *user, int64_t unit, int64_t end, int32_t thread) {
    const Job *job = user;
    for (; unit < end; unit++) {
        search_panel(job, unit, &job->work[thread]);
    }
}

HcStatus hc_cpu_knn(HcQueue *queue, const HcBlock *in, const HcTraining *training, int32_t k, int32_t *index,
                    double *distance, HcError *err) {
    HcStatus status = HC_OK;
    int threads = queue->cpu->threads;
    int64_t pixels = (int64_t)in->lines * in->samples;
    int64_t share = (pixels / threads / 4 + 15) / 16 * 16; /* some units for every thread */
    Job job = {in, training, k, index, distance, pixels, hc_max64(16, hc_min64(PANEL, share)), NULL};
    hc_cpu_blas_alone();
    HC_OR_RETURN(hc_new(job.work, threads, "panels of neighbours", err));
    for (int t = 0; t < threads; t++) {
        HC_TRY(work_init(&job.work[t], &job, err));
    }
    hc_cpu_work(queue->cpu, (pixels + job.panel - 1) / job.panel, 1, search_panels, &job);
done:
    for (int t = 0; t < threads; t++) {
        work_clear(&job.work[t]);
    }
    free(job.work);
    return status;
}
