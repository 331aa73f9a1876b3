/* The answer: verdict, bar, wall, fixes; and the views of what predict says. */
"use strict";

/* ---- the verdict ---- */

function show_error(error) {
  const box = $("error");
  box.hidden = !error || Boolean(error.cancelled);
  if (box.hidden) return;
  box.replaceChildren(make("b", {}, error.where ? error.where + ": " : ""), error.text || "",
    make("p", { class: "help" }, error.hint || ""));
  show_form();
}

function stack_bar(parts, limit) {
  const total = parts.reduce((sum, part) => sum + part.bytes, 0);
  const scale = 960 / Math.max(total, limit, 1);
  const svg = make("svg", { viewBox: "0 0 960 60", role: "img",
    "aria-label": `${gib(total)} by category against the limit of ${gib(limit)}` });
  let x = 0;
  parts.forEach((part, i) => {
    const width = part.bytes * scale;
    svg.append(make("rect", { x, y: 0, width, height: 34, class: "c" + i % 12 },
      make("title", {}, `${part.name} ${gib(part.bytes)}`)));
    x += width;
  });
  const at = Math.max(limit * scale - 1, 1);
  svg.append(make("path", { d: `M${at} 0V40`, class: "limit" }),
    make("text", { x: at, y: 56, "text-anchor": at > 480 ? "end" : "start" },
      `limit ${gib(limit)}`));
  return svg;
}

function fix_button(fix) {
  return make("li", {}, make("button", { type: "button", click: () =>
    set_keys(keys_of(fix.set)) }, fix.set,
  make("small", {}, make("span", { class: "t-" + fix.verdict }, fix.verdict),
    ` ${gib(fix.total_bytes)}; ${fix.kind}${fix.note ? ": " + fix.note : ""}`)));
}

function wall_text(title, wall) {
  return wall && make("p", {}, `${title}: `, make("b", {}, wall.buffer), `, ${gib(wall.bytes)}`,
    make("br"), make("code", {}, wall.formula));
}

function show_verdict() {
  const { memory, names } = state.result;
  const spread = memory.p99_bytes === memory.worst_bytes ? ""
    : `; expected ${gib(memory.expected_bytes)}, p99 ${gib(memory.p99_bytes)}, worst ` +
      gib(memory.worst_bytes);
  const categories = [...memory.categories];
  const fixes = memory.fixes || [];
  $("verdict").replaceChildren(...[
    make("p", { class: "big t-" + memory.verdict },
      `${memory.verdict}: ${gib(memory.total_bytes)} of ${gib(memory.limit_bytes)}`),
    make("p", { class: "about" }, `${names.model} on ${names.cluster}, stack ${names.stack}; ` +
      `margin ${gib(memory.margin_bytes)}; ${memory.sizing}, modelled${spread}`),
    stack_bar(categories, memory.limit_bytes),
    make("ul", { class: "legend" }, ...categories.map((part, i) => make("li", {},
      make("i", { class: "c" + i % 12 }), `${part.name} `, make("b", {}, gib(part.bytes))))),
    wall_text("First to cross the limit", memory.wall),
    wall_text("Largest at the peak", memory.largest),
    fixes.length ? make("h2", {}, "What makes it fit") : undefined,
    fixes.length ? make("ul", { class: "fixes" }, ...fixes.map(fix_button)) : undefined,
  ].filter(Boolean));
}

/* ---- views ---- */

/* What long work shows while it runs; `work` gets a place for its result. */
async function run_long(place, work) {
  const bar = make("progress", { max: 1, value: 0, "aria-label": "progress" });
  const row = make("div", { class: "row" }, bar, button("Cancel", () => long.cancel()));
  place.replaceChildren(row);
  long.onShare = (share) => { bar.value = share; };
  try {
    const shown = await work();
    place.replaceChildren(...shown);
  } catch (error) {
    place.replaceChildren(make("p", { role: "alert", class: "about" }, error.cancelled
      ? "Given up." : `${error.where ? error.where + ": " : ""}${error.text || error} ` +
        (error.hint || "")));
  }
}

function shown_value(key, value) {
  if (key.endsWith("_bytes")) return gib(value);
  if (/[^r]_s$/.test(key) && !key.includes("_per_")) return seconds(value);
  return typeof value === "number" ? +value.toPrecision(6) + "" : `${value}`;
}

