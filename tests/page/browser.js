/* browser.js CHROMIUM PAGE MOEPLAN ROOT PICTURES: the page in a real browser, driven over a
 * pipe (no port, no server): what a person does with it, held against the command; no request
 * leaves it. Pictures of what was seen go to the folder. */
"use strict";
const assert = require("assert");
const fs = require("fs");
const os = require("os");
const path = require("path");
const { spawn, spawnSync } = require("child_process");

const [chromium, page, moeplan, root, pictures] = process.argv.slice(2);
const home = fs.mkdtempSync(path.join(os.tmpdir(), "page-"));
const browser = spawn(chromium, ["--headless", "--no-sandbox", "--disable-gpu",
  "--remote-debugging-pipe", "--no-first-run", "--disable-dev-shm-usage",
  "--disable-background-networking", "--disable-extensions", `--user-data-dir=${home}`, "about:blank"],
{ stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] });

/* ---- the protocol: JSON ended by a zero byte, both ways ---- */

let next = 1, kept = Buffer.alloc(0), session;
const waiting = new Map();
const requests = [], complaints = [];

function take(message) {
  const call = waiting.get(message.id);
  waiting.delete(message.id);
  if (call && message.error) call.reject(new Error(JSON.stringify(message.error)));
  else if (call) call.resolve(message.result);
  const { method, params } = message;
  if (method === "Network.requestWillBeSent") requests.push(params.request.url);
  if (method === "Runtime.exceptionThrown")
    complaints.push(params.exceptionDetails.exception.description);
  if (method === "Log.entryAdded" && params.entry.level === "error")
    complaints.push(params.entry.text.slice(0, 300));
}

browser.stdio[4].on("data", (data) => {
  kept = Buffer.concat([kept, data]);
  for (let end = kept.indexOf(0); end >= 0; end = kept.indexOf(0)) {
    take(JSON.parse(kept.subarray(0, end).toString()));
    kept = kept.subarray(end + 1);
  }
});

function send(method, params = {}) {
  const id = next++;
  browser.stdio[3].write(JSON.stringify({ id, method, params, sessionId: session }) + "\0");
  return new Promise((resolve, reject) => waiting.set(id, { resolve, reject }));
}

async function evaluate(expression) {
  const { result, exceptionDetails } = await send("Runtime.evaluate",
    { expression, awaitPromise: true, returnByValue: true });
  assert(!exceptionDetails, `${expression}: ${JSON.stringify(exceptionDetails)}`);
  return result.value;
}

async function until(expression, what = expression, most = 60) {
  const end = Date.now() + most * 1000;
  while (Date.now() < end) {
    if (await evaluate(`Boolean(${expression})`)) return;
    await new Promise((done) => setTimeout(done, 50));
  }
  await picture("failed");
  assert.fail(`waited ${most} s for: ${what}`);
}

async function picture(name) {
  if (!pictures) return;
  const { data } = await send("Page.captureScreenshot", { captureBeyondViewport: true });
  fs.writeFileSync(path.join(pictures, name + ".png"), Buffer.from(data, "base64"));
}

const size = (width, height, mobile = false) => send("Emulation.setDeviceMetricsOverride",
  { width, height, deviceScaleFactor: 1, mobile });

async function press(key, code) {
  const at = { key, code: key, windowsVirtualKeyCode: code, text: key === "Enter" ? "\r" : "" };
  await send("Input.dispatchKeyEvent", { type: "keyDown", ...at });
  await send("Input.dispatchKeyEvent", { type: "keyUp", ...at });
}

async function open(url) {
  await send("Page.navigate", { url: "about:blank" });
  await send("Page.navigate", { url });
  await until("document.body && document.body.dataset.ready === 'yes'", "the page", 90);
}

const command = (...given) => JSON.parse(spawnSync("taskset", ["-c", "0", moeplan, ...given,
  "--format", "json"], { cwd: root }).stdout.toString());
const text = (selector) => evaluate(`document.querySelector(${JSON.stringify(selector)})
  .textContent`);
const click = (selector) => evaluate(`document.querySelector(${JSON.stringify(selector)})
  .click()`);
const tab = (name) => evaluate(`[...document.querySelectorAll("[role=tab]")]
  .find((one) => one.textContent === ${JSON.stringify(name)}).click()`);
const settled = () => until("idle() && state.whole", "the answer is there");

/* ---- what a person does ---- */

const seed = "examples/seed000-primus-turbo.yaml";

