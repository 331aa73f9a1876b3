/* Maps and curves of where memory runs out, whose points can be taken. */
"use strict";

/* ---- the frontier ---- */

function point_title(names, point) {
  const where = names.map((name, i) => `${name}=${point.values[i]}`).join(", ");
  return `${where}: ${point.verdict}${point.verdict === "invalid" ? ", " + point.why
    : `, ${gib(point.total_bytes)} of ${gib(point.limit_bytes)}`}` +
    (point.wall ? `, at ${point.wall}` : "");
}

/* More cells than this are drawn in runs of one verdict, without a shape for each. */
const MOST_SHAPES = 4096;

/* What takes a point as the plan, and says it. */
const taker = (names, point) => ({ text: point_title(names, point),
  choose: () => set_keys(Object.fromEntries(names.map((name, i) => [name, point.values[i]]))) });

/* Shapes that make their point the plan by keys: one is a stop of the tabulator, arrows go on
 * from it; `across` points stand on a line. */
function by_keys(shapes, names, across) {
  const nodes = shapes.nodes();
  const go = (to) => {
    if (!nodes[to]) return;
    nodes.forEach((node, i) => node.setAttribute("tabindex", i === to ? 0 : -1));
    nodes[to].focus();
  };
  shapes.attr("role", "button").attr("tabindex", (_, i) => (i ? -1 : 0))
    .attr("aria-label", (point) => point_title(names, point))
    .attr("data-verdict", (point) => point.verdict)
    .each(function (point, i) {
      const { text, choose } = taker(names, point);
      const step = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: across, ArrowUp: -across };
      this.addEventListener("keydown", (event) => {
        if (event.key in step) go(i + step[event.key]);
        else if (event.key === "Enter" || event.key === " ") choose();
        else return;
        event.preventDefault();
      });
      this.addEventListener("focus", () => {
        const box = this.getBoundingClientRect();
        show_tip(text, box.right, box.bottom);
      });
      this.addEventListener("blur", () => show_tip());
    });
}

/* ---- a map of two keys ---- */

/* Neighbours on a row that have one verdict, as one cell. */
function runs_of(points, across) {
  const runs = [];
  points.forEach((point, i) => {
    const last = runs[runs.length - 1];
    if (last && i % across && last.verdict === point.verdict) last.n++;
    else runs.push({ verdict: point.verdict, at: i, n: 1 });
  });
  return runs;
}

function draw_cells(svg, names, points, x, y) {
  const across = x.domain().length;
  const few = points.length <= MOST_SHAPES;
  const cells = few ? points.map((point, i) => ({ ...point, at: i, n: 1 }))
    : runs_of(points, across);
  const shapes = svg.append("g").selectAll("rect").data(cells).enter().append("rect")
    .attr("class", (cell) => "point v-" + cell.verdict)
    .attr("x", (cell) => x(x.domain()[cell.at % across]))
    .attr("y", (cell) => y(y.domain()[Math.floor(cell.at / across)]))
    .attr("width", (cell) => (cell.n - 1) * x.step() + x.bandwidth())
    .attr("height", y.bandwidth());
  if (few) by_keys(shapes, names, across);
  if (!few || x.step() < 34 || y.step() < 14) return;
  svg.append("g").selectAll("text").data(points.filter((p) => p.verdict !== "invalid")).enter()
    .append("text").attr("class", "in").attr("text-anchor", "middle")
    .attr("x", (p) => x(p.values[1]) + x.bandwidth() / 2)
    .attr("y", (p) => y(p.values[0]) + y.bandwidth() / 2 + 4).text((p) => in_gib(p.total_bytes));
}

function draw_map(names, points, width) {
  const values = (i) => [...new Set(points.map((p) => p.values[i]))];
  const [rows, columns] = [values(0), values(1)];
  const left = 16 + 7 * Math.max(...rows.map((row) => row.length));
  const tall = Math.min(34, Math.max(3, 560 / rows.length)) * rows.length;
  const gap = columns.length > 200 ? 0 : 0.03;
  const x = vendor.scaleBand().domain(columns).range([left, width - 4]).paddingInner(gap);
  const y = vendor.scaleBand().domain(rows).range([0, tall])
    .paddingInner(rows.length > 100 ? 0 : 0.05);
  const svg = canvas(width, tall + 76, { role: "group",
    "aria-label": `memory over ${names.join(" and ")}` });
  draw_cells(svg, names, points, x, y);
  put_axis(svg, vendor.axisBottom(x).tickSize(0).tickPadding(6), 0, tall);
  put_axis(svg, vendor.axisLeft(y).tickSize(0).tickPadding(6), left, 0, 14);
  put_caption(svg, [`${names[0]} down`, `${names[1]} across`, "GiB of a rank"], width,
    tall + 40);
  return hover(svg, (px, py) => {
    const [column, row] = [Math.floor((px - left) / x.step()), Math.floor(py / y.step())];
    const point = columns[column] && rows[row] && points[row * columns.length + column];
    return point && taker(names, point);
  });
}

/* ---- curves over the last key, one for each value of the other ---- */

/* Names at the curves' ends; those that end in one place have one. */
function draw_names(svg, ends, x) {
  const labels = [];
  for (const [name, at] of ends.sort((a, b) => a[1] - b[1])) {
    const last = labels[labels.length - 1];
    if (last && at - last.at < 12) last.names.push(name);
    else labels.push({ at, names: [name] });
  }
  svg.append("g").selectAll("text").data(labels).enter().append("text").attr("x", x)
    .attr("y", (label) => label.at + 4).text((label) => label.names.join(", "));
}