function record_list(record) {
  return make("dl", {}, ...Object.entries(record)
    .filter(([, value]) => typeof value !== "object")
    .map(([key, value]) => make("div", {}, make("dt", {}, key.replace(/_bytes$/, "")),
      make("dd", {}, shown_value(key, value)))));
}

function view_memory(place) {
  const { memory } = state.result;
  const rows = [...memory.buffers].sort((a, b) => b.bytes - a.bytes);
  place.replaceChildren(
    make("h2", {}, "Buffers"),
    table([
      ["buffer", (b) => b.name], ["category", (b) => b.category],
      ["bytes", (b) => gib(b.bytes), true], ["expected", (b) => gib(b.expected_bytes), true],
      ["worst", (b) => gib(b.worst_bytes), true], ["copies", (b) => b.copies + "", true],
      ["shape", (b) => (b.shape || []).join(" x ")], ["dtype", (b) => b.dtype],
      ["formula", (b) => make("code", {}, b.formula || "")],
    ], rows),
    ...(memory.stages || []).length > 1 ? [make("h2", {}, "Pipeline stages"), table([
      ["stage", (s) => s.stage + "", true], ["state", (s) => gib(s.state_bytes), true],
      ["temp", (s) => gib(s.temp_bytes), true], ["total", (s) => gib(s.total_bytes), true],
    ], memory.stages)] : []);
}

/* Ops one after another along time, a row for each segment and phase. */
function timeline(ops) {
  const lanes = [...new Set(ops.map((op) => `${op.segment} ${op.phase}`))];
  const end = ops.reduce((sum, op) => sum + op.seconds, 0);
  const height = lanes.length * 26;
  const svg = make("svg", { viewBox: `0 0 960 ${height + 26}`, role: "img",
    "aria-label": "ops along time, one after another" });
  let now = 0;
  lanes.forEach((lane, i) => svg.append(make("text", { x: 0, y: i * 26 + 17 }, lane)));
  for (const op of ops) {
    const width = op.seconds / end * 820;
    svg.append(make("rect", { x: 140 + now / end * 820, y: 2 + 26 *
      lanes.indexOf(`${op.segment} ${op.phase}`), width, height: 22,
    class: "c" + [...op.kind].reduce((sum, c) => sum + c.charCodeAt(0), 0) % 12 },
    make("title", {}, `${op.name}, ${seconds(op.seconds)}`)));
    now += op.seconds;
  }
  svg.append(make("text", { x: 960, y: height + 18, "text-anchor": "end" }, seconds(end)));
  return svg;
}

function view_time(place) {
  const timed = (state.result.ops || []).filter((op) => op.seconds > 0);
  const { time } = state.result;
  place.replaceChildren(...time ? [make("h2", {}, "Step"), record_list(time)] : [],
    ...time && time.critical_path ? [make("h2", {}, "Critical path"), table([
      ["op", (op) => op.op], ["seconds", (op) => seconds(op.seconds), true],
    ], time.critical_path)] : [],
    make("h2", {}, "Ops of one rank"),
    make("p", { class: "about" }, "One layer of each kind, ops one after another: FLOPs over " +
      "peak and bytes over bandwidth. An order, no prediction."),
    ...timed.length ? [timeline(timed)] : [],
    table([
      ["op", (op) => op.name], ["segment", (op) => op.segment], ["phase", (op) => op.phase],
      ["layers", (op) => op.layers + "", true], ["rows", (op) => op.rows + "", true],
      ["FLOP", (op) => op.flop.toExponential(3), true], ["memory", (op) => gib(op.bytes), true],
      ["sent", (op) => gib(op.bytes_sent), true],
      ["at peak", (op) => seconds(op.seconds || 0), true],
    ], state.result.ops || []));
}

function view_more(place) {
  const shown = ["model", "routing", "padding", "intensity", "decode", "serving", "sync"];
  place.replaceChildren(...shown.filter((name) => state.result[name]).flatMap((name) =>
    [make("h2", {}, name), record_list(state.result[name])]),
  make("h2", {}, "Assumed"),
  make("ul", {}, ...(state.result.assumptions || []).concat(state.result.advice || [])
    .map((line) => make("li", {}, line)),
  ...(state.result.notes || []).map((note) =>
    make("li", {}, make("code", {}, note.key), `: ${note.text}`))));
}
