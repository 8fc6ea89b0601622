// An answer on the page: tokens tinted by who proposed them, and figures.
import { facts } from "./facts.js";
import { drawSoon } from "./frames.js";
import { proposerIndex, proposers } from "./proposers.js";
import { showRound } from "./rounds.js";

export class AnswerView {
  constructor(answer, title) {
    this.answer = answer;
    this.spans = [];  // of the answer's tokens that are drawn
    this.marked = 0;  // rounds whose first token is marked
    this.used = new Set();
    this.text = el("div", { class: "answer-text" });
    this.figures = el("div", { class: "figures" }, el("span", { class: "soft" }, "reading…"));
    this.legend = el("div");
    this.button = el("button", { type: "button", class: "small", hidden: "", onclick: () => showRound(this, answer.best) }, "Rounds");
    this.tools = el("div", { class: "tools" }, this.button);
    this.node = el("article", { class: "answer", "aria-label": title || "Answer" }, title && el("h3", {}, title),
      this.text, this.legend, el("div", { class: "foot" }, this.figures, this.tools));
    this.text.addEventListener("click", (event) => this.choose(event));
    this.draw = this.draw.bind(this);
    answer.onchange = () => drawSoon(this.draw);
  }

  // Opens the round of a token, unless the click was one of two that select a word, or ended a selection.
  choose(event) {
    clearTimeout(this.opening);
    const token = this.spans.indexOf(event.target), at = this.answer.rounds.findIndex((r) => r.from <= token && token < r.to);
    if (token < 0 || at < 0 || event.detail > 1 || !getSelection().isCollapsed) return;
    this.opening = setTimeout(() => { if (getSelection().isCollapsed) showRound(this, at); }, event.detail === 0 ? 0 : 300);
  }

  spansOf(at) {
    const { from, to } = this.answer.rounds[at];
    return this.spans.slice(from, to);
  }

  span({ text, drafter, depth, thought }) {
    const index = proposerIndex(drafter);
    return el("span", { class: thought ? "token thought" : "token", "data-drafted": index > 0 && "", title: index > 0 ? `${drafter}, depth ${depth}` : "the model's own",
      style: `background:${proposerColour(index, depth)}` }, text);
  }

  // What is new since it was drawn last.
  draw() {
    const { answer, used } = this, fresh = answer.tokens.slice(this.spans.length), known = used.size;
    const spans = fresh.map((token) => this.span(token));
    this.text.append(...spans);
    for (const span of spans) this.spans.push(span);
    for (const token of fresh) if (token.drafter) used.add(proposerIndex(token.drafter));
    if (used.size > known) this.legend.replaceChildren(legend([["the model's own", "var(--line)"],
      ...[...used].map((i) => [`${proposers[i - 1]}, deeper is stronger`, proposerColour(i, 4)])]));
    for (; this.marked < answer.rounds.length; ++this.marked) {
      const { from, to } = answer.rounds[this.marked];
      if (to - from > 1) this.spans[from].classList.add("start");
    }
    this.button.hidden = answer.rounds.length === 0;
    if (answer.tokens.length > 0 || answer.reason) this.drawFigures();
    else if (answer.waits) this.figures.replaceChildren(el("span", { class: "soft", role: "status" }, answer.waits));
  }

  drawFigures() {
    const { ids, speed, tau, timings, usage } = this.answer, ending = this.answer.ending(facts.context);
    const fact = (value, name, title) => el("span", { title }, el("b", {}, value), ` ${name}`);
    const cached = usage?.prompt_tokens_details?.cached_tokens;
    this.figures.replaceChildren(...[
      fact(fixed(speed, 1), "tokens/s", "as the server measured it"),
      fact(fixed(tau, 2), "τ", "mean accepted length: tokens of one pass of the model"),
      fact(ids.length, ids.length === 1 ? "token" : "tokens"),
      timings?.prompt_ms > 0 && fact(`${Math.round(timings.prompt_ms)} ms`, "to read the prompt"),
      cached > 0 && fact(cached, "prompt tokens from the cache"),
      ending && el("span", { class: "soft" }, ending),
    ].filter(Boolean));
  }

  fail(error) {
    this.node.append(el("p", { class: "warn", role: "alert" }, error.message));
    if (this.answer.ids.length === 0) this.figures.replaceChildren();
  }
}
