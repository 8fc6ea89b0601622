// A text in Markdown that grows. Blocks that are finished stay as they are: only what is behind them is read again.
import { nodesOf, parse } from "./markdown.js";
import { typeset } from "./maths.js";

const mostOpen = 100000;  // letters: what is longer without a block's end is shown as plain text

// Makes `old` what `fresh` is, and keeps the nodes that didn't change: what is selected or has the focus stays so.
function patch(old, fresh) {
  const before = [...old.childNodes], after = [...fresh.childNodes];
  after.forEach((node, i) => {
    const was = before[i];
    if (!was) return old.append(node);
    if (was.isEqualNode(node)) return;
    if (was.nodeName === node.nodeName && was.cloneNode(false).isEqualNode(node.cloneNode(false)) && was.nodeType === Node.ELEMENT_NODE) patch(was, node);
    else was.replaceWith(node);
  });
  before.slice(after.length).forEach((node) => node.remove());
}

// The line from which on `tokens` are not finished; 0: all. Lines of Markdown can change what the two before them are.
// Maths that have not ended do so before an empty line.
function openLine(tokens, lines) {
  const starts = tokens.filter((t) => t.level === 0 && t.map && t.nesting >= 0).map((t) => t.map[0]);
  const maths = lines.some((line) => /^\s*(?:\$\$|\\\[)/.test(line));
  return starts.reverse().find((at) => at > 0 && at <= lines.length - 3 && (!maths || !lines[at - 1].trim())) ?? 0;
}

export class Prose {
  constructor() {
    this.finished = el("div", { class: "blocks" });
    this.open = el("div", { class: "blocks" });
    this.node = el("div", { class: "prose" }, this.finished, this.open);
    this.clear();
  }

  clear() {
    this.taken = 0;  // letters of the source that are finished
    this.env = {};  // the addresses that links name, as far as they are finished
    this.finished.replaceChildren();
    this.open.replaceChildren();
  }

  nodes(tokens, env) {
    const fragment = nodesOf(tokens, env);
    typeset(fragment, () => this.retypeset());
    return fragment;
  }

  retypeset() {
    typeset(this.node, () => {});
  }

  // `whole`: nothing comes any more.
  draw(text, whole) {
    const source = text.replace(/\r\n?/g, "\n"), open = source.slice(this.taken);
    if (open.length > mostOpen) return this.open.replaceChildren(el("p", { class: "plain", dir: "auto" }, open));
    try {
      this.drawOpen(open);
      // A link may have been used before its address was named.
      if (whole && this.taken > 0 && open !== source && Object.keys(this.named).length > 0) {
        this.clear();
        const env = {};
        patch(this.open, this.nodes(parse(source, env), env));
      }
    } catch {
      this.open.replaceChildren(el("p", { class: "plain", dir: "auto" }, open));
    }
  }

  drawOpen(open) {
    const env = { above: this.env.above, references: { ...this.env.references } }, lines = open.split("\n");
    const tokens = parse(open, env), at = openLine(tokens, lines);
    if (at > 0) {
      const done = `${lines.slice(0, at).join("\n")}\n`;
      this.finished.append(this.nodes(parse(done, this.env), this.env));
      this.taken += done.length;
      return this.drawOpen(open.slice(done.length));
    }
    this.named = env.references;
    patch(this.open, this.nodes(tokens, env));
  }
}
