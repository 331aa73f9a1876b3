/* Charts, by d3: places that are as wide as their page lets them, what the pointer is at, memory
 * by category, spans along time. Maps and curves of sweeps stand in frontier.js. */
"use strict";

/* ---- what every chart has ---- */

/* A place that keeps its chart as wide as itself; `draw` makes it for a width in pixels. */
function fitted(draw, place = $("view")) {
  show_tip(); /* what it told of may be gone */
  const first = Math.max(300, Math.round(place.clientWidth) || 960);
  const at = make("div", { class: "chart" }, draw(first).node());
  let drawn = first;
  new ResizeObserver(() => {
    const width = Math.round(at.clientWidth);
    if (width < 100 || width === drawn) return;
    drawn = width;
    at.replaceChildren(draw(width).node());
  }).observe(at);
  return at;
}

const canvas = (width, height, attributes) =>
  vendor.select(make("svg", { viewBox: `0 0 ${width} ${height}`, ...attributes }));

const tip = make("div", { class: "tip", hidden: "hidden", "aria-hidden": "true" });
document.body.append(tip);

/* Says `text` beside a place of the window; nothing without one. */
function show_tip(text, x, y) {
  tip.hidden = !text;
  if (!text) return;
  tip.textContent = text;
  tip.style.left = Math.max(4, Math.min(x + 12, innerWidth - tip.offsetWidth - 8)) + "px";
  const above = y + 18 + tip.offsetHeight > innerHeight;
  tip.style.top = (above ? y - tip.offsetHeight - 8 : y + 18) + "px";
}

/* `find` gives, for a place in the chart, {text, choose} or nothing. */
function hover(svg, find) {
  const node = svg.node();
  const found = (event) => find(...vendor.clientPoint(node, event));
  const tell = (event) => {
    const at = found(event);
    node.style.cursor = at && at.choose ? "pointer" : "";
    show_tip(at && at.text, event.clientX, event.clientY);
  };
  node.addEventListener("pointermove", tell);
  node.addEventListener("pointerdown", tell);
  node.addEventListener("pointerleave", () => show_tip());
  node.addEventListener("click", (event) => {
    const at = found(event);
    show_tip();
    if (at && at.choose) at.choose();
  });
  return svg;
}

/* An axis at a place; its labels are at least `least` pixels apart where its scale has steps. */
function put_axis(svg, axis, x, y, least = 44) {
  const scale = axis.scale();
  if (scale.step) {
    const every = Math.max(1, Math.ceil(least / scale.step()));
    axis.tickValues(scale.domain().filter((_, i) => i % every === 0)).tickSizeOuter(0);
  }
  return svg.append("g").attr("class", "axes").attr("transform", `translate(${x},${y})`)
    .call(axis);
}

/* What a chart's axes are, on as many lines as it takes. */
function put_caption(svg, parts, width, y) {
  const lines = width < 520 ? parts : [parts.join("; ")];
  svg.append("g").selectAll("text").data(lines).enter().append("text").attr("x", 0)
    .attr("y", (_, i) => y + 15 * i).text((line) => line);
}

const in_gib = (bytes) => (bytes / GIB).toFixed(bytes < 100 * GIB ? 1 : 0);

/* ---- memory by category against the limit ---- */

function draw_stack(parts, limit, width) {
  const total = parts.reduce((sum, part) => sum + part.bytes, 0);
  const x = vendor.scaleLinear().domain([0, Math.max(total, limit, 1) / GIB])
    .range([1, width - 2]);
  const svg = canvas(width, 76, { role: "img",
    "aria-label": `${gib(total)} by category against the limit of ${gib(limit)}` });
  let from = 0;
  const laid = parts.map((part) => ({ ...part, from, to: from += part.bytes }));
  svg.selectAll("rect").data(laid).enter().append("rect").attr("y", 18).attr("height", 32)
    .attr("x", (d) => x(d.from / GIB)).attr("class", (d) => "k-" + d.name)
    .attr("width", (d) => x(d.to / GIB) - x(d.from / GIB));
  put_axis(svg, vendor.axisBottom(x).ticks(Math.max(2, width / 90))
    .tickFormat((value) => value + " GiB"), 0, 51).select("text").attr("text-anchor", "start");
  const at = x(limit / GIB);
  svg.append("path").attr("class", "limit").attr("d", `M${at} 14V54`);
  svg.append("text").attr("x", at).attr("y", 11).text(`limit ${gib(limit)}`)
    .attr("text-anchor", at > width / 2 ? "end" : "start");
  return hover(svg, (px) => {
    const bytes = x.invert(px) * GIB;
    const part = laid.find((one) => bytes >= one.from && bytes < one.to);
    return part && { text: `${part.name} ${gib(part.bytes)}, ` +
      `${(100 * part.bytes / limit).toFixed(1)} % of the limit` };
  });
}

/* ---- spans along time ---- */

const LANE = 24;

/* A row for each lane; `of` gives a span's lane, class and title. */
function draw_spans(label, spans, end, of, width) {
  const told = spans.map((span) => ({ ...span, ...of(span) }));
  const lanes = [...new Set(told.map((span) => span.lane))];
  const names = Math.min(width * 0.34, 14 + 6.6 * Math.max(...lanes.map((one) => one.length)));
  const x = vendor.scaleLinear().domain([0, end]).range([names, width - 14]);
  const y = vendor.scaleBand().domain(lanes).range([0, lanes.length * LANE])
    .paddingInner(0.15).paddingOuter(0.08);
  const svg = canvas(width, lanes.length * LANE + 24, { role: "img", "aria-label": label });
  svg.selectAll("rect").data(told).enter().append("rect").attr("class", (d) => d.kind)
    .attr("x", (d) => x(d.begin_s).toFixed(2)).attr("y", (d) => y(d.lane))
    .attr("height", y.bandwidth())
    .attr("width", (d) => Math.max(x(d.end_s) - x(d.begin_s), 0.2).toFixed(2));
  put_axis(svg, vendor.axisLeft(y).tickSize(0), names, 0, 0).select(".domain").remove();
  put_axis(svg, vendor.axisBottom(x).ticks(Math.max(2, width / 130)).tickFormat(seconds), 0,
    lanes.length * LANE);
  const of_lane = vendor.group(told, (span) => span.lane);
  for (const list of of_lane.values()) list.sort((a, b) => a.begin_s - b.begin_s);
  const per_pixel = end / Math.max(1, width - 14 - names);
  return hover(svg, (px, py) => {
    const list = of_lane.get(lanes[Math.floor(py / LANE)]);
    if (!list || px < names) return null;
    const at = x.invert(px);
    const near = vendor.bisectCenter(list.map((span) => (span.begin_s + span.end_s) / 2), at);
    const span = [list[near], list[near - 1], list[near + 1]].find((one) => one &&
      at >= one.begin_s - 3 * per_pixel && at <= one.end_s + 3 * per_pixel);
    return span && { text: `${span.title}, ${seconds(span.end_s - span.begin_s)} from ` +
      seconds(span.begin_s) };
  });
}
