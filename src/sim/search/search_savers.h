/* What else than a layout spares memory, where no layout fits. */
#ifndef MOEPLAN_SIM_SEARCH_SEARCH_SAVERS_H
#define MOEPLAN_SIM_SEARCH_SEARCH_SAVERS_H

#include "sim/search/search.h"

/* Of training plans none of whose layouts fits: the optimizer's states on the host, gradients
 * of 16 bits, each tried beside all layouts while no fix is known that costs less; the best
 * layout of the first that fits becomes a fix of the nearest. */
void search_save(const struct search_ask *asks, size_t n, const struct plan *nearest,
                 struct arena *arena, struct search_result *result);

#endif