async function predicts() {
  const said = command("predict", seed).memory;
  const shown = await evaluate("state.result.memory");
  for (const key of ["total_bytes", "limit_bytes", "state_bytes", "temp_bytes", "verdict"])
    assert.strictEqual(shown[key], said[key], key);
  assert.match(await text(".big"), new RegExp(
    `${said.verdict}: ${(said.total_bytes / 2 ** 30).toFixed(2)} GiB`));
}

async function slides_and_fixes() {
  const slider = "document.querySelector('[aria-label=\"workload.micro_batch, slider\"]')";
  await evaluate(`${slider}.focus()`);
  await press("ArrowRight", 39);
  await press("ArrowRight", 39);
  await until("state.sets['workload.micro_batch'] === '10'", "the slider moved by keys");
  await settled();
  const said = command("predict", seed, "--set", "workload.micro_batch=10").memory;
  const shown = await evaluate("state.result.memory");
  assert.strictEqual(shown.total_bytes, said.total_bytes);
  assert.deepStrictEqual(shown.fixes.map((fix) => fix.set), said.fixes.map((fix) => fix.set));
  assert.deepStrictEqual(shown.wall, said.wall);
  await picture("oom");
  await evaluate(`for (let i = 0; i < 5; i++) { ${slider}.stepDown();
    ${slider}.dispatchEvent(new Event("input")); }`);
  await settled();
  await evaluate("set_keys({ 'workload.micro_batch': '10' })");
  await settled();
  await click(".fixes button");
  await settled();
  assert.notStrictEqual(await evaluate("state.result.memory.verdict"), "oom");
}

/* From the slider's event until the verdict stands, on every example, while whole answers of
 * earlier changes may be under way: what a machine that others use can show is the best of 9. */
async function quick_enough() {
  const all = await evaluate(`(async () => {
    const out = [];
    const slider = document.querySelector('[aria-label="workload.sequence_length, slider"]');
    for (const one of known.examples) {
      use_text(one.text, one.name);
      while (!idle()) await new Promise((done) => setTimeout(done, 20));
      const times = [];
      for (let i = 0; i < 9; i++) {
        const seen = new Promise((done) => new MutationObserver((list, observer) => {
          observer.disconnect();
          done();
        }).observe($("verdict"), { childList: true }));
        slider.value = i % 2 ? 3 : 4;
        const before = performance.now();
        slider.dispatchEvent(new Event("input"));
        await seen;
        times.push(performance.now() - before);
        await new Promise((done) => setTimeout(done, i === 4 ? 300 : 1));
      }
      out.push([one.name, times.sort((a, b) => a - b)]);
    }
    use_text(known.examples.find((one) => one.name.startsWith("seed000")).text, "seed");
    return out;
  })()`);
  await settled();
  for (const [name, times] of all) {
    const ms = [0, 4, 8].map((i) => times[i].toFixed(0));
    console.log(`slider to verdict, ${name}: ${ms[0]} ms best, ${ms[1]} median, ${ms[2]} worst`);
    assert(times[0] < 250, `${name}: ${times[0]} ms`); /* 100 where nobody else computes */
  }
}

/* The pointer over a shape gives the numbers that the command gives. */
async function hovers(selector, number, row) {
  const { x, y } = await evaluate(`(() => {
    const shape = document.querySelectorAll(${JSON.stringify(selector)})[${number}];
    shape.scrollIntoView({ block: "center" });
    const box = shape.getBoundingClientRect();
    return { x: box.x + box.width / 2, y: box.y + box.height / 2 };
  })()`);
  await send("Input.dispatchMouseEvent", { type: "mouseMoved", x, y });
  await until("!document.querySelector('.tip').hidden", "what the pointer is at");
  const said = await text(".tip");
  assert(said.includes(`${row.verdict}`) && (row.verdict === "invalid" ||
    said.includes(`${(row.total_bytes / 2 ** 30).toFixed(2)} GiB of`)), said);
  await picture("hover");
  await evaluate("fitted(() => vendor.select(make('svg')))"); /* another chart is drawn */
  assert(await evaluate("document.querySelector('.tip').hidden"));
}

