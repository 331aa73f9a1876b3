/* Searches for layouts, and two plans beside each other. */
"use strict";

/* ---- search and compare ---- */

function hit_table(hits) {
  const keys = Object.keys(hits[0].set).filter((key) =>
    hits.some((hit) => hit.set[key] !== hits[0].set[key]));
  const common = Object.entries(hits[0].set).filter(([key]) => !keys.includes(key));
  return [table([
    ["", (hit) => button("Use", () => set_keys(hit.set), { "aria-label": "use this layout" })],
    ...keys.map((key) => [key.split(".").pop(), (hit) => hit.set[key] + "",
      hits.every((hit) => !isNaN(hit.set[key]))]),
    ["verdict", (hit) => make("span", { class: "t-" + hit.verdict }, hit.verdict)],
    ["total", (hit) => gib(hit.total_bytes), true],
    ...hits[0].serving ? [["first token", (hit) => seconds(hit.serving.ttft_s), true],
      ["per token", ({ serving }) => serving.tpot_s ? seconds(serving.tpot_s) : "", true]] : [],
    ["tokens/s a device", (hit) => (1 / hit.device_s_per_token).toFixed(0), true],
    ...hits.some((hit) => hit.error) ? [["give or take", (hit) => hit.error
      ? `${(100 * hit.error).toFixed(0)} %${hit.outside ? " *" : ""}` : "", true]] : [],
    ["loses by", (hit) => whole(hit.loses_by || "")],
  ], hits), make("p", { class: "about" }, "all: " + common.map(([key, value]) =>
    `${key.split(".").pop()}=${value}`).join(" ") + (hits.some((hit) => hit.outside)
    ? "; * outside the runs that the profile was fitted to" : ""))];
}

/* Pairs of layouts of two pools. */
function pair_table(hits) {
  return [table([
    ["", (hit) => button("Use", () => set_keys(hit.set), { "aria-label": "use this pair" })],
    ["servers that prefill + that decode", (hit) => whole(hit.layout)],
    ["devices", (hit) => hit.devices + "", true],
    ["first token", (hit) => seconds(hit.ttft_s), true],
    ["per token", (hit) => seconds(hit.tpot_s), true],
    ["limited by", (hit) => hit.limited_by],
    ["tokens/s a device", (hit) => hit.tokens_per_s_per_device.toFixed(0), true],
    ["prefill", (hit) => gib(hit.prefill.total_bytes), true],
    ["decode", (hit) => gib(hit.decode.total_bytes), true],
  ], hits)];
}

/* Pairs by tokens/s and the time of a further token, their numbers of servers at the marks. */
function draw_pairs(hits, width) {
  const tall = 300, ms = (hit) => 1e3 * hit.tpot_s, rate = (hit) => hit.tokens_per_s_per_device;
  const x = vendor.scaleLinear().domain([0, 1.05 * vendor.max(hits, ms)]).range([52, width - 40]);
  const y = vendor.scaleLinear().domain([0, 1.1 * vendor.max(hits, rate)]).range([tall, 12]);
  const svg = canvas(width, tall + 60, { role: "img",
    "aria-label": "tokens/s a device against the time of a further token" });
  put_axis(svg, vendor.axisBottom(x).ticks(Math.max(2, width / 110)), 0, tall);
  put_axis(svg, vendor.axisLeft(y).ticks(6), 52, 0);
  const place = (hit) => [x(ms(hit)), y(rate(hit))];
  svg.selectAll("circle").data(hits).enter().append("circle").attr("class", "point v-fits")
    .attr("cx", (hit) => place(hit)[0]).attr("cy", (hit) => place(hit)[1]).attr("r", 4.5);
  const numbers = (hit) => `${hit.prefill.deployments}+${hit.decode.deployments}`;
  const told = []; /* marks whose numbers lie on no other's */
  for (const hit of hits) {
    const [px, py] = place(hit);
    if (told.every(([, ox, oy]) => Math.abs(px - ox) > 36 || Math.abs(py - oy) > 13))
      told.push([hit, px, py]);
  }
  svg.append("g").selectAll("text").data(told).enter().append("text").attr("text-anchor", "middle")
    .attr("x", ([, px]) => px).attr("y", ([, , py]) => py - 8).text(([hit]) => numbers(hit));
  put_caption(svg, ["tokens/s a device over ms per further token",
    "servers that prefill + that decode at the marks"], width, tall + 42);
  return hover(svg, (px, py) => {
    const far = (hit) => Math.hypot(place(hit)[0] - px, place(hit)[1] - py);
    const near = [...hits].sort((a, b) => far(a) - far(b))[0];
    return far(near) < 20 && { text: `${near.layout}: ${rate(near).toFixed(0)} tokens/s a ` +
      `device, ${seconds(near.tpot_s)} per token, first after ${seconds(near.ttft_s)}`,
    choose: () => set_keys(near.set) };
  });
}

