/* What the page takes from Debian's libraries, bundled at build by esbuild: of d3 scales, axes,
 * shapes and selections; CodeMirror with YAML, search and marks of mistakes. The charts and the
 * editor find them under the name `vendor`. */
export { bisectCenter, group, max } from "d3-array";
export { axisBottom, axisLeft } from "d3-axis";
export { format } from "d3-format";
export { scaleBand, scaleLinear, scalePoint } from "d3-scale";
export { clientPoint, select } from "d3-selection";
export { line } from "d3-shape";
import CodeMirror from "codemirror/lib/codemirror.js";
import "codemirror/mode/yaml/yaml.js";
import "codemirror/addon/dialog/dialog.js";
import "codemirror/addon/search/searchcursor.js";
import "codemirror/addon/search/search.js";
import "codemirror/addon/lint/lint.js";
export { CodeMirror };
