// One answer as it comes: tokens tinted by who proposed them, figures, and its rounds.
const proposers = [];  // drafters in the order in which they were first seen: a drafter keeps its colour
function proposerIndex(name) {
  if (!name) return 0;
  if (!proposers.includes(name)) proposers.push(name);
  return proposers.indexOf(name) + 1;
}

class Answer {
  constructor(title) {
    this.ids = [];
    this.rounds = [];  // {round, spans, text}
    this.pending = [];  // spans of the round in flight
    this.begun = performance.now();
    this.text = el("div", { class: "answer-text" });
    this.figures = el("div", { class: "figures" }, el("span", { class: "soft" }, "reading…"));
    this.legend = el("div");
    this.button = el("button", { type: "button", class: "small", onclick: () => showRound(this, this.best()) }, "Rounds");
    this.button.hidden = true;
    this.tools = el("div", { class: "tools" }, this.button);
    this.node = el("article", { class: "answer", "aria-label": title || "Answer" }, title && el("h3", {}, title),
      this.text, this.legend, el("div", { class: "foot" }, this.figures, this.tools));
    this.text.addEventListener("click", (event) => {
      const at = this.rounds.findIndex((r) => r.spans.includes(event.target));
      if (at >= 0) showRound(this, at);
    });
  }

  // Text alone: what had been held back.
  token(text, who, thought) {
    const now = performance.now();
    if (who) {
      this.first ??= now;
      this.last = now;
      this.ids.push(who.id);
    }
    const index = who ? proposerIndex(who.drafter) : 0;
    if (index > 0) this.used ??= new Set();
    if (index > 0 && !this.used.has(index)) {
      this.used.add(index);
      this.legend.replaceChildren(legend([["the model's own", "var(--line)"],
        ...[...this.used].map((i) => [`${proposers[i - 1]}, deeper is stronger`, proposerColour(i, 4)])]));
    }
    const what = index > 0 ? `${who.drafter}, depth ${who.depth}` : "the model's own";
    const span = el("span", { class: thought ? "token thought" : "token", title: what, style: `background:${proposerColour(index, who?.depth || 0)}` }, text);
    this.text.append(span);
    this.pending.push(span);
    this.draw();
  }

  round(round) {
    if (this.pending.length > 1) this.pending[0].classList.add("start");
    this.rounds.push({ round, spans: this.pending });
    this.pending = [];
    this.button.hidden = false;
    this.draw();
  }

  end(reason, usage) {
    this.reason = reason;
    this.usage = usage;
    this.draw();
  }

  // Without what was thought.
  get content() {
    return [...this.text.children].filter((span) => !span.classList.contains("thought")).map((s) => s.textContent).join("");
  }
  get tau() { return this.rounds.length > 0 ? this.ids.length / this.rounds.length : NaN; }
  // The first token waits for the prompt.
  get speed() { return this.ids.length > 1 && this.last > this.first ? 1000 * (this.ids.length - 1) / (this.last - this.first) : NaN; }
  best() {
    const accepted = this.rounds.map((r) => r.round.accepted);
    return Math.max(0, accepted.indexOf(Math.max(...accepted)));
  }

  draw() {
    const fact = (value, name, title) => el("span", { title }, el("b", {}, value), ` ${name}`);
    const cached = this.usage?.prompt_tokens_details?.cached_tokens;
    this.figures.replaceChildren(...[
      fact(fixed(this.speed, 1), "tokens/s"),
      fact(fixed(this.tau, 2), "τ", "mean accepted length: tokens of one pass of the model"),
      fact(this.ids.length, this.ids.length === 1 ? "token" : "tokens"),
      this.first && fact(`${Math.round(this.first - this.begun)} ms`, "to the first"),
      cached > 0 && fact(cached, "prompt tokens from the cache"),
      this.reason === "length" && el("span", { class: "soft" }, "cut at the most tokens"),
      this.reason === "stopped" && el("span", { class: "soft" }, "stopped"),
    ].filter(Boolean));
  }

  fail(error) {
    this.node.append(el("p", { class: "warn", role: "alert" }, error.message));
    if (this.ids.length === 0) this.figures.replaceChildren();
  }

  // Runs a request into this answer. False: it failed.
  async run(body, signal) {
    try {
      await complete(body, signal, this);
      return true;
    } catch (error) {
      if (error.name !== "AbortError") {
        this.fail(error);
        return false;
      }
      this.end("stopped", null);
      return true;
    }
  }
}