function pairs_found(found) {
  const missed = found.missed ? [make("p", {}, `No layout of servers that ${found.missed.pool} ` +
    "fits and keeps its limit; the least memory found: " + gib(found.missed.total_bytes))] : [];
  return [make("p", { class: "about" }, `${found.pairs} pairs of layouts with numbers of ` +
    `servers in ${(long.ms / 1000).toFixed(1)} s, of ${found.prefill.stay} layouts that ` +
    `prefill and ${found.decode.stay} that decode (unvalidated). tokens/s: per device of both.`),
  ...missed,
  ...found.best.length ? [make("h2", {}, "Best first"), ...pair_table(found.best)] : [],
  ...found.pareto.length ? [make("h2", {}, "Sooner for fewer tokens/s (Pareto set)"),
    fitted((width) => draw_pairs(found.pareto, width)),
    ...pair_table(found.pareto)] : []];
}

async function search(lines) {
  const found = JSON.parse(await long.ask("search", lines.join("\n")));
  if (found.pairs !== undefined)
    return pairs_found(found);
  const missed = found.nearest ? [make("p", {}, "Nothing fits; the least memory found: " +
    gib(found.nearest.total_bytes))] : [];
  return [make("p", { class: "about" }, `${found.combinations} combinations in ` +
    `${(long.ms / 1000).toFixed(1)} s: ${found.refused} refused, ` +
    `${found.too_large} too large. ` +
    "tokens/s of the expected fullest rank by the profile; ranked by the slow end of what " +
    "each may be off." + (found.marginal_left_out ? ` Left out: ${found.marginal_left_out} ` +
    "marginal, as good as these or better; a line \u201cmarginal\u201d lists them." : "")),
  ...missed,
  ...found.best.length ? [make("h2", {}, "Fastest first"), ...hit_table(found.best)] : [],
  ...found.pareto.length ? [make("h2", {}, "Less memory for more time (Pareto set)"),
    ...hit_table(found.pareto)] : []];
}

const wishes = { lines: "tp=1\ncp=1" };

function view_search(place) {
  const lines = make("textarea", { rows: 4, cols: 34, spellcheck: "false",
    "aria-label": "keys to keep", change: () => { wishes.lines = lines.value; } });
  lines.value = wishes.lines;
  const found = make("div", { id: "found" });
  const run = () => run_long(found, () =>
    search(lines.value.split("\n").map((line) => line.trim()).filter(Boolean)));
  place.replaceChildren(make("h2", {}, "Layouts that fit this cluster"),
    make("p", { class: "about" }, "Keys to keep, one on a line: tp=1, path=deepep. With " +
      "\u201cover\u201d in front, the values to try: over ep=1..64*2. A line " +
      "\u201cmarginal\u201d lists what is within the stack\u2019s error of the limit, too."),
    lines, make("div", { class: "row" }, button("Search", run, { id: "search" })), found);
}

const difference = (bytes) => (bytes > 0 ? "+" : "") + gib(bytes);

/* The two answers beside each other; what neither says is left out. */
const SIDES = [["verdict", "memory.verdict", (word) => make("span", { class: "t-" + word },
  word)], ["memory", "memory.total_bytes", gib], ["limit", "memory.limit_bytes", gib],
["margin", "memory.margin_bytes", gib], ["step", "time.step_s", seconds],
["step, slow end", "time.interval.high_s", seconds],
["tokens/s a device", "time.tokens_per_s_per_device", (rate) => rate.toPrecision(4)],
["first token", "time.ttft_s", seconds], ["per token", "time.tpot_s", seconds],
["requests/s", "time.requests_per_s", (rate) => rate.toPrecision(3)]];

function side_by_side(a, b) {
  const told = ([, name, text], result) => {
    const value = member(result, name);
    return value === undefined ? "" : text(value);
  };
  return table([["", (row) => row[0]], ["A", (row) => told(row, a), true],
    ["B", (row) => told(row, b), true]], SIDES.filter((row) => told(row, a) || told(row, b)));
}

async function compare(held) {
  const sets = Object.entries(held.sets).map(([key, value]) => `${key}=${value}`).join("\n");
  const found = JSON.parse(await long.ask("compare", (sets || "#") + "\n\n" + held.text));
  const rows = (list) => list.filter((row) => row.bytes_difference).slice(0, 40);
  const columns = [["", (row) => row.name], ["A", (row) => gib(row.bytes_a), true],
    ["B", (row) => gib(row.bytes_b), true],
    ["B - A", (row) => difference(row.bytes_difference), true]];
  return [make("p", { class: "big" }, `${difference(found.memory.bytes_difference)}: A ` +
    `${found.a.verdict}, B ${found.b.verdict}`),
  side_by_side(held.result, state.result), make("h2", {}, "Keys that differ"),
  table([["key", (row) => row.key], ["A", (row) => row.a], ["B", (row) => row.b]],
    found.keys.filter((row) => row.key !== "name")),
  make("h2", {}, "Memory by category"), table(columns, rows([found.memory])
    .concat(rows(found.categories))),
  make("h2", {}, "Memory by buffer"), table(columns, rows(found.buffers))];
}

function view_compare(place) {
  const result = make("div", { id: "compared" });
  place.replaceChildren(make("h2", {}, "Two plans"),
    make("p", { class: "about" }, state.held ? "B is the plan on this page, A the one held." :
      "Hold this plan as A, change keys, and see what that changes."),
    make("div", { class: "row" }, button("Hold this plan as A", () => {
      state.held = { text: state.text, sets: { ...state.sets }, result: state.result };
      view_compare(place);
    }, { id: "hold" })), result);
  if (state.held) run_long(result, () => compare(state.held));
}