async function frontier() {
  await evaluate("state.sets = {}; refresh(false)");
  await settled();
  await tab("Frontier");
  await until("document.querySelectorAll('#chart .point').length === 112", "a map of 7 by 16");
  await picture("frontier");
  const rows = command("frontier", seed, "--over", "parallel.ep=1..64*2", "--over",
    "workload.micro_batch=1..16");
  const drawn = await evaluate(`[...document.querySelectorAll("#chart .point")]
    .map((one) => one.getAttribute("class"))`);
  assert.deepStrictEqual(drawn, rows.map((row) => "point v-" + row.verdict));
  await hovers("#chart .point", 20, rows[20]);
  /* arrows go from a point to its neighbours; the tabulator stops at one of them */
  assert.strictEqual(await evaluate(
    `document.querySelectorAll("#chart .point[tabindex='0']").length`), 1);
  await evaluate(`document.querySelector("#chart .point[tabindex='0']").focus()`);
  await press("ArrowDown", 40);
  await press("ArrowRight", 39);
  assert.match(await evaluate("document.activeElement.getAttribute('aria-label')"),
    /^parallel.ep=2, workload.micro_batch=2: /);
  await evaluate(`[...document.querySelectorAll("#chart .point.v-fits")].pop().focus()`);
  await press("Enter", 13);
  await until("'parallel.ep' in state.sets", "a point became the plan by keyboard");
  await settled();
  assert.strictEqual(await evaluate("state.result.memory.verdict"), "fits");
  await evaluate(`state.sets = {}; refresh(false)`);
  await settled();
  await evaluate(`swept[0] = "workload.micro_batch=1..24"; swept[1] = "";
    choose_tab("Frontier")`);
  await until("document.querySelectorAll('#chart .point').length === 24", "a curve of 24");
  await picture("curve");
  await hovers("#chart .point", 3, command("frontier", seed, "--over",
    "workload.micro_batch=1..24")[3]);
  await evaluate(`swept[0] = "parallel.ep=1..64*2"; swept[1] = "workload.micro_batch=1..16";
    shape = "curves"; choose_tab("Frontier")`);
  await until("document.querySelectorAll('#chart circle.point').length === 112", "curves");
  assert.strictEqual(await evaluate("document.querySelectorAll('#chart .curve').length"), 7);
  await picture("curves");
  /* as many points as a screen has no shapes for: drawn in runs, chosen by the pointer */
  await evaluate(`swept[0] = "workload.sequence_length=128..12800+128"; shape = "map";
    swept[1] = "workload.micro_batch=1..100"; choose_tab("Frontier")`);
  await until(`/^10000 points/.test(document.querySelector("#chart .about")?.textContent)`,
    "10,000 points");
  assert(await evaluate("document.querySelectorAll('#chart .point').length") < 4096);
  await picture("large");
  await evaluate(`swept[0] = "parallel.ep=1..64*2"; swept[1] = "workload.micro_batch=1..16"`);
}

/* The editor: a mistake is marked at its line, the text searched, and keys lead out of it. */
async function edits() {
  await evaluate(`use_text("model: deepseek-v3\\ncluster: h100-8x2\\nparalel: {ep: 8}\\n",
    "x"); $("editing").open = true`);
  await until("document.querySelector('.CodeMirror-lint-marker-error')", "a mark of the mistake");
  assert.deepStrictEqual(await evaluate(`(() => {
    const [one] = editor.state.lint.marked.map((mark) => mark.find().from);
    return [one.line, one.ch, editor.state.lint.marked.length];
  })()`), [2, 0, 1]);
  await until("!$('error').hidden", "the mistake is said");
  await evaluate(`[...document.querySelectorAll("#error button")].pop().click()`);
  assert.strictEqual(await evaluate("editor.hasFocus() && editor.getCursor().line"), 2);
  await picture("editor");
  await evaluate(`editor.execCommand("find")`);
  assert(await evaluate("Boolean(document.querySelector('.CodeMirror-dialog input'))"));
  await press("Escape", 27);
  await evaluate("editor.focus()");
  await press("Tab", 9);
  assert.strictEqual(await evaluate("document.activeElement.id"), "take");
  await evaluate(`editor.setValue("model: deepseek-v3\\ncluster: h100-8x2\\n")`);
  await until("!document.querySelector('.CodeMirror-lint-marker-error')", "no mark is left");
  await click("#take");
  await settled();
  assert(await evaluate("$('error').hidden"));
  await evaluate(`$("editing").open = false; use_text(known.examples.find((one) =>
    one.name.startsWith("seed000")).text, "seed")`);
  await settled();
}

