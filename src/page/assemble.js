/* assemble.js SOURCE BUILD YAML OUT: one index.html of the page's parts, the libraries and the
 * engine, whose code stands in it as a text that workers are made from: no file has to be asked
 * for. */
"use strict";
const fs = require("fs");
const path = require("path");
const licences = require("./licences.js");

const [source, build, yaml, out] = process.argv.slice(2);
const read = (folder, name) => fs.readFileSync(path.join(folder, name), "utf8");
/* The engine would fetch its own code, which it holds as a text. */
const worker = "globalThis.fetch = undefined;\n" + read(build, "engine.js") + "\n" +
  read(source, "worker.js");
/* What of Debian's packages stands in the page: vendor.js names what it takes of d3. */
const PACKAGES = ["libjs-codemirror", "librandom123-dev", ...["array", "axis", "color", "format",
  "interpolate", "path", "scale", "selection", "shape", "time", "time-format"]
  .map((part) => "node-d3-" + part)];
const escaped = (text) => text.replace(/&/g, "&amp;").replace(/</g, "&lt;");
const parts = {
  "/*@page.css@*/": read(build, "vendor.css") + read(source, "page.css"),
  "/*@vendor.js@*/": read(build, "vendor.js"),
  "/*@licences@*/": escaped(licences(PACKAGES, [
    ["moeplan", fs.readFileSync(path.join(source, "..", "..", "LICENSE"), "utf8")],
    ["libyaml", read(yaml, "License")]])),
  "/*@engine@*/": "const MOEPLAN_WORKER = " +
    JSON.stringify(worker).replace(/</g, "\\u003c").replace(/\u2028|\u2029/g, " ") + ";",
  "/*@page.js@*/": ["planner", "pieces", "charts", "editor", "form", "answer", "time", "frontier",
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
