/* Texts to copy and keep, the tabs, and how the page starts. */
"use strict";

/* ---- texts ---- */

async function view_plan(place) {
  const text = await full.ask("write", "plan.yaml");
  const save = (document, name, type) => button(document, async () =>
    download(name, type, await full.ask("write", document)));
  const said = make("span", { role: "status" });
  place.replaceChildren(make("h2", {}, "The plan"), make("div", { class: "row" },
    button("Copy YAML", async () => {
      await navigator.clipboard.writeText(text);
      said.textContent = "copied";
    }),
    button("Copy link", async () => {
      await navigator.clipboard.writeText(location.href);
      said.textContent = "copied";
    }),
    save("plan.yaml", "plan.yaml", "text/yaml"), save("predict.json", "predict.json",
      "application/json"), save("predict.csv", "buffers.csv", "text/csv"),
    save("launch", "launch.txt", "text/plain"), said), make("pre", {}, text));
}

async function view_report(place) {
  const html = await full.ask("write", "report.html");
  place.replaceChildren(make("div", { class: "row" }, button("Download this page", () =>
    download("report.html", "text/html", html))),
  make("iframe", { srcdoc: html, sandbox: "", title: "report" }));
}

const VIEWS = { Memory: view_memory, Frontier: view_frontier, Search: view_search,
  Compare: view_compare, Time: view_time, More: view_more, Plan: view_plan,
  Report: view_report };
/* drawn anew with every answer */
const FOLLOWS = ["Memory", "Time", "More", "Plan", "Compare"];

function show_view() {
  VIEWS[state.tab]($("view"));
}

function choose_tab(name) {
  state.tab = name;
  for (const tab of $("tabs").children) {
    const chosen = tab.textContent === name;
    tab.setAttribute("aria-selected", chosen);
    tab.tabIndex = chosen ? 0 : -1;
  }
  show_view();
}

function make_tabs() {
  const names = Object.keys(VIEWS);
  $("tabs").append(...names.map((name, i) => button(name, () => choose_tab(name), {
    role: "tab", "aria-controls": "view", keydown: (event) => {
      const step = { ArrowRight: 1, ArrowLeft: names.length - 1 }[event.key];
      if (!step) return;
      const next = names[(i + step) % names.length];
      choose_tab(next);
      $("tabs").children[names.indexOf(next)].focus();
    } })));
}

function show_all() {
  show_form();
  show_verdict();
  $("rest").classList.toggle("stale", !state.whole);
  if (state.whole) show_rest();
  if (state.whole && FOLLOWS.includes(state.tab)) show_view();
  const took = `answered in ${answered_ms.toFixed(0)} ms `;
  $("foot").textContent = `moeplan ${state.result.version}; ${took}on this machine.`;
}

/* ---- start ---- */

async function begin() {
  [live, full, long] = [new Engine(), new Engine(), new Engine()];
  const read = async (what) => JSON.parse(await live.ask("describe", what));
  known.examples = await live.ask("examples", "");
  schema = await read("plan");
  for (const what of ["models", "clusters", "stacks"]) known[what] = await read(what);
  const first = known.examples.find((one) => one.name.startsWith("seed000"));
  if (!take_link()) Object.assign(state, { text: first.text, name: first.name });
  make_form();
  make_tabs();
  await refresh(false);
  if (!state.result) { /* a link to a plan with a mistake: the form shows, the error stands */
    show_form();
  } else {
    choose_tab("Memory");
  }
  document.body.dataset.ready = "yes";
}

window.addEventListener("hashchange", () => {
  if (!take_link()) return;
  editor.setValue(state.text);
  refresh(false);
});
begin();
