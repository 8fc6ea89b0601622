// An answer as tokens, tinted by who proposed them; a click on one opens its round.
import { proposerIndex, proposers } from "./proposers.js";

export function tokenSpan({ text, drafter, depth, thought }) {
  const index = proposerIndex(drafter);
  return el("span", { class: thought ? "token thought" : "token", "data-drafted": index > 0 && "",
    title: index > 0 ? `${drafter}, depth ${depth}` : "the model's own", style: `background:${proposerColour(index, depth)}` }, text);
}

export class TokensView {
  constructor(answer, open) {
    this.answer = answer;
    this.open = open;
    this.spans = [];  // of the answer's tokens that are drawn
    this.marked = 0;  // rounds whose first token is marked
    this.used = new Set();
    this.legend = el("div");
    this.node = el("span", { class: "tokens" });
    this.node.addEventListener("click", (event) => this.choose(event));
  }

  // Opens the round of a token, unless the click was one of two that select a word, or ended a selection.
  choose(event) {
    clearTimeout(this.opening);
    const token = this.spans.indexOf(event.target), at = this.answer.rounds.findIndex((r) => r.from <= token && token < r.to);
    if (token < 0 || at < 0 || event.detail > 1 || !getSelection().isCollapsed) return;
    this.opening = setTimeout(() => { if (getSelection().isCollapsed) this.open(at); }, event.detail === 0 ? 0 : 300);
  }

  mark({ from, to }) {
    this.spans.slice(from, to).forEach((s) => s.classList.add("inround"));
  }

  unmark() {
    this.node.querySelectorAll(".inround").forEach((s) => s.classList.remove("inround"));
  }

  // What is new since it was drawn last.
  draw() {
    const { answer, used } = this, fresh = answer.tokens.slice(this.spans.length), known = used.size;
    const spans = fresh.map(tokenSpan);
    this.node.append(...spans);
    for (const span of spans) this.spans.push(span);
    for (const token of fresh) if (token.drafter) used.add(proposerIndex(token.drafter));
    if (used.size > known) this.legend.replaceChildren(legend([["the model's own", "var(--line)"],
      ...[...used].map((i) => [`${proposers[i - 1]}, deeper is stronger`, proposerColour(i, 4)])]));
    for (; this.marked < answer.rounds.length; ++this.marked) {
      const { round, from, to } = answer.rounds[this.marked], spans = this.spans.slice(from, to);
      if (spans.length > 1) spans[0].classList.add("start");
      if (round.drafted === 0) spans.forEach((s) => s.classList.add("alone"));
    }
  }
}
