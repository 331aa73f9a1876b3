/* See call.h. */
#include "cli/frontier/call.h"

#include "cli/option/plan_argument.h"

enum status frontier_of_call(struct frontier *frontier, const struct invocation *call,
                             const struct option_list *cases, const struct option_list *overs,
                             struct err *err)
{
    const struct frontier_axes axes = {cases->items, cases->n, overs->items, overs->n};
    struct request request;
    TRY(frontier_axes_read(frontier, &axes, call->arena, err));
    TRY(plan_argument_request(call, 0, &request, err));
    return frontier_init(frontier, &request, err);
}
