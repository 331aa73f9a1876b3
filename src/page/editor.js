/* The text of a plan or a job, in CodeMirror: coloured, searched by Ctrl-F, with a mark and the
 * planner's words at the line of a mistake. */
"use strict";

let editor;

/* What the planner says of a text, as CodeMirror's linter wants it. */
async function mistakes_of(text, tell) {
  if (!text.trim()) return tell([]);
  const sets = text === state.text ? state.sets : {};
  try {
    await full.ask("quick", "", { name: state.name, text, sets });
    tell([]);
  } catch (error) {
    if (error.cancelled) return;
    const line = Math.max(0, (error.line || 1) - 1), ch = Math.max(0, (error.column || 1) - 1);
    const end = (editor.getLine(line) || "").length;
    tell([{ from: { line, ch }, to: { line, ch: Math.max(end, ch + 1) }, severity: "error",
      message: [error.text, error.hint].filter(Boolean).join("; ") }]);
  }
}

const take_text = () => use_text(editor.getValue(),
  editor.getValue() === state.text ? state.name : "pasted text");

/* Opens the editor at a line of the plan's text. */
function go_to(line, column) {
  $("editing").open = true;
  editor.refresh();
  editor.setCursor({ line: line - 1, ch: Math.max(0, column - 1) });
  editor.focus();
}

function make_editor() {
  editor = vendor.CodeMirror.fromTextArea($("text"), { mode: "yaml", lineNumbers: true,
    inputStyle: "contenteditable", screenReaderLabel: "the plan's text", tabSize: 2,
    gutters: ["CodeMirror-lint-markers"],
    lint: { getAnnotations: mistakes_of, async: true, delay: 400, highlightLines: true },
    /* the tabulator goes on to the next field */
    extraKeys: { Tab: false, "Shift-Tab": false, "Ctrl-Enter": take_text,
      "Cmd-Enter": take_text } });
  editor.setValue(state.text);
  $("editing").addEventListener("toggle", () => editor.refresh());
}
