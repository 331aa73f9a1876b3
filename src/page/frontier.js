/* Maps and curves of where memory runs out, whose points can be taken. */
"use strict";

/* ---- the frontier ---- */

function point_title(names, point) {
  const where = names.map((name, i) => `${name}=${point.values[i]}`).join(", ");
  return `${where}: ${point.verdict}${point.verdict === "invalid" ? ", " + point.why
    : `, ${gib(point.total_bytes)} of ${gib(point.limit_bytes)}`}` +
    (point.wall ? `, at ${point.wall}` : "");
}

/* A shape that makes its point the plan, by mouse and by keyboard. */
function point_shape(names, point, attributes) {
  const choose = () => set_keys(Object.fromEntries(names.map((name, i) =>
    [name, point.values[i]])));
  const label = point_title(names, point);
  return make("rect", { ...attributes, class: "v-" + point.verdict, role: "button",
    tabindex: 0, "aria-label": label, click: choose, keydown: (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      choose();
    } }, make("title", {}, label));
}

function draw_curve(names, points) {
  const most = Math.max(...points.map((p) => Math.max(p.total_bytes, p.limit_bytes)));
  const top = most * 1.1 || 1;
  const step = 960 / points.length;
  const svg = make("svg", { viewBox: "0 0 960 300", role: "group",
    "aria-label": `memory over ${names[0]}` });
  points.forEach((point, i) => {
    const height = point.verdict === "invalid" ? 5 : point.total_bytes / top * 260;
    svg.append(point_shape(names, point, { x: i * step + step * 0.07, y: 262 - height,
      width: step * 0.86, height }));
    const at = { x: (i + 0.5) * step, "text-anchor": "middle" };
    if (points.length <= 32) svg.append(make("text", { ...at, y: 280 }, point.values[0]));
    if (points.length <= 24 && point.verdict !== "invalid")
      svg.append(make("text", { ...at, y: 258 - height },
        (point.total_bytes / GIB).toFixed(point.total_bytes < 100 * GIB ? 1 : 0)));
  });
  const limit = Math.max(...points.map((p) => p.limit_bytes));
  const y = 262 - limit / top * 260;
  svg.append(make("path", { d: `M0 ${y}H960`, class: "limit" }),
    make("text", { x: 2, y: y - 5 }, `limit ${gib(limit)}`),
    make("text", { x: 480, y: 297, "text-anchor": "middle" }, `${names[0]}; GiB of a rank`));
  return svg;
}

function draw_map(names, points) {
  const rows = [...new Set(points.map((p) => p.values[0]))];
  const columns = [...new Set(points.map((p) => p.values[1]))];
  const width = 880 / columns.length, height = Math.min(34, Math.max(14, 500 / rows.length));
  const svg = make("svg", { viewBox: `0 0 960 ${rows.length * height + 48}`, role: "group",
    "aria-label": `memory over ${names.join(" and ")}` });
  for (const point of points) {
    const x = 78 + columns.indexOf(point.values[1]) * width;
    const y = rows.indexOf(point.values[0]) * height;
    svg.append(point_shape(names, point, { x, y, width: width - 1.5, height: height - 1.5 }));
    if (width > 34 && point.verdict !== "invalid") svg.append(make("text", { x: x + width / 2,
      y: y + height / 2 + 4, "text-anchor": "middle", class: "in" },
    (point.total_bytes / GIB).toFixed(point.total_bytes < 100 * GIB ? 1 : 0)));
  }
  rows.forEach((row, i) => svg.append(make("text", { x: 70, y: (i + 0.5) * height + 4,
    "text-anchor": "end" }, row)));
  columns.forEach((column, i) => { if (columns.length <= 32) svg.append(make("text",
    { x: 78 + (i + 0.5) * width, y: rows.length * height + 16, "text-anchor": "middle" },
    column)); });
  svg.append(make("text", { x: 0, y: rows.length * height + 38 },
    `${names[0]} down, ${names[1]} across; GiB of a rank`));
  return svg;
}

const frontier_csv = (names, points) => [[...names, "verdict", "total_bytes", "limit_bytes",
  "wall", "why"], ...points.map((p) => [...p.values, p.verdict, p.total_bytes, p.limit_bytes,
  p.wall, p.why])].map((row) => row.map((cell) => /[",\n]/.test(cell + "")
  ? `"${(cell + "").replace(/"/g, '""')}"` : cell).join(",")).join("\n") + "\n";

async function sweep(overs) {
  const names = overs.map((over) => over.split("=")[0]);
  const points = JSON.parse(await long.ask("frontier", overs.join("\n")));
  const svg = names.length === 2 ? draw_map(names, points) : draw_curve(names, points);
  const took = `${points.length} points in ${long.ms.toFixed(0)} ms. `;
  return [make("p", { class: "about" }, took +
    "Choose one to make it the plan; hover or focus for its numbers."), svg,
  make("div", { class: "row" },
    button("CSV", () => download("frontier.csv", "text/csv", frontier_csv(names, points))),
    button("SVG", () => download("frontier.svg", "image/svg+xml", svg_file(svg))))];
}

const swept = ["parallel.ep=1..64*2", "workload.micro_batch=1..16"];

function view_frontier(place) {
  const inputs = swept.map((text, i) => make("input", { value: text, size: 34,
    spellcheck: "false", "aria-label": `axis ${i + 1}`, change: () => {
      swept[i] = inputs[i].value.trim();
    } }));
  const chart = make("div", { id: "chart" });
  const run = () => run_long(chart, () => sweep(swept.filter(Boolean)));
  place.replaceChildren(make("h2", {}, "Where memory runs out"),
    make("p", { class: "about" }, "A key's values: 1..32, 1..64*2, 0..1+0.1, a,b,c. Two keys " +
      "make a map, one a curve; leave one empty."),
    make("div", { class: "row" }, ...inputs, button("Draw", run, { id: "draw" })), chart);
  run();
}
