/* The licences of what the page holds: of Debian's packages as their copyright files give them,
 * and of libyaml as its source does. assemble.js writes them into the page. */
"use strict";
const fs = require("fs");

/* Stanzas of a copyright file: what stands at "Files: *", and the texts by name. */
function read_copyright(name) {
  const text = fs.readFileSync(`/usr/share/doc/${name}/copyright`, "utf8");
  const stanzas = text.split(/\n\s*\n/);
  const all = stanzas.find((one) => /^Files: \*$/m.test(one));
  const field = (stanza, key) => {
    const found = new RegExp(`^${key}: *(.*(?:\\n[ \\t].*)*)`, "m").exec(stanza);
    return found && found[1].replace(/\n[ \t]+/g, "\n").trim();
  };
  const named = all && field(all, "License");
  if (!named) throw new Error(`${name}: its copyright file names no licence`);
  const [licence] = named.split("\n");
  const words = named.includes("\n") ? named : field(stanzas.find((one) =>
    one.trimStart().toLowerCase().startsWith(`license: ${licence.toLowerCase()}\n`)) || "",
  "License");
  if (!words) throw new Error(`${name}: no text of licence ${licence}`);
  return { name, licence, holder: field(all, "Copyright"),
    words: words.split("\n").slice(1).join("\n").replace(/^\.$/gm, "") };
}

/* One text: who holds the rights, then each licence's words once. */
module.exports = (packages, others) => {
  const read = packages.map(read_copyright);
  const texts = new Map();
  for (const { licence, words } of read) texts.set(words.replace(/\s+/g, " "), [licence, words]);
  return [...read.map(({ name, licence, holder }) =>
    `${name} (${licence})\nCopyright: ${holder}\n`),
  ...[...texts.values()].map(([licence, words]) => `---- ${licence}\n${words}\n`),
  ...others.map(([name, words]) => `---- ${name}\n${words}`)].join("\n");
};
