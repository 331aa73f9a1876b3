/* assemble.js SOURCE BUILD OUT: one index.html of the page's parts and the engine, whose code
 * stands in it as a text that workers are made from: no file has to be asked for. */
"use strict";
const fs = require("fs");
const path = require("path");

const [source, build, out] = process.argv.slice(2);
const read = (folder, name) => fs.readFileSync(path.join(folder, name), "utf8");
/* The engine would fetch its own code, which it holds as a text. */
const worker = "globalThis.fetch = undefined;\n" + read(build, "engine.js") + "\n" +
  read(source, "worker.js");
const parts = {
  "/*@page.css@*/": read(source, "page.css"),
  "/*@engine@*/": "const MOEPLAN_WORKER = " +
    JSON.stringify(worker).replace(/</g, "\\u003c").replace(/\u2028|\u2029/g, " ") + ";",
  "/*@page.js@*/": ["planner", "pieces", "form", "answer", "time", "frontier",
    "ask", "start"].map((name) => read(source, name + ".js")).join("\n"),
};
/* A category and a part of the time have one colour everywhere: those of the report's style. */
const colours = read(path.join(source, "..", "report", "html"), "style.c")
  .match(/\.[kp]-\w+\{[^}]*\}/g);
if (!colours || colours.length < 20) throw new Error("the report's style names no colours");
parts["/*@page.css@*/"] += colours.join("\n") + "\n";
let page = read(source, "index.html");
for (const [mark, text] of Object.entries(parts)) page = page.split(mark).join(text);
fs.mkdirSync(out, { recursive: true });
fs.writeFileSync(path.join(out, "index.html"), page);
fs.writeFileSync(path.join(out, "engine.js"), worker);
