/* engine.js ENGINE MOEPLAN ROOT: the page's planner under node against the command, for every
 * example: integers and texts equal, other numbers to 1e-12; and what it says of mistakes. */
"use strict";
const assert = require("assert");
const fs = require("fs");
const path = require("path");
const { spawnSync } = require("child_process");

const [file, moeplan, root] = process.argv.slice(2);
const engine = require(path.resolve(file));

/* On one CPU, as in the page: a run's threads are part of what stack host answers. */
function command(...given) {
  const said = spawnSync("taskset", ["-c", "0", moeplan, ...given], { cwd: root });
  return JSON.parse(said.stdout.toString());
}

function same(a, b, where) {
  if (typeof a === "number" && typeof b === "number" && !(Number.isInteger(a) &&
      Number.isInteger(b))) {
    const most = 1e-12 * Math.max(Math.abs(a), Math.abs(b));
    assert(Math.abs(a - b) <= most, `${where}: ${a} ${b}`);
  } else if (a && b && typeof a === "object" && typeof b === "object") {
    assert.deepStrictEqual(Object.keys(a), Object.keys(b), where);
    for (const key of Object.keys(a)) same(a[key], b[key], `${where}.${key}`);
  } else {
    assert.strictEqual(a, b, where);
  }
}

/* The step ends when predict says; on a stream nothing runs beside itself. */
function played({ layer, step }, time, name) {
  same(step.end_s, time.step_s, `${name}: the step's end`);
  for (const { spans, end_s } of [layer, step]) {
    const free = new Map();
    assert(spans.length > 0, name);
    for (const span of spans) {
      const stream = `${span.stage} ${span.stream}`;
      assert(span.begin_s >= (free.get(stream) || 0) - 1e-9 * end_s, `${name}: ${span.op}`);
      assert(span.end_s >= span.begin_s && span.end_s <= end_s * (1 + 1e-9), span.op);
      free.set(stream, span.end_s);
    }
  }
}

async function main() {
  await engine.start();
  const names = fs.readdirSync(path.join(root, "examples")).filter((n) => n.endsWith(".yaml"));
  assert.deepStrictEqual(engine.examples().map((one) => one.name), names.sort());
  assert(names.length >= 10);
  for (const { name, text } of engine.examples()) {
    const said = command("predict", path.join("examples", name), "--format", "json");
    const plan = { name: `examples/${name}`, text };
    same(JSON.parse(engine.ask({ ...plan, question: "predict" })), said, name);
    played(JSON.parse(engine.ask({ ...plan, question: "write", argument: "timeline.json" })),
      said.time, name);
  }
  const seed = engine.examples().find((one) => one.name.startsWith("seed000"));
  const plan = { name: `examples/${seed.name}`, text: seed.text };
  const found = JSON.parse(engine.ask({ ...plan, question: "search", argument: "tp=1\ncp=1" }));
  same(found, command("search", `examples/${seed.name}`, "--fix", "tp=1", "--fix", "cp=1",
    "--format", "json"), "search");
  const apart = engine.examples().find((one) => one.name.includes("apart"));
  same(JSON.parse(engine.ask({ name: `examples/${apart.name}`, text: apart.text,
    question: "search", argument: "tp=2" })), command("search", `examples/${apart.name}`,
    "--fix", "tp=2", "--format", "json"), "both pools");
  const points = JSON.parse(engine.ask({ ...plan, question: "frontier",
    argument: "parallel.ep=1..64*2\nworkload.micro_batch=1..16" }));
  const rows = command("frontier", `examples/${seed.name}`, "--over", "parallel.ep=1..64*2",
    "--over", "workload.micro_batch=1..16", "--format", "json");
  assert.strictEqual(points.length, 7 * 16);
  points.forEach((point, i) => {
    assert.strictEqual(point.verdict, rows[i].verdict);
    assert.strictEqual(point.total_bytes, Number(rows[i].total_bytes || 0));
  });
  const wrong = () => engine.ask({ ...plan, question: "predict",
    sets: { "workload.micro_batch": "none" } });
  assert.throws(wrong, (error) => error.status === 3 && error.hint &&
    error.where === "workload.micro_batch=none" && /whole number/.test(error.text));
  assert.throws(() => engine.ask({ question: "predict", name: "x.yaml",
    text: "model: deepseek-v3\ncluster: h100\nparalel: {}\n" }),
  (error) => error.line === 3 && /parallel/.test(error.hint));
  const report = engine.ask({ ...plan, question: "write", argument: "report.html" });
  assert(report.startsWith("<!DOCTYPE html>"));
  console.log(`${names.length} examples equal`);
}

main().catch((error) => { console.error(error); process.exit(1); });
