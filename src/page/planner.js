/* The planner in three workers, what there is to choose from, and the keys' help and limits.
 * The parts of the page's script are put together in the order of assemble.js; no arithmetic of
 * plans happens in them. */
"use strict";

/* ---- the planner ---- */

class Engine {
  constructor() {
    this.url = URL.createObjectURL(new Blob([MOEPLAN_WORKER], { type: "text/javascript" }));
    this.next = 1;
    this.waiting = new Map();
  }

  start() {
    this.worker = new Worker(this.url);
    this.worker.onmessage = ({ data }) => this.take(data);
  }

  take(data) {
    if ("share" in data) {
      if (this.onShare) this.onShare(data.share);
      return;
    }
    const call = this.waiting.get(data.id);
    this.waiting.delete(data.id);
    if (!call) return;
    this.ms = data.ms;
    if (data.error) call.reject(data.error);
    else call.resolve(data.answer);
  }

  ask(question, argument, plan = state) {
    const id = this.next++;
    if (!this.worker) this.start();
    const q = { question, argument, name: plan.name, text: plan.text, sets: { ...plan.sets } };
    return new Promise((resolve, reject) => {
      this.waiting.set(id, { resolve, reject });
      this.worker.postMessage({ id, q });
    });
  }

  /* Gives up what it is at; whoever waits hears of it. */
  cancel() {
    if (this.worker) this.worker.terminate();
    this.worker = null;
    for (const call of this.waiting.values()) call.reject({ cancelled: true });
    this.waiting.clear();
  }
}

/* ---- what there is ---- */

const state = { name: "plan", text: "", sets: {}, held: null, result: null, tab: "Memory" };
const GIB = 2 ** 30;
const $ = (id) => document.getElementById(id);
/* answers at once while keys change; whole answers and documents; what takes long */
let live, full, long, schema, known = {};

/* Keys that decide most; numbers with the values their sliders step through. */
const powers = (from, to) => {
  const list = [];
  for (let value = from; value <= to; value *= 2) list.push(value);
  return list;
};
const FIELDS = [
  ["workload.mode"], ["workload.sequence_length", powers(512, 131072)],
  ["workload.micro_batch", [...Array(32).keys()].map((i) => i + 1).concat(powers(64, 1024))],
  ["workload.context_length", powers(512, 131072)],
  ["parallel.tp", powers(1, 64)], ["parallel.pp", powers(1, 64)],
  ["parallel.cp", powers(1, 64)], ["parallel.ep", powers(1, 256)],
  ["parallel.etp", powers(1, 64)], ["parallel.zero", [0, 1, 2, 3]],
  ["moe.path"], ["moe.capacity_factor", [1, 1.1, 1.25, 1.5, 2, 3, 4, 8]], ["moe.buffer"],
  ["moe.routing.distribution"], ["moe.routing.alpha", [0, 0.25, 0.5, 0.75, 1, 1.25, 1.5]],
  ["precision.weights"], ["precision.activations"], ["precision.moments"], ["recompute.kind"],
  ["memory.fraction", [0.8, 0.85, 0.9, 0.92, 0.93, 0.94, 0.95, 0.97, 1]],
];

/* Whose value holds where a key's own is 0. */
const OTHERWISE = { "memory.fraction": "stack.fraction" };

/* The schema's entry of a key, or undefined. */
function entry(key) {
  let at = schema;
  for (const part of key.split(".")) {
    const object = at.properties ? at : (at.anyOf || []).find((one) => one.properties);
    at = object && object.properties[part];
    if (!at) return undefined;
  }
  return at;
}

/* {description, words, type, minimum, maximum, fallback} of a key. */
function about(key) {
  const at = entry(key) || {};
  const kinds = at.anyOf || [];
  const words = kinds.find((one) => one.enum);
  const number = kinds.find((one) => one.type === "integer" || one.type === "number") || {};
  return { description: at.description || "", fallback: at.default, words: words && words.enum,
    type: number.type, minimum: number.minimum, maximum: number.maximum };
}

function help(key) {
  const a = about(key);
  const parts = [a.description];
  if (a.minimum !== undefined) parts.push(`${a.minimum} to ${a.maximum}`);
  if (a.fallback !== undefined) parts.push(`default ${a.fallback}`);
  return parts.filter(Boolean).join("; ");
}

/* All keys of the schema. */
function all_keys(at, prefix, out) {
  const object = at.properties ? at : (at.anyOf || []).find((one) => one.properties);
  for (const [name, below] of Object.entries((object || {}).properties || {})) {
    const key = prefix + name;
    if (below.properties || (below.anyOf || []).some((one) => one.properties))
      all_keys(below, key + ".", out);
    else out.push(key);
  }
  return out;
}

/* A member of nested objects by its dotted name. */
const member = (object, name) =>
  name.split(".").reduce((at, part) => (at === undefined ? at : at[part]), object);