function draw_lines(svg, curves, x, y, label) {
  const valid = (p) => p.verdict !== "invalid";
  const along = (of) => vendor.line().defined(valid).x((p) => x(p.values[p.values.length - 1]))
    .y((p) => y(of(p) / GIB));
  const ends = [];
  for (const [name, points] of curves) {
    svg.append("path").attr("class", "curve").attr("d", along((p) => p.total_bytes)(points));
    const last = points.filter(valid).pop();
    if (label && last) ends.push([name, y(last.total_bytes / GIB)]);
  }
  draw_names(svg, ends, x.range()[1] + 10);
  const most = [...curves.values()].reduce((a, b) => b.filter(valid).length >
    a.filter(valid).length ? b : a);
  svg.append("path").attr("class", "limit").attr("d", along((p) => p.limit_bytes)(most));
  const limit = vendor.max(most.filter(valid), (p) => p.limit_bytes) || 0;
  svg.append("text").attr("x", x.range()[0] + 6).attr("y", y(limit / GIB) - 5)
    .text(`limit ${gib(limit)}`);
}

function draw_curves(names, points, width) {
  const key = names.length - 1, tall = 320;
  const curves = vendor.group(points, (p) => (key ? p.values[0] : ""));
  const top = vendor.max(points, (p) => Math.max(p.total_bytes, p.limit_bytes)) / GIB || 1;
  const x = vendor.scalePoint().domain([...new Set(points.map((p) => p.values[key]))])
    .range([52, width - (key ? 64 : 16)]).padding(0.3);
  const y = vendor.scaleLinear().domain([0, top * 1.05]).nice().range([tall, 12]);
  const svg = canvas(width, tall + 76, { role: "group",
    "aria-label": `memory over ${names.join(" and ")}` });
  put_axis(svg, vendor.axisBottom(x).tickPadding(6), 0, tall);
  put_axis(svg, vendor.axisLeft(y).ticks(6), 52, 0);
  draw_lines(svg, curves, x, y, key);
  const place = (p) => [x(p.values[key]), p.verdict === "invalid" ? tall
    : y(p.total_bytes / GIB)];
  if (points.length <= MOST_SHAPES)
    by_keys(svg.append("g").selectAll("circle").data(points).enter().append("circle")
      .attr("class", (p) => "point v-" + p.verdict).attr("cx", (p) => place(p)[0])
      .attr("cy", (p) => place(p)[1]).attr("r", x.step() > 12 ? 4.5 : 2),
    names, x.domain().length);
  put_caption(svg, [`${names[key]} across`, ...key ? [`a curve for each ${names[0]}`] : [],
    "GiB of a rank"], width, tall + 42);
  const stops = x.domain().map((value) => x(value));
  return hover(svg, (px, py) => {
    const value = x.domain()[vendor.bisectCenter(stops, px)];
    const far = (p) => Math.abs(place(p)[1] - py);
    const near = [...curves.values()].map((list) => list.find((p) => p.values[key] === value))
      .filter(Boolean).sort((a, b) => far(a) - far(b))[0];
    return near && taker(names, near);
  });
}

const frontier_csv = (names, points) => [[...names, "verdict", "total_bytes", "limit_bytes",
  "wall", "why"], ...points.map((p) => [...p.values, p.verdict, p.total_bytes, p.limit_bytes,
  p.wall, p.why])].map((row) => row.map((cell) => /[",\n]/.test(cell + "")
  ? `"${(cell + "").replace(/"/g, '""')}"` : cell).join(",")).join("\n") + "\n";

async function sweep(overs) {
  const names = overs.map((over) => over.split("=")[0]);
  const points = JSON.parse(await long.ask("frontier", overs.join("\n")));
  const draw = names.length === 2 && shape === "map" ? draw_map : draw_curves;
  const chart = fitted((width) => draw(names, points, width));
  const took = `${points.length} points in ${long.ms.toFixed(0)} ms. `;
  return [make("p", { class: "about" }, took +
    "Choose one to make it the plan; hover or focus for its numbers."), chart,
  make("div", { class: "row" },
    button("CSV", () => download("frontier.csv", "text/csv", frontier_csv(names, points))),
    button("SVG", () => download("frontier.svg", "image/svg+xml", svg_file(chart.firstChild))))];
}

let shape = "map";
const swept = ["parallel.ep=1..64*2", "workload.micro_batch=1..16"];

function view_frontier(place) {
  const inputs = swept.map((text, i) => make("input", { value: text, size: 34,
    spellcheck: "false", "aria-label": `axis ${i + 1}`, change: () => {
      swept[i] = inputs[i].value.trim();
    } }));
  const chart = make("div", { id: "chart" });
  const kind = make("select", { "aria-label": "drawn as", id: "shape", change: () => {
    shape = kind.value;
    run();
  } }, make("option", { value: "map" }, "as a map"),
  make("option", { value: "curves" }, "as curves"));
  kind.value = shape;
  const run = () => run_long(chart, () => sweep(swept.filter(Boolean)));
  place.replaceChildren(make("h2", {}, "Where memory runs out"),
    make("p", { class: "about" }, "A key's values: 1..32, 1..64*2, 0..1+0.1, a,b,c. Two keys " +
      "make a map, one a curve; leave one empty."),
    make("div", { class: "row" }, ...inputs, kind, button("Draw", run, { id: "draw" })), chart);
  run();
}
