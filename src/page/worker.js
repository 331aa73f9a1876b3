/* The planner in a thread of its own: a question in, an answer out. What follows the engine's
 * own code in the worker's source; node runs the same for tests. */
"use strict";

let engine = null;

/* A text of the answer to question {question, name, text, sets, argument}; throws what moeplan
 * says as an object {status, where, line, column, text, hint}. */
function ask(q) {
  const sets = Object.entries(q.sets || {}).map(([key, value]) => key + "=" + value).join("\n");
  const status = engine._malloc(4);
  const kinds = ["string", "string", "string", "string", "string", "number"];
  const at = engine.ccall("page_call", "number", kinds,
    [q.question, q.name || "plan", q.text || "", sets, q.argument || "", status]);
  const answer = at ? engine.UTF8ToString(at) : "";
  const failed = engine.HEAP32[status >> 2];
  engine._free(at);
  engine._free(status);
  if (failed) throw JSON.parse(answer);
  return answer;
}

/* The plans that come with the planner: [{name, text}]. */
function examples() {
  const read = (name) => engine.FS.readFile("/examples/" + name, { encoding: "utf8" });
  return engine.FS.readdir("/examples").filter((name) => name.endsWith(".yaml")).sort()
    .map((name) => ({ name, text: read(name) }));
}

async function start(factory, onProgress) {
  engine = await factory({ onProgress, print() {}, printErr() {} });
}

if (typeof importScripts === "function") {
  const ready = start(moeplanEngine, (share) => postMessage({ share }));
  onmessage = async (event) => {
    const { id, q } = event.data;
    try {
      await ready;
      const before = performance.now();
      const answer = q.question === "examples" ? examples() : ask(q);
      postMessage({ id, answer, ms: performance.now() - before });
    } catch (error) {
      const known = error && typeof error.text === "string";
      postMessage({ id, error: known ? error : { status: 1, where: "", hint: "",
        text: "the planner stopped: " + String(error) } });
    }
  };
} else {
  module.exports = { ask, examples, start: () => start(moeplanEngine) };
}
