// The document, and what every part of the report draws with.
const D = JSON.parse(document.getElementById("data").textContent);
const times = (value) => fixed(value, 2) + "×";
const whole = (value) => Math.round(value).toLocaleString("en");
const percent = (value) => fixed(100 * value, value > 0 && value < 0.0995 ? 1 : 0) + "%";
const colour = (method) => `var(--c${method === 0 ? 0 : 1 + (method - 1) % 9})`;
const label = (method) => D.methods[method].label;
const count = (n, thing) => `${n} ${thing}${n === 1 ? "" : "s"}`;
// A label that may break after commas and colons.
const breaking = (method) => label(method).split(/(?<=[,:;])/).flatMap((piece) => [piece, el("wbr")]);
// A table's first cell.
const nameCell = (method, more) => el("td", { class: "name", ...hint(D.methods[method].text) }, el("div", {},
  el("i", { style: `background:${colour(method)}` }), el("span", {}, breaking(method), more || "")));
const per = (row, key) => row[key] / Math.max(row.calls, 1);

function quantile(sorted, q) {
  if (sorted.length === 0) return NaN;
  const at = q * (sorted.length - 1), low = Math.floor(at);
  return sorted[low] + (at - low) * (sorted[Math.min(low + 1, sorted.length - 1)] - sorted[low]);
}
const mean = (values) => values.reduce((a, b) => a + b, 0) / values.length;

// A box that is drawn for its width, and again when that changes.
const redraws = [];
function box(draw) {
  const node = el("div");
  let drawn = 0;
  const again = (force) => {
    const width = Math.floor(node.clientWidth);
    if (width === 0 || (!force && width === drawn)) return;
    drawn = width;
    node.replaceChildren(...[draw(width)].flat());
  };
  redraws.push(again);
  node.redraw = () => again(true);
  return node;
}
let waiting = 0;
addEventListener("resize", () => {
  clearTimeout(waiting);
  waiting = setTimeout(() => redraws.forEach((again) => again(false)), 100);
});

// Which methods the line charts show; all of them share one choice.
const shown = new Set();
const watchers = [];
function methodLegend(methods) {
  const node = el("div", { class: "legend" });
  const draw = () => node.replaceChildren(...methods.map((m) => {
    const input = el("input", { type: "checkbox", onchange: () => {
      shown.has(m) ? shown.delete(m) : shown.add(m);
      watchers.forEach((changed) => changed());
    } });
    input.checked = shown.has(m);
    return el("label", { class: shown.has(m) ? "" : "off" }, input, el("i", { style: `background:${colour(m)}` }), label(m));
  }));
  watchers.push(draw);
  draw();
  return node;
}

function chooser(options, chosen, changed) {
  const select = el("select", { onchange: () => changed(options[select.selectedIndex][0]) },
    options.map(([value, text]) => el("option", { selected: value === chosen }, text)));
  return select;
}
