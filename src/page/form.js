/* The plan: its text, the keys that are set, the link that holds both, and the form. */
"use strict";

/* ---- the plan ---- */

function keep_in_link() {
  const bytes = new TextEncoder().encode(JSON.stringify([state.text, state.sets]));
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  const code = btoa(text).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
  const hash = "#p=" + code;
  if (location.hash !== hash) history.replaceState(null, "", hash);
}

/* The plan of the address; false when it holds none. */
function take_link() {
  const found = /^#p=([A-Za-z0-9_-]+)$/.exec(location.hash);
  if (!found) return false;
  try {
    const text = atob(found[1].replace(/-/g, "+").replace(/_/g, "/"));
    const bytes = Uint8Array.from(text, (c) => c.charCodeAt(0));
    const [plan, sets] = JSON.parse(new TextDecoder().decode(bytes));
    if (typeof plan !== "string" || typeof sets !== "object") return false;
    Object.assign(state, { text: plan, sets: { ...sets } });
    return true;
  } catch (error) {
    return false;
  }
}

function set_keys(keys, quick = false) {
  for (const [key, value] of Object.entries(keys)) {
    delete state.sets[key];
    if (value !== null) state.sets[key] = String(value);
  }
  refresh(quick);
}

/* "a=1 b=2" */
const keys_of = (text) => Object.fromEntries(text.split(" ").map((one) => {
  const at = one.indexOf("=");
  return [one.slice(0, at), one.slice(at + 1)];
}));

/* A change is answered twice: with verdict and memory at once, by a worker that does nothing
 * else, and then wholly. Of each kind one question is under way and the newest waits; an answer
 * that a newer one has overtaken is not shown, nor is a whole one of keys that have changed. */
const lanes = { quick: { busy: false, wanted: false }, predict: { busy: false, wanted: false } };
let turn = 0, shown_turn = 0, settle = 0, answered_ms = 0;

const idle = () => !settle && Object.values(lanes).every((lane) => !lane.busy && !lane.wanted);

function show_answer(question, engine, answer) {
  answered_ms = engine.ms;
  state.result = answer;
  state.of = state.text;
  state.whole = question === "predict";
  show_error(null);
  show_all();
}

async function ask_lane(question, engine) {
  const lane = lanes[question];
  lane.wanted = true;
  if (lane.busy) return;
  lane.busy = true;
  while (lane.wanted) {
    const mine = turn;
    const fresh = () => (question === "quick" ? mine > shown_turn : mine === turn);
    lane.wanted = false;
    try {
      const answer = JSON.parse(await engine.ask(question, ""));
      if (fresh()) show_answer(question, engine, answer);
    } catch (error) {
      if (fresh()) show_error(error);
    }
    if (fresh() && question === "predict") shown_turn = mine;
  }
  lane.busy = false;
}

/* quick: more changes are about to come, as while a slider moves */
async function refresh(quick) {
  clearTimeout(settle);
  settle = quick ? setTimeout(() => refresh(false), 250) : 0;
  turn++;
  keep_in_link();
  await Promise.all([ask_lane("quick", live), ...quick ? [] : [ask_lane("predict", full)]]);
}

/* ---- the form ---- */

/* The newest answer, where it is one of this text. */
const result_here = () => (state.of === state.text ? state.result : null);

function value_of(key) {
  if (key in state.sets) return state.sets[key];
  const { plan } = result_here() || {};
  const value = plan && (member(plan, key) || member(plan, OTHERWISE[key] || key));
  return value === undefined ? "" : String(value);
}

function number_field(key, steps, a) {
  const whole = a.type === "integer";
  const exact = make("input", { type: "number", min: a.minimum, max: a.maximum,
    step: whole ? 1 : "any", "aria-label": key, change: () =>
      set_keys({ [key]: exact.value === "" ? null : exact.value }) });
  const slide = make("input", { type: "range", min: 0, max: steps.length - 1, step: 1,
    "aria-label": key + ", slider", input: () => {
      exact.value = steps[slide.value];
      slide.setAttribute("aria-valuetext", exact.value);
      set_keys({ [key]: exact.value }, true);
    } });
  const show = () => {
    if (document.activeElement !== exact) exact.value = value_of(key);
    let near = 0;
    steps.forEach((step, i) => { if (step <= Number(exact.value)) near = i; });
    slide.value = near;
    slide.setAttribute("aria-valuetext", exact.value);
  };
  return [make("span", { class: "pair" }, slide, exact), show];
}

function word_field(key, words) {
  const choice = make("select", { change: () => set_keys({ [key]: choice.value }) },
    ...words.map((word) => make("option", { value: word }, word)));
  return [choice, () => { choice.value = value_of(key); }];
}

function text_field(key) {
  const field = make("input", { spellcheck: "false",
    change: () => set_keys({ [key]: field.value || null }) });
  return [field, () => {
    if (document.activeElement !== field) field.value = value_of(key);
  }];
}

const shows = [];

function make_fields() {
  for (const [key, steps] of FIELDS) {
    if (!entry(key)) continue;
    const a = about(key);
    const [field, show] = a.words ? word_field(key, a.words)
      : steps && a.type ? number_field(key, steps, a) : text_field(key);
    const name = make("span", {}, key);
    $("fields").append(make("label", { title: help(key) }, name, field,
      make("small", { class: "help" }, help(key))));
    shows.push(() => {
      show();
      name.className = key in state.sets ? "changed" : "";
    });
  }
}

function show_form() {
  for (const show of shows) show();
  const names = (result_here() || {}).names || {};
  for (const [id, key] of [["model", "model"], ["stack", "stack"]])
    $(id).value = state.sets[key] || names[key] || "";
  if (document.activeElement !== $("cluster"))
    $("cluster").value = state.sets.cluster || names.cluster || "";
  $("sets").replaceChildren(...Object.entries(state.sets).map(([key, value]) =>
    button(`${key}=${value} \u00d7`, () => set_keys({ [key]: null }),
      { "aria-label": `take ${key} back` })));
  if (!Object.keys(state.sets).length) $("sets").textContent = "nothing";
}

function use_text(text, name) {
  Object.assign(state, { text, name, sets: {} });
  editor.setValue(text);
  refresh(false);
}

function make_form() {
  const options = (list) => list.map((one) =>
    make("option", { value: one.name }, one.name));
  $("example").append(make("option", { value: "" }, "choose"), ...options(known.examples));
  $("model").append(...options(known.models));
  $("stack").append(...options(known.stacks));
  $("clusters").append(...known.clusters.map((one) =>
    make("option", { value: one.name }, one.summary)));
  $("keys").append(...all_keys(schema, "", []).map((key) => make("option", { value: key })));
  $("example").addEventListener("change", () => {
    const found = known.examples.find((one) => one.name === $("example").value);
    if (found) use_text(found.text, found.name);
  });
  for (const id of ["model", "cluster", "stack"])
    $(id).addEventListener("change", () => set_keys({ [id]: $(id).value }));
  $("take").addEventListener("click", take_text);
  $("reset").addEventListener("click", () => { state.sets = {}; refresh(false); });
  $("other-key").addEventListener("input", () => {
    $("other-help").textContent = help($("other-key").value);
  });
  $("other-set").addEventListener("click", () =>
    set_keys({ [$("other-key").value]: $("other-value").value }));
  $("plan").addEventListener("submit", (event) => event.preventDefault());
  make_editor();
  make_fields();
}
