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
    PANEL = 384,        /* pixels of a unit of work, and of one product of all bands, at most */
    PANEL_AXES = 96,    /* pixels of one product along the axes */
    PANEL_BYTES = 48,   /* pixels of one product of bytes */
    AREA = PANEL * 640, /* pixels times training spectra of one product */
    BATCH = 8,          /* candidates that are refined together */
    AHEAD_MAX = 32,     /* neighbours that rough products may look for */
    WAITING_MAX = 192   /* candidates of a pixel that wait */
};

/* What one pixel has found so far. */
typedef struct Search {
    HcQuery query;
    HcMargins margins;
    float margin;  /* the one of the products in use */
    float slack;   /* rough products are at most that much too large, and never too small */
    float likely;  /* most neighbours have this rough similarity or a larger one */
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
    HcKnnBytes bytes;  /* of PANEL */
    HcKnnProducts products;
    float *part;   /* [AHEAD_MAX][PANEL] */
    bool is_rough; /* rough products have served so far */
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

/* Products of a pixel with some training spectra. */
HC_CLONES static void multiply(const float *restrict x, const float *restrict moved,
                               const int32_t *restrict number, int32_t count, int64_t bands,
                               float *restrict product) {
    enum { CHUNK = HC_KNN_CHUNK };
    for (int32_t n = 0; n < count; n++) {
        const float *t = moved + number[n] * bands;
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
        product[n] = sum[0] + rest;
    }
}

/* Brings candidates to the front that are likely to be neighbours, so that few others are enough. */
static void sort(Search *search) {
    int32_t front = search->refined;
    for (int32_t i = front; i < search->waiting; i++) {
        float similarity = search->candidate_similarity[i];
        int32_t j = search->candidate[i];
        if (similarity >= search->likely) {
            search->candidate_similarity[i] = search->candidate_similarity[front];
            search->candidate[i] = search->candidate[front];
            search->candidate_similarity[front] = similarity;
            search->candidate[front++] = j;
        }
    }
}

static void fetch(const HcTraining *training, const Search *search, int32_t i) {
    if (i < search->waiting && search->candidate_similarity[i] >= search->enough) {
        hc_knn_fetch(training->moved + (int64_t)search->candidate[i] * training->bands, training->bands);
    }
}

/* Finds the similarities of all bands of rough candidates, and forgets those that are not enough. */
static void refine(const Job *job, Search *search) {
    const HcTraining *training = job->training;
    int32_t next = search->refined;
    sort(search);
    while (next < search->waiting) {
        int32_t *number = search->candidate + search->refined;
        float *similarity = search->candidate_similarity + search->refined;
        int32_t count = 0;
        for (; next < search->waiting && count < BATCH; next++) {
            number[count] = search->candidate[next];
            fetch(training, search, next + BATCH);
            count += search->candidate_similarity[next] >= search->enough;
        }
        multiply(search->moved, training->moved, number, count, training->bands, similarity);
        for (int32_t i = 0; i < count; i++) {
            similarity[i] -= training->half[number[i]];
            learn(search, job->k, similarity[i]);
        }
        search->refined += count;
        search->looked_at += count;
    }
    search->waiting = search->refined;
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

/* The largest similarity of each block of spectra. */
HC_CLONES static void find_peaks(const float *restrict product, const float *restrict half, int64_t count,
                                 int64_t searches, int64_t width, float *restrict peak) {
    for (int64_t j = 0; j < count; j++, product += width) {
        if (j % HC_KNN_BLOCK == 0) {
            peak += j == 0 ? 0 : width;
            for (int64_t i = 0; i < searches; i++) {
                peak[i] = -INFINITY;
            }
        }
        for (int64_t i = 0; i < searches; i++) {
            float similarity = product[i] - half[j];
            peak[i] = similarity > peak[i] ? similarity : peak[i];
        }
    }
}

/* The largest similarity of each of AHEAD_MAX parts of a tile, part[AHEAD_MAX][width]. */
HC_CLONES static void find_largest(const float *restrict peak, int64_t blocks, int64_t searches,
                                   int64_t width, float *restrict part) {
    for (int64_t at = 0; at < AHEAD_MAX * width; at++) {
        part[at] = -INFINITY;
    }
    for (int64_t b = 0; b < blocks; b++) {
        float *largest = part + b % AHEAD_MAX * width;
        for (int64_t i = 0; i < searches; i++) {
            largest[i] = peak[b * width + i] > largest[i] ? peak[b * width + i] : largest[i];
        }
    }
}

/* What is enough, before the first tile is scanned: k parts have a similarity of it or more. */
static void look_ahead(const Job *job, Search *searches, int32_t count, const HcKnnProducts *products,
                       int64_t spectra, float *part) {
    float heap[AHEAD_MAX];
    find_largest(products->peak, hc_knn_blocks(spectra), count, products->width, part);
    for (int32_t i = 0; i < count; i++) {
        for (int32_t at = 0; at < job->k; at++) {
            heap[at] = -INFINITY;
        }
        for (int at = 0; at < AHEAD_MAX; at++) {
            if (part[at * products->width + i] > heap[0]) {
                remember(heap, job->k, part[at * products->width + i]);
            }
        }
        searches[i].likely = heap[0];
        searches[i].enough = heap[0] - (searches[i].margin + searches[i].slack);
    }
}

/* Adds the candidates of a tile. Looks only into blocks whose peak is enough. */
static void scan(const Job *job, Search *searches, int32_t count, const HcKnnProducts *products,
                 int64_t first, int64_t spectra) {
    const int64_t width = products->width;
    for (int64_t b = 0; b < hc_knn_blocks(spectra); b++) {
        const float *peak = products->peak + b * width;
        const float *half = job->training->half + first + b * HC_KNN_BLOCK;
        int64_t rows = hc_min64(HC_KNN_BLOCK, spectra - b * HC_KNN_BLOCK);
        for (int32_t i = 0; i < count; i++) {
            if (peak[i] < searches[i].enough) {
                continue;
            }
            const float *product = products->product + b * HC_KNN_BLOCK * width + i;
            int32_t list[HC_KNN_BLOCK];
            int32_t listed = 0;
            for (int32_t j = 0; j < rows; j++) {
                list[listed] = j;
                listed += product[j * width] - half[j] >= searches[i].enough;
            }
            for (int32_t at = 0; at < listed; at++) {
                int32_t j = list[at];
                add_candidate(job, &searches[i], (int32_t)(first + b * HC_KNN_BLOCK) + j,
                              product[j * width] - half[j]);
            }
        }
    }
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
    search->enough = search->likely = -INFINITY;
    search->is_rough = is_rough;
    search->margin = is_rough ? search->margins.rough : search->margins.whole;
    for (int32_t i = 0; i < job->k; i++) {
        search->similarity[i] = -INFINITY;
    }
}

/* Products of searches with `count` spectra from `first` on, of all bands, along the axes or of bytes. */
static void multiply_tile(const Job *job, Work *work, int32_t from, int32_t searches, int64_t first,
                          int count) {
    const HcTraining *training = job->training;
    const HcKnnProducts *to = &work->products;
    bool is_rough = work->search[from].is_rough;
    if (is_rough && training->word != NULL) {
        hc_knn_multiply_bytes(training, &work->bytes, from, searches, first, count, to);
        return;
    }
    int terms = is_rough ? HC_KNN_TERMS : training->bands;
    const float *spectra = is_rough ? training->turned : training->moved;
    const float *pixels = (is_rough ? work->turned : work->moved) + (int64_t)from * terms;
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, count, searches, terms, 1.0F,
                spectra + first * terms, terms, pixels, terms, 0.0F, to->product, (int)to->width);
    find_peaks(to->product, training->half + first, count, searches, to->width, to->peak);
}

/* Searches one tile after the other. Gives up, false, where rough candidates are too many to be worth it. */
static bool search_tiles(const Job *job, Work *work, int32_t from, int32_t searches) {
    const HcTraining *training = job->training;
    Search *search = &work->search[from];
    int64_t most = searches * (32 + training->count / 32);
    int64_t tile = AREA / work->products.width;
    for (int64_t first = 0; first < training->count; first += tile) {
        int count = (int)hc_min64(tile, training->count - first);
        int64_t looked_at = 0;
        multiply_tile(job, work, from, searches, first, count);
        if (first == 0 && job->k <= AHEAD_MAX) {
            look_ahead(job, search, searches, &work->products, count, work->part);
        }
        scan(job, search, searches, &work->products, first, count);
        for (int32_t i = 0; i < searches && search->is_rough; i++) {
            refine(job, &search[i]);
            looked_at += search[i].looked_at;
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
    int32_t panel = is_rough ? (training->word != NULL ? PANEL_BYTES : PANEL_AXES) : PANEL;
    bool serves = true;
    work->products.width = panel;
    for (int32_t from = 0; from < searches && serves; from += panel) {
        serves = search_tiles(job, work, from, (int32_t)hc_min64(panel, searches - from));
    }
    return serves;
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
        search->margins = hc_knn_move(training, &search->query, work->moved + searches * bands);
        if (search->margins.whole < INFINITY) {
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
    free(work->products.product);
    free(work->products.peak);
    free(work->part);
    free(work->bytes.word);
    free(work->bytes.scale);
}

static HcStatus work_init(Work *work, const Job *job, HcError *err) {
    size_t k = (size_t)job->k;
    size_t bands = (size_t)job->training->bands;
    HC_OR_RETURN(hc_new_aligned(work->search, PANEL, "panels of neighbours", err));
    HC_OR_RETURN(hc_new_aligned(work->similarity, PANEL * k, "panels of neighbours", err));
    HC_OR_RETURN(hc_new_aligned(work->moved, PANEL * bands, "panels of neighbours", err));
    HC_OR_RETURN(hc_new_aligned(work->turned, (size_t)PANEL * HC_KNN_TERMS, "panels of neighbours", err));
    HC_OR_RETURN(hc_new_aligned(work->products.product, AREA, "panels of neighbours", err));
    HC_OR_RETURN(hc_new_aligned(work->part, (size_t)AHEAD_MAX * PANEL, "panels of neighbours", err));
    HC_OR_RETURN(hc_new_aligned(work->products.peak, AREA / HC_KNN_BLOCK, "panels of neighbours", err));
    HC_OR_RETURN(hc_new_aligned(work->bytes.word, PANEL * (size_t)hc_knn_words(job->training->bands),
                                "panels of neighbours", err));
    HC_OR_RETURN(hc_new(work->bytes.scale, 2 * PANEL, "panels of neighbours", err));
    work->bytes.above = work->bytes.scale + PANEL;
    for (size_t i = 0; i < PANEL; i++) {
        work->search[i].similarity = work->similarity + i * k;
    }
    work->is_rough = (job->training->axis != NULL || job->training->word != NULL) && job->k <= AHEAD_MAX;
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
    if (training->few != NULL) {
        hc_knn_search_few(queue->cpu, in, training, k, index, distance);
        return HC_OK;
    }
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
