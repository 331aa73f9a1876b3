/* The experts of a prediction; see moe.h. Only what was computed is printed. */
#include "report/predict/moe.h"

#include <inttypes.h>
#include <math.h>

#include "base/unit.h"
#include "report/page.h"

enum { TERM_COLUMN = 12, SUMMARY_COLUMN = 10 };

static void item(struct page *page, const char *term, const struct text *text)
{
    page_item(page, 2, TERM_COLUMN, term, text_string(text));
}

static void print_rows(const struct predict_view *view, struct page *page)
{
    const struct routing_report *r = &view->prediction->moe.routing;
    struct text text = {.arena = view->arena};
    text_printf(&text,
                "%" PRIu64 ", per expert %.5g: p10 %.5g, p50 %.5g, p90 %.5g, p99 %.5g, max ",
                r->rows, r->rows_per_expert_mean, r->rows_per_expert_p10,
                r->rows_per_expert_p50, r->rows_per_expert_p90, r->rows_per_expert_p99);
    text_printf(&text, "%.5g, cv %.3g %% (%s", r->rows_per_expert_max, 100 * r->load_cv,
                r->method);
    if (r->samples)
        text_printf(&text, ", %" PRIu64 " steps", r->samples);
    text_append(&text, ")");
    item(page, "rows", &text);
}

static void print_tails(const struct predict_view *view, struct page *page)
{
    const struct routing_report *r = &view->prediction->moe.routing;
    struct text text = {.arena = view->arena};
    text_printf(&text,
                "%.4g x mean, p99 over steps %.4g x; rows expected %" PRIu64 ", p99 %" PRIu64
                ", worst %" PRIu64 "; tokens received %" PRIu64 ", %" PRIu64 ", %" PRIu64,
                r->rank_imbalance, r->rank_imbalance_p99, r->heaviest_rows_expected,
                r->heaviest_rows_p99, r->heaviest_rows_worst, r->received_expected,
                r->received_p99, r->received_worst);
    item(page, "fullest", &text);
}

static void print_reach(const struct predict_view *view, struct page *page)
{
    const struct routing_report *r = &view->prediction->moe.routing;
    struct text text = {.arena = view->arena};
    if (view->plan->parallel.ep <= 1)
        return;
    text_printf(&text, "a token reaches %.3g ranks on %.3g nodes", r->distinct_ranks,
                r->distinct_nodes);
    if (!isnan(r->placement_imbalance_after))
        text_printf(&text, "; EPLB takes the imbalance from %.4g to %.4g",
                    r->placement_imbalance_before, r->placement_imbalance_after);
    item(page, "reach", &text);
}

static void print_recovery(const struct predict_view *view, struct page *page)
{
    const struct routing_report *r = &view->prediction->moe.routing;
    struct text text = {.arena = view->arena};
    if (isnan(r->recovery_before))
        return;
    text_printf(&text, "loss-free bias at rate 0.001: fullest expert %.3g x mean at first, ",
                r->recovery_before);
    if (r->recovery_steps)
        text_printf(&text, "1.5 x after %" PRIu64 " steps, ", r->recovery_steps);
    text_printf(&text, "%.3g x after %d", r->recovery_after, RECOVERY_STEPS);
    item(page, "recovery", &text);
}

/* Drops per factor; beyond the first that drops next to nothing there is no more to say. */
static void print_drops(const struct predict_view *view, struct page *page)
{
    const struct moe_report *moe = &view->prediction->moe;
    struct text text = {.arena = view->arena};
    if (!moe->n_trade)
        return;
    text_printf(&text, "%.3g %% of rows, p99 %.3g %% per %s, %s first; by factor:",
                100 * moe->routing.drop_fraction, 100 * moe->routing.drop_fraction_p99,
                view->plan->moe.capacity_scope == CAPACITY_SEQUENCE ? "sequence" : "batch",
                view->plan->moe.drop == DROP_PROBS ? "least probable" : "last");
    double last = 0;
    for (unsigned i = 0; i < moe->n_trade; i++) {
        const struct capacity_point *p = &moe->trade[i];
        text_printf(&text, "%s %.4g: %s%.2g %%", last > 0 ? "," : "", p->factor,
                    p->drop < 1e-6 ? "< " : "", 100 * fmax(p->drop, 1e-6));
        last = p->factor;
        if (p->drop < 1e-6)
            break;
    }
    item(page, "drops", &text);
}

static void print_padding(const struct predict_view *view, struct page *page)
{
    const struct padding_report *p = &view->prediction->moe.padding;
    struct text text = {.arena = view->arena};
    text_printf(&text, "allocated %.4g x rows", p->allocated_factor);
    if (!isnan(p->exact_factor))
        text_printf(&text, ", exact %.4g x", p->exact_factor);
    text_printf(&text, " (%s: %s", p->rule, p->formula);
    if (p->alignment > 1)
        text_printf(&text, ", %" PRIu64, p->alignment);
    text_append(&text, ")");
    if (p->blocks_provisioned)
        text_printf(&text,
                    "; %" PRIu64 " blocks of %" PRIu64
                    " provisioned (document's formula %" PRIu64
                    "), %.4g hold rows, %.4g run; %.4g weight loads",
                    p->blocks_provisioned, p->block_size, p->blocks_document,
                    p->blocks_expected, p->blocks_executed, p->weight_loads);
    if (p->rounds)
        text_printf(&text, "; %" PRIu64 " rounds, %.4g expected when dropless", p->rounds,
                    p->rounds_expected);
    item(page, "padding", &text);
}

