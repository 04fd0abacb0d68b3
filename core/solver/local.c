#include "core/solver/local.h"

/* Sums of a piece [bytes]. */
static size_t budget_of(const HcLocalRule *rule) {
    return (size_t)(rule->tight ? 24 : 256) << 20;
}

static int32_t multiple(int64_t value, int32_t of) {
    return (int32_t)((value + of - 1) / of * of);
}

/* Sums of columns begin anew in each piece, with half a window more on each side of a tile and a window of
 * lines before the first: pieces have many lines, and tiles grow with the window. */
HcLocalPiece hc_local_piece(const HcLocalRule *rule) {
    HcLocalPiece piece = {.lines = 128,
                          .tile = rule->window > 95   ? 128
                                  : rule->window > 31 ? 64
                                                      : 32,
                          .slots = rule->tight ? 16 : 128};
    size_t n = (size_t)rule->directions;
    size_t pixel = (hc_local_products(rule) + n + 1) * sizeof(double);
    piece.lines = (int32_t)hc_min64(piece.lines, rule->lines);
    size_t columns = budget_of(rule) / (pixel * (size_t)piece.lines);
    size_t wanted = (size_t)multiple(rule->samples, piece.tile);
    columns = columns / (size_t)piece.tile * (size_t)piece.tile;
    columns = columns < wanted ? columns : wanted;
    piece.columns = columns > 0 ? (int32_t)columns : piece.tile;
    size_t lines = budget_of(rule) / (pixel * (size_t)piece.columns);
    piece.lines = (int32_t)hc_max64(1, hc_min64(piece.lines, (int64_t)lines));
    size_t pixels = (size_t)piece.lines * (size_t)piece.columns;
    size_t more = (size_t)(rule->window / 2) * 2;
    piece.integers = ((size_t)piece.lines + more) * ((size_t)piece.columns + more) * (n + 1);
    piece.sums = pixels * (n + 1);
    piece.products = pixels * hc_local_products(rule);
    piece.matrices = n > HC_LOCAL_ONE_WARP ? (size_t)piece.slots * hc_local_matrix(rule) : 0;
    return piece;
}