/* Who holds rights in what the page holds, in the page. */
async function shows_licences() {
  const said = await text("#licences");
  for (const name of ["moeplan", "libyaml", "librandom123-dev", "libjs-codemirror", "node-d3-scale",
    "Marijn Haverbeke", "Mike Bostock", "Kirill Simonov", "D. E. Shaw"])
    assert(said.includes(name), name);
}

async function search_and_cancel() {
  await evaluate("state.sets = {}; refresh(false)");
  await settled();
  await tab("Search");
  await click("#search");
  await until("document.querySelectorAll('#found table').length === 2", "layouts", 120);
  const said = command("search", seed, "--fix", "tp=1", "--fix", "cp=1");
  const first = await evaluate(`(async () => JSON.parse(await long.ask("search",
    "tp=1\\ncp=1")).best[0].total_bytes)()`);
  assert.strictEqual(first, said.best[0].total_bytes);
  await picture("search");
  await click("#found td button");
  await settled();
  assert.strictEqual(await evaluate("state.result.memory.total_bytes"),
    said.best[0].total_bytes);
  await evaluate(`document.querySelector("#view textarea").value = "";
    document.querySelector("#search").click()`);
  await until("document.querySelector('#found progress')", "progress is shown");
  await evaluate(`[...document.querySelectorAll("#found button")]
    .find((one) => one.textContent === "Cancel").click()`);
  await until("document.querySelector('#found').textContent === 'Given up.'", "a cancel");
}

async function compares() {
  await evaluate("state.sets = {}; refresh(false)");
  await settled();
  await tab("Compare");
  await click("#hold");
  await evaluate("set_keys({ 'workload.micro_batch': '2' })");
  await settled();
  await until("document.querySelectorAll('#compared table').length === 4", "a comparison");
  const said = command("compare", seed, "--with-set", "B:workload.micro_batch=2");
  const sign = said.memory.bytes_difference / 2 ** 30;
  assert((await text("#compared")).includes(`${sign.toFixed(2)} GiB: A `));
  await picture("compare");
}

async function mistakes() {
  await evaluate(`use_text("model: deepseek-v3\\ncluster: h100-8x2\\nparalel: {ep: 8}\\n",
    "x")`);
  await until("!document.getElementById('error').hidden", "a mistake is said");
  assert.match(await text("#error"), /3:1: unknown key 'paralel'.*parallel/);
  await picture("mistake");
  await evaluate(`use_text("<img src=x onerror=alert(1)>: [", "x")`);
  await until("idle()", "the answer");
  assert.strictEqual(await evaluate("document.querySelectorAll('img').length"), 0);
  await evaluate(`use_text(known.examples.find((one) =>
    one.name.startsWith("seed000")).text, "seed")`);
  await settled();
  assert(await evaluate("document.getElementById('error').hidden"));
}

async function keeps_links() {
  await evaluate("set_keys({ 'workload.micro_batch': '3', 'moe.path': 'capacity' })");
  await settled();
  await until("location.hash.length > 100", "a link");
  const [url, total] = await evaluate("[location.href, state.result.memory.total_bytes]");
  await open(url);
  assert.strictEqual(await evaluate("state.result.memory.total_bytes"), total);
  assert.deepStrictEqual(await evaluate("state.sets"),
    { "workload.micro_batch": "3", "moe.path": "capacity" });
}