static void print_intensity(const struct predict_view *view, struct page *page)
{
    const struct intensity_report *r = &view->prediction->moe.intensity;
    struct text text = {.arena = view->arena};
    text_printf(&text, "%.4g of weights (AIF), %.4g of all bytes", r->aif, r->flop_per_byte);
    if (r->bound)
        text_printf(&text, "; ridge %.4g: %s-bound", r->ridge_flop_per_byte, r->bound);
    if (r->smallest_compute_bound_block)
        text_printf(&text, "; smallest compute-bound block %" PRIu64,
                    r->smallest_compute_bound_block);
    item(page, "FLOP/byte", &text);
}

static void print_decode(const struct predict_view *view, struct page *page)
{
    const struct decode *d = &view->prediction->moe.decode;
    struct text text = {.arena = view->arena};
    char loaded[48], all[48];
    if (!view->prediction->moe.has_decode)
        return;
    unit_print(loaded, UNIT_BYTES, (double)d->bytes_loaded);
    unit_print(all, UNIT_BYTES, (double)d->bytes_all);
    text_printf(
        &text,
        "%.2f experts hit (%.3g %%); %s: %s of %s per layer; the rule switches at batch "
        "%" PRIu64 ", break-even %.4g",
        d->expected_experts_loaded, 100 * d->fraction_loaded, d->algorithm, loaded, all,
        d->switch_batch, d->break_even_batch);
    item(page, "decode", &text);
}

static void print_advice(const struct predict_view *view, struct page *page)
{
    const struct moe_report *moe = &view->prediction->moe;
    for (size_t i = 0; i < moe->n_advice; i++)
        page_item(page, 2, TERM_COLUMN, i ? "" : "advice", moe->advice[i]);
}

/* Tables of the full page. */
static void print_table(const struct predict_view *view, struct page *page, const char *title,
                        const struct column *columns, size_t n, const void *records,
                        size_t n_records, size_t size)
{
    const struct table table = {.columns = columns,
                                .n = n,
                                .records = records,
                                .n_records = n_records,
                                .record_size = size,
                                .indent = 2};
    page_heading(page, title);
    column_table(view->out, view->term, &table, view->arena);
}

static void print_tables(const struct predict_view *view, struct page *page)
{
    const struct moe_report *moe = &view->prediction->moe;
    size_t n;
    const struct column *columns = trade_columns(&n);
    if (moe->n_trade)
        print_table(view, page, "capacity factors", columns, n, moe->trade, moe->n_trade,
                    sizeof *moe->trade);
    columns = block_columns(&n);
    if (moe->intensity.has_blocks)
        print_table(view, page, "block sizes", columns, n, moe->intensity.blocks, BLOCK_CHOICES,
                    sizeof *moe->intensity.blocks);
}

void predict_print_experts(const struct predict_view *view)
{
    static void (*const lines[])(const struct predict_view *view, struct page *page) = {
        print_rows,    print_tails,     print_reach,  print_recovery, print_drops,
        print_padding, print_intensity, print_decode, print_advice,
    };
    struct page page = {.out = view->out, .term = view->term};
    if (!view->prediction->moe.has_routing) {
        fputs("the model has no routed experts\n", view->out);
        return;
    }
    page_heading(&page, "one MoE layer and micro-step of the expert-parallel group");
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        lines[i](view, &page);
    print_tables(view, &page);
    fputc('\n', view->out);
    provenance_text(view->out, view->term, &view->provenance);
}

/* ---- the summary ---- */

static void summarise_rows(const struct predict_view *view, struct page *page)
{
    const struct routing_report *r = &view->prediction->moe.routing;
    struct text text = {.arena = view->arena};
    text_printf(&text,
                "%.5g routed tokens an expert (p10 %.5g, max %.5g), load imbalance of ranks "
                "(max/mean) %.3g",
                r->rows_per_expert_mean, r->rows_per_expert_p10, r->rows_per_expert_max,
                r->rank_imbalance);
    if (view->prediction->moe.n_trade)
        text_printf(&text, ", %.2g %% dropped", 100 * r->drop_fraction);
    page_item(page, 0, SUMMARY_COLUMN, "routing", text_string(&text));
}

static void summarise_gemm(const struct predict_view *view, struct page *page)
{
    const struct padding_report *p = &view->prediction->moe.padding;
    const struct intensity_report *r = &view->prediction->moe.intensity;
    const struct decode *d = &view->prediction->moe.decode;
    struct text text = {.arena = view->arena};
    text_printf(&text, "padding %.4g x allocated", p->allocated_factor);
    if (!isnan(p->exact_factor))
        text_printf(&text, ", %.4g x exact", p->exact_factor);
    text_printf(&text, "; %.4g FLOP/byte", r->flop_per_byte);
    if (r->bound)
        text_printf(&text, ", ridge %.4g: %s-bound", r->ridge_flop_per_byte, r->bound);
    if (view->prediction->moe.has_decode)
        text_printf(&text, "; hits %.2f experts of a rank, %s", d->expected_experts_loaded,
                    d->algorithm);
    page_item(page, 0, SUMMARY_COLUMN, "GEMM", text_string(&text));
}

void predict_summarise_experts(const struct predict_view *view, struct page *page)
{
    if (!view->prediction->moe.has_routing)
        return;
    summarise_rows(view, page);
    summarise_gemm(view, page);
}
