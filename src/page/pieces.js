/* Pieces that the views are made of: elements, amounts, tables, downloads. */
"use strict";

/* ---- small pieces of the page ---- */

function make(tag, attributes = {}, ...children) {
  const svg = ["svg", "rect", "path", "text", "title", "g"].includes(tag);
  const at = svg ? document.createElementNS("http://www.w3.org/2000/svg", tag)
    : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") at.addEventListener(name, value);
    else if (value !== undefined && value !== false) at.setAttribute(name, value);
  }
  at.append(...children.filter((child) => child !== undefined && child !== null));
  return at;
}

const gib = (bytes) => {
  const abs = Math.abs(bytes);
  if (abs >= GIB / 10 || bytes === 0) return (bytes / GIB).toFixed(2) + " GiB";
  return abs >= 2 ** 20 ? (bytes / 2 ** 20).toFixed(2) + " MiB" : bytes + " B";
};

function seconds(s) {
  if (!(s > 5e-13)) return "0";
  for (const [unit, size] of [["s", 1], ["ms", 1e-3], ["us", 1e-6]])
    if (s >= size) return (s / size).toPrecision(3) + " " + unit;
  return (s * 1e9).toPrecision(3) + " ns";
}

/* On one line. */
const whole = (text) => make("span", { class: "whole" }, text);

/* Columns: [title, row => cell, number?]; a cell is a text or an element. */
function table(columns, rows) {
  const cells = (tag, of) => columns.map(([title, cell, number]) =>
    make(tag, { class: number ? "n" : undefined }, of(title, cell)));
  return make("div", { class: "wide" }, make("table", {},
    make("thead", {}, make("tr", {}, ...cells("th", (title) => title))),
    make("tbody", {}, ...rows.map((row) =>
      make("tr", {}, ...cells("td", (title, cell) => cell(row)))))));
}

function download(name, type, text) {
  const url = URL.createObjectURL(new Blob([text], { type }));
  const link = make("a", { href: url, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}

const button = (text, click, attributes = {}) =>
  make("button", { type: "button", click, ...attributes }, text);

/* An SVG as a file of its own: with the colours that the page gives it. */
function svg_file(svg) {
  const copy = svg.cloneNode(true);
  const from = svg.querySelectorAll("*");
  copy.querySelectorAll("*").forEach((at, i) => {
    const style = getComputedStyle(from[i]);
    for (const name of ["fill", "stroke", "stroke-width", "stroke-dasharray", "font",
      "text-anchor"])
      at.style.setProperty(name, style.getPropertyValue(name));
  });
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  return new XMLSerializer().serializeToString(copy);
}