async function views() {
  for (const [name, sign] of [["Memory", "table"], ["Time", "#timelines svg"], ["More", "dl"],
    ["Plan", "pre"], ["Report", "iframe"]]) {
    await tab(name);
    await until(`document.querySelector("#view ${sign}")`, `the view ${name}`);
    await picture("view-" + name.toLowerCase());
  }
  const yaml = await evaluate(`(async () => live.ask("write", "plan.yaml"))()`);
  assert.match(yaml, /^# yaml-language-server/);
  /* of buffers whose sizes follow routing three numbers stand, of others one */
  const titles = `[...document.querySelectorAll("#view th")].map((at) => at.textContent)`;
  for (const [start, n] of [["megatron-qwen3", 2], ["seed000", 0]]) {
    await evaluate(`(({ text, name }) => use_text(text, name))(
      known.examples.find((one) => one.name.startsWith("${start}")))`);
    await settled();
    await tab("Memory");
    const shown = await evaluate(titles);
    assert.strictEqual(shown.filter((one) => /^(expected|worst)$/.test(one)).length, n, start);
  }
}

/* Streams overlap: a layer's spans on two lanes at one time, as its trace has them. */
async function played_time() {
  const name = "maxtext-mixtral-8x7b-v5p.yaml";
  await evaluate(`use_text(known.examples.find((one) => one.name === "${name}").text,
    "${name}")`);
  await settled();
  await tab("Time");
  await until("document.querySelectorAll('#timelines svg').length === 2", "two timelines");
  await picture("time");
  const { end, layer } = await evaluate(`(async () => {
    const { layer, step } = JSON.parse(await full.ask("write", "timeline.json"));
    return { end: step.end_s, layer };
  })()`);
  assert.strictEqual(end, command("predict", "examples/" + name).time.step_s);
  const of = (stream) => layer.spans.filter((span) => span.stream === stream);
  assert(of("dp in layers").some((sent) => of("compute").some((op) =>
    op.begin_s < sent.end_s && sent.begin_s < op.end_s)), "weights gathered beside computation");
  const drawn = await evaluate("document.querySelectorAll('#timelines svg')[0].querySelectorAll('rect').length");
  assert.strictEqual(drawn, layer.spans.length);
}

/* Plans of an engine: a deployment with its requests, and a batch of prompts. */
async function serves() {
  const name = "vllm-deepseek-v3-h200.yaml";
  const asked = { "workload.mode": "serve", "workload.concurrency": "64" };
  await evaluate(`use_text(known.examples.find((one) => one.name === "${name}").text,
    "${name}"); set_keys(${JSON.stringify(asked)})`);
  await settled();
  const said = command("predict", "examples/" + name, ...Object.entries(asked)
    .flatMap(([key, value]) => ["--set", `${key}=${value}`])).time;
  assert.strictEqual(await evaluate("state.result.time.requests_per_s"), said.requests_per_s);
  assert((await text("#rest")).includes(`${said.requests_per_s.toPrecision(3)} requests/s`));
  for (const tab_name of ["Memory", "Time", "More"]) await tab(tab_name);
  await tab("Memory");
  await picture("serve");
  await evaluate(`set_keys({ "workload.mode": "prefill", "workload.concurrency": "" })`);
  await settled();
  assert.match(await text("#rest"), /a step/);
}

async function pastes_jobs() {
  const file = "tests/jobs/maxtext/seed000.yml";
  const text = fs.readFileSync(path.join(root, file), "utf8");
  await evaluate(`editor.setValue(${JSON.stringify(text)});
    document.getElementById("take").click()`);
  await settled();
  const said = command("predict", file).memory;
  assert.strictEqual(await evaluate("state.result.memory.total_bytes"), said.total_bytes);
  const toml = fs.readFileSync(path.join(root, "tests/jobs/torchtitan/deepseek-16b.toml"), "utf8");
  await evaluate(`use_text(${JSON.stringify(toml)}, "pasted text");
    set_keys({ cluster: "b200-8x8" })`);
  await settled();
  assert.strictEqual(await evaluate("state.result.names.stack"), "torchtitan");
  const config = `{"model_type": "mixtral", "num_hidden_layers": 32, "hidden_size": 4096,
    "intermediate_size": 14336, "num_attention_heads": 32, "num_key_value_heads": 8,
    "vocab_size": 32000, "num_local_experts": 8, "num_experts_per_tok": 2}`;
  await evaluate(`use_text(${JSON.stringify(config)}, "config.json");
    set_keys({ cluster: "h100-8x1", stack: "vllm" })`);
  await settled();
  assert.strictEqual(await evaluate("state.result.model.parameters"), 46702792704);
}

/* What is kept is what the command writes. */
async function downloads() {
  await evaluate(`use_text(known.examples.find((one) => one.name.startsWith("seed000")).text,
    "${seed}"); kept = {}; download = (name, type, text) => { kept[name] = text; }`);
  await settled();
  const press_all = (names) => evaluate(`for (const one of document.querySelectorAll(
    "#view button")) if (${JSON.stringify(names)}.includes(one.textContent)) one.click()`);
  await tab("Frontier");
  await until("document.querySelectorAll('#chart .point').length > 0", "a chart");
  await press_all(["CSV", "SVG"]);
  await tab("Plan");
  await until("document.querySelector('#view pre')", "the plan");
  await press_all(["plan.yaml", "predict.json", "predict.csv"]);
  await tab("Report");
  await until("document.querySelector('#view iframe')", "the report");
  await press_all(["Download this page"]);
  await until("Object.keys(kept).length === 6", "six downloads");
  const kept = await evaluate("kept");
  const run = (...given) => spawnSync("taskset", ["-c", "0", moeplan, ...given], { cwd: root })
    .stdout.toString();
  assert.strictEqual(kept["buffers.csv"], run("predict", seed, "--format", "csv"));
  assert.strictEqual(kept["report.html"], run("report", seed));
  assert.strictEqual(JSON.parse(kept["predict.json"]).memory.total_bytes,
    command("predict", seed).memory.total_bytes);
  assert.strictEqual(kept["frontier.csv"].split("\n")[0].split(",").slice(-5).join(","),
    "verdict,total_bytes,limit_bytes,wall,why");
  assert(kept["frontier.svg"].startsWith("<svg") && !kept["frontier.svg"].includes("NaN"));
}

/* From the page's start by keys alone: past the form, along the tabs. */
async function by_keyboard() {
  await open(`file://${path.resolve(page)}`);
  await press("Tab", 9);
  assert.strictEqual(await evaluate("document.activeElement.className"), "skip");
  await press("Enter", 13);
  await until("document.activeElement.id === 'answer'", "the answer has the focus");
  for (let i = 0; i < 60 && !await evaluate(`document.activeElement.role === "tab" ||
    document.activeElement.getAttribute("role") === "tab"`); i++) await press("Tab", 9);
  assert.strictEqual(await evaluate("document.activeElement.textContent"), "Memory");
  await press("ArrowRight", 39);
  assert.strictEqual(await evaluate("document.activeElement.textContent"), "Frontier");
  await until("document.querySelectorAll('#chart .point').length > 0", "the tab's view");
  await press("ArrowLeft", 37);
  assert.strictEqual(await evaluate("state.tab"), "Memory");
}

async function on_a_phone() {
  await size(390, 844, true);
  for (const name of ["Frontier", "Search", "Compare", "Time", "More", "Plan", "Report",
    "Memory"]) {
    await evaluate(`$("editing").open = ${name === "Frontier"}; editor.refresh()`);
    await tab(name);
    if (name === "Frontier")
      await until("document.querySelectorAll('#chart .point').length > 0", "a chart");
    if (name === "Time") await until("document.querySelector('#timelines svg')", "a timeline");
    await picture("phone-" + name.toLowerCase());
    const wide = await evaluate("document.documentElement.scrollWidth");
    assert(wide <= 390, `${wide} wide on a phone of 390: ${name}`);
  }
  /* the verdict stays in sight where the last of the keys stands */
  const top = await evaluate(`$("reset").scrollIntoView({ block: "center" }),
    $("headline").getBoundingClientRect().top`);
  assert(top >= 0 && top < 100, `the verdict ${top} pixels from the top`);
  await size(1600, 1000);
  await evaluate("scrollTo(0, 0)");
  await picture("wide");
  await size(1400, 1000);
}

async function main() {
  const { targetInfos } = await send("Target.getTargets");
  const target = targetInfos.find((one) => one.type === "page");
  session = (await send("Target.attachToTarget", { targetId: target.targetId, flatten: true }))
    .sessionId;
  for (const domain of ["Page", "Runtime", "Network", "Log"]) await send(domain + ".enable");
  await size(1400, 1000);
  const url = "file://" + path.resolve(page);
  await send("Page.navigate", { url: "about:blank" });
  requests.length = 0; /* those of the browser's own first page */
  await open(url);
  await picture("start");
  for (const step of [predicts, slides_and_fixes, quick_enough, frontier, search_and_cancel,
    compares, mistakes, edits, shows_licences, keeps_links, views,
    played_time, serves, pastes_jobs, downloads, by_keyboard, on_a_phone]) {
    await step();
    console.log(`${step.name}: passed`);
  }
  const asked = requests.filter((one) => !/^(blob|data|about):/.test(one) &&
    !one.startsWith(url));
  assert.deepStrictEqual(asked, [], "requests");
  assert.deepStrictEqual(complaints, [], "errors of the page");
}

const late = setTimeout(() => { console.error("too late"); done(1); }, 280000);
function done(status) {
  clearTimeout(late);
  browser.kill("SIGKILL");
  browser.on("exit", () => {
    /* chromium's own processes may write into it for a while after it has ended */
    fs.rmSync(home, { recursive: true, force: true, maxRetries: 20, retryDelay: 250 });
    process.exit(status);
  });
}
main().then(() => done(0), (error) => { console.error(error); done(1); });
