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

/* Answers come in the order asked; while one is made, only the newest question waits. */
let busy = false, wanted = null, settle = 0;

async function refresh(quick) {
  clearTimeout(settle);
  wanted = quick ? "quick" : "predict";
  if (quick) settle = setTimeout(() => refresh(false), 250);
  if (busy) return;
  busy = true;
  while (wanted) {
    const question = wanted;
    wanted = null;
    try {
      const answer = JSON.parse(await live.ask(question, ""));
      state.result = answer;
      state.whole = question === "predict";
      show_error(null);
      show_all();
    } catch (error) {
      show_error(error);
    }
    keep_in_link();
  }
  busy = false;
}

/* ---- the form ---- */

function value_of(key) {
  if (key in state.sets) return state.sets[key];
  const value = state.result && member(state.result.plan, key);
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
  const names = state.result ? state.result.names : {};
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
  $("text").value = text;
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
  $("take").addEventListener("click", () => use_text($("text").value, "pasted text"));
  $("reset").addEventListener("click", () => { state.sets = {}; refresh(false); });
  $("other-key").addEventListener("input", () => {
    $("other-help").textContent = help($("other-key").value);
  });
  $("other-set").addEventListener("click", () =>
    set_keys({ [$("other-key").value]: $("other-value").value }));
  $("plan").addEventListener("submit", (event) => event.preventDefault());
  make_fields();
}
