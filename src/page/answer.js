/* The answer: verdict, bar, wall, fixes; and the views of what predict says. */
"use strict";

/* ---- the verdict ---- */

function show_error(error) {
  const box = $("error");
  box.hidden = !error || Boolean(error.cancelled);
  for (const id of ["headline", "verdict", "rest"]) $(id).classList.toggle("stale", !box.hidden);
  if (box.hidden) return;
  box.replaceChildren(make("b", {}, error.where ? error.where + ": " : ""), error.text || "",
    make("p", { class: "help" }, error.hint || ""), ...error.line && state.text
      ? [button(`Go to line ${error.line}`, () => go_to(error.line, error.column))] : []);
  show_form();
}

function fix_button(fix) {
  return make("li", {}, make("button", { type: "button", click: () =>
    set_keys(keys_of(fix.set)) }, fix.set,
  make("small", {}, make("span", { class: "t-" + fix.verdict }, fix.verdict),
    ` ${gib(fix.total_bytes)}${fix.note ? "; " + fix.note : ""}` +
    (fix.tokens_per_s_per_device ? `; ${fix.tokens_per_s_per_device.toPrecision(4)} tokens/s ` +
      "a device" : ""))));
}

const COSTS = { free: "costs nothing", layout: "another layout",
  throughput: "costs throughput", numerics: "changes the result", devices: "more devices" };

/* By what they cost, as the planner orders them. */
const fix_groups = (fixes) => [...new Set(fixes.map((fix) => fix.kind))].flatMap((kind) =>
  [make("h3", {}, COSTS[kind] || kind), make("ul", { class: "fixes" },
    ...fixes.filter((fix) => fix.kind === kind).map(fix_button))]);

function wall_text(title, wall) {
  return wall && make("p", {}, `${title}: `, make("b", {}, wall.buffer), `, ${gib(wall.bytes)}`,
    make("br"), make("code", {}, wall.formula));
}

/* What the step takes, and of a served plan what its users wait. */
function time_lines() {
  const { time, names } = state.result;
  if (!time) return [];
  const { low_s, high_s } = time.interval || {};
  const by = names.profile ? ` by ${names.profile}` : "";
  const range = low_s ? `, ${seconds(low_s)} to ${seconds(high_s)}${by}` +
    (time.calibrated ? "" : " (uncalibrated)") : "";
  const further = time.tpot_s === undefined ? []
    : [", then ", make("b", {}, seconds(time.tpot_s)), " each"];
  const served = time.requests_per_s !== undefined ? [make("p", {}, "First token ",
    make("b", {}, seconds(time.ttft_s)), ...further,
    `; ${time.requests_per_s.toPrecision(3)} requests/s`)] : [];
  return [...served, make("p", {}, make("b", {}, seconds(time.step_s)), ` a step${range}; `,
    make("b", {}, time.tokens_per_s_per_device.toPrecision(4)), " tokens/s a device")];
}

function show_verdict() {
  const { memory, names } = state.result;
  const spread = memory.p99_bytes === memory.worst_bytes ? ""
    : `; expected ${gib(memory.expected_bytes)}, p99 ${gib(memory.p99_bytes)}, worst ` +
      gib(memory.worst_bytes);
  const categories = [...memory.categories];
  $("headline").className = "big t-" + memory.verdict;
  $("headline").textContent =
    `${memory.verdict}: ${gib(memory.total_bytes)} of ${gib(memory.limit_bytes)}`;
  $("verdict").replaceChildren(...[
    make("p", { class: "about" }, `${names.model} on ${names.cluster}, stack ${names.stack}; ` +
      `margin ${gib(memory.margin_bytes)}; ${memory.sizing === "worst" ? "worst case" : memory.sizing}, modelled${spread}`),
    fitted((width) => draw_stack(categories, memory.limit_bytes, width), $("verdict")),
    make("ul", { class: "legend" }, ...categories.map((part) => make("li", {},
      make("i", { class: "k-" + part.name }), `${part.name} `,
      make("b", {}, gib(part.bytes))))),
    wall_text("First to cross the limit", memory.wall),
    wall_text("Largest at the peak", memory.largest),
  ].filter(Boolean));
}

/* What takes longer to tell: seconds, and changes that would make the plan fit. */
function show_rest() {
  const fixes = state.result.memory.fixes || [];
  $("rest").replaceChildren(...time_lines(), ...fixes.length
    ? [make("h2", {}, "What makes it fit"), ...fix_groups(fixes)] : []);
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
  if (typeof value !== "number") return `${value}`;
  return Math.abs(value) < 1e6 ? +value.toPrecision(5) + ""
    : value.toExponential(3).replace("e+", "e");
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
  /* of static shapes all three are one number */
  const spread = [["expected", "expected_bytes"], ["worst", "worst_bytes"]]
    .filter(([, key]) => rows.some((b) => b[key] !== b.bytes))
    .map(([title, key]) => [title, (b) => gib(b[key]), true]);
  place.replaceChildren(
    make("h2", {}, "Buffers"),
    table([
      ["buffer", (b) => b.name], ["size", (b) => gib(b.bytes), true], ...spread,
      ["category", (b) => b.category], ["part", (b) => whole(b.segment)],
      ["at the peak", (b) => b.at_peak ? "yes" : ""], ["copies", (b) => b.copies + "", true],
      ["shape", (b) => whole((b.shape || []).join(" x "))], ["dtype", (b) => b.dtype],
      ["formula", (b) => make("code", {}, b.formula || "")],
    ], rows),
    ...(memory.stages || []).length > 1 ? [make("h2", {}, "Pipeline stages"), table([
      ["stage", (s) => s.stage + "", true], ["state", (s) => gib(s.state_bytes), true],
      ["temp", (s) => gib(s.temp_bytes), true], ["total", (s) => gib(s.total_bytes), true],
    ], memory.stages)] : []);
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
