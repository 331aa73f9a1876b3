/* The step's time: its record, what it is made of, and a layer and the step along time, as the
 * planner played them. */
"use strict";

/* ---- figures ---- */

const legend = (kinds) => make("ul", { class: "legend" }, ...kinds.map(([kind, text]) =>
  make("li", {}, make("i", { class: kind }), text)));

const PHASES = { forward: "q-forward", backward: "q-backward",
  "weight gradients": "q-weight" };

/* What a stage's span is: one of the phases, or done once a step. */
const phase_of = (span) => span.stream !== "tasks" ? ["q-once", "once a step"]
  : [PHASES[span.op] || PHASES[span.phase] || "q-once",
    PHASES[span.op] ? span.op : span.phase || "once a step"];

function layer_figure(layer) {
  const parts = [...new Set(layer.spans.map((span) => span.part))];
  return [fitted((width) => draw_spans(`one ${layer.of} along time`, layer.spans,
    layer.end_s, (span) => ({ lane: span.stream, kind: "p-" + span.part,
      title: span.phase ? `${span.op}, ${span.phase}` : span.op }), width)),
  legend(parts.map((part) => ["p-" + part, part]))];
}

function step_figure(step) {
  const kinds = new Map(step.spans.map(phase_of));
  return [fitted((width) => draw_spans("the step along time", step.spans, step.end_s,
    (span) => ({ lane: `stage ${span.stage}${span.stream === "tasks" ? ""
      : ", " + span.stream}`, kind: phase_of(span)[0],
    title: span.op + (span.stream === "tasks" ? `, micro-batch ${span.micro_batch + 1}` : "")
    }), width)), legend([...kinds])];
}

/* ---- the view ---- */

function figure(title, about, parts, name) {
  return parts && [make("h2", {}, title), make("p", { class: "about" }, about), ...parts,
    make("div", { class: "row" }, button("SVG", () =>
      download(name + ".svg", "image/svg+xml", svg_file(parts[0].firstChild))))];
}

async function show_timelines(place) {
  const asked = state.result;
  const { layer, step } = JSON.parse(await full.ask("write", "timeline.json"));
  if (asked !== state.result) return; /* another plan by now */
  place.replaceChildren(...layer ? figure(`One ${layer.of} along time`,
    `${seconds(layer.end_s)}, on the expected fullest rank: what a stream does beside ` +
    "another is overlapped.", layer_figure(layer), "layer") : [],
  ...step ? figure("The step along time", `${seconds(step.end_s)}: what a rank of each ` +
    "pipeline stage is at.", step_figure(step), "step") : [],
  make("div", { class: "row" }, button("Trace for ui.perfetto.dev", async () =>
    download("trace.json", "application/json", await full.ask("write", "trace.json")))));
}

function share_table(title, rows, name, whole) {
  return rows && rows.length ? [make("h2", {}, title), table([
    [name, (row) => row[name]], ["seconds", (row) => seconds(row.seconds), true],
    ["% of the step", (row) => (100 * row.seconds / whole).toFixed(1), true]], rows)] : [];
}

function view_time(place) {
  const { time, ops } = state.result;
  if (!time) {
    place.replaceChildren(make("p", { class: "about" }, "No time is told of this plan."));
    return;
  }
  const timelines = make("div", { id: "timelines" },
    make("p", { class: "about" }, "playing the step"));
  place.replaceChildren(make("h2", {}, "Step"), make("p", { class: "about" },
    (time.interval || {}).calibration || ""), record_list(time), timelines,
  ...share_table("By what", time.categories, "name", time.step_s),
  ...share_table("Critical path", time.critical_path, "op", time.step_s),
  make("details", {}, make("summary", {}, `${(ops || []).length} ops of one rank, a layer of ` +
    "each kind"), table([
    ["op", (op) => op.name], ["segment", (op) => op.segment], ["phase", (op) => op.phase],
    ["layers", (op) => op.layers + "", true], ["rows", (op) => op.rows + "", true],
    ["FLOP", (op) => op.flop.toExponential(3), true], ["memory", (op) => gib(op.bytes), true],
    ["sent", (op) => gib(op.bytes_sent), true],
    ["alone", (op) => op.seconds ? seconds(op.seconds) : "", true],
  ], ops || [])));
  show_timelines(timelines).catch((error) => {
    if (!error.cancelled) timelines.textContent = error.text || String(error);
  });
}
