// An answer on the page: as text or as tokens, with its figures.
import { copyFrom } from "./copy.js";
import { facts } from "./facts.js";
import { Figures } from "./figures.js";
import { drawSoon } from "./frames.js";
import { showRound } from "./rounds.js";
import { TextView } from "./text_view.js";
import { TokensView } from "./tokens_view.js";
import { currentView, drawnByView } from "./views.js";

const means = {
  speed: "Tokens a second while the answer was written, as the server measured them.",
  tau: "τ, the mean accepted length: tokens that one pass of the model gave on average. Without speculation it is 1; more is faster.",
  count: "Tokens of the answer. A token is a piece of text, often a word or a part of one.",
  read: "How long the server took to read the prompt, before the first token of the answer.",
  cached: "Tokens of the prompt that the server had read before, and did not read again.",
};

export class AnswerView {
  constructor(answer, title) {
    this.answer = answer;
    this.asText = new TextView(answer);
    this.asTokens = new TokensView(answer, (at) => showRound(this, at));
    this.text = el("div", { class: "answer-text" });
    this.figures = el("div", { class: "figures" }, el("span", { class: "soft" }, "reading…"));
    this.shown = null;  // the figures, once there are some
    this.button = el("button", { type: "button", class: "small", hidden: "", onclick: () => showRound(this, answer.best) }, "Rounds");
    this.copy = el("button", { type: "button", class: "small copy", hidden: "", title: "Copy the answer as Markdown",
      onclick: () => copyFrom(this.copy, answer.content) }, "Copy");
    this.tools = el("div", { class: "tools" }, this.button, this.copy);
    this.node = el("article", { class: "answer", "aria-label": title || "Answer" }, title && el("h2", {}, title),
      this.text, this.asTokens.legend, el("div", { class: "foot" }, this.figures, this.tools));
    this.draw = this.draw.bind(this);
    this.rest = 0;  // until when nothing is drawn: a long block takes long, and the page has other work
    const gently = () => { if (performance.now() < this.rest) drawSoon(gently); else this.draw(); };
    answer.onchange = () => drawSoon(gently);
    drawnByView(this);
  }

  draw() {
    const { answer } = this, start = performance.now();
    // What was kept without its tokens has text only.
    const view = currentView() === "tokens" && answer.tokens.length > 0 ? this.asTokens : this.asText;
    view.draw();
    if (this.text.firstChild !== view.node) this.text.replaceChildren(view.node);
    this.asTokens.legend.hidden = view !== this.asTokens;
    this.button.hidden = answer.best < 0;
    this.copy.hidden = !answer.content;
    if (answer.tokens.length > 0 || answer.reason) this.drawFigures();
    else if (answer.waits) this.figures.replaceChildren(el("span", { class: "soft", role: "status" }, answer.waits));
    this.rest = performance.now() + 4 * (performance.now() - start);
  }

  drawFigures() {
    const { ids, speed, tau, timings, usage } = this.answer, ending = this.answer.ending(facts.context);
    const cached = usage?.prompt_tokens_details?.cached_tokens;
    if (!this.shown) this.figures.replaceChildren();
    this.shown ||= new Figures(this.figures);
    this.ending ||= el("span", { class: "soft" });
    this.ending.textContent = ending;
    this.shown.show([
      [fixed(speed, 1), "tokens/s", means.speed],
      [fixed(tau, 2), "τ", means.tau],
      [ids.length, ids.length === 1 ? "token" : "tokens", means.count],
      [timings?.prompt_ms > 0 && `${Math.round(timings.prompt_ms)} ms`, "to read the prompt", means.read],
      [cached > 0 && cached, "prompt tokens from the cache", means.cached],
    ], ending && this.ending);
  }

  fail(error) {
    this.node.append(el("p", { class: "warn", role: "alert" }, error.message));
    if (this.answer.ids.length === 0) this.figures.replaceChildren();
  }
}
