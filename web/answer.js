// One answer as it comes: its tokens, rounds, and the server's figures. answer_view.js draws it.
export class Answer {
  constructor() {
    this.tokens = [];  // {text, id, drafter, depth, thought}; without an id: text that had been held back
    this.ids = [];
    this.rounds = [];  // {round, from, to}: its tokens
    this.content = "";  // without what was thought
    this.thoughts = "";
    this.timings = null;  // the server's
    this.usage = null;
    this.reason = null;  // why it ended: the server's word, or "stopped"
    this.most = null;  // tokens that it was asked to have at most
    this.context = null;  // of the model that wrote it, once that is asked for: another one may serve later
    this.waits = "";  // for what, before it begins
    this.onchange = () => {};
  }

  wait(text) {
    this.waits = text;
    this.onchange();
  }

  token(text, who, thought) {
    this.tokens.push({ text, id: who?.id, drafter: who?.drafter || null, depth: who?.depth || 0, thought });
    if (who) this.ids.push(who.id);
    if (thought) this.thoughts += text;
    else this.content += text;
    this.onchange();
  }

  round(round) {
    this.rounds.push({ round, from: this.rounds.at(-1)?.to ?? 0, to: this.tokens.length });
    this.onchange();
  }

  times(timings) {
    this.timings = timings;
    this.onchange();
  }

  end(reason, usage) {
    this.reason = reason;
    this.usage = usage;
    this.context = null;
    this.onchange();
  }

  // Why it ended, in words; `context`: tokens that the model takes which is served now.
  ending(context) {
    if (this.reason === "stopped") return "stopped";
    if (this.reason !== "length") return this.reason === "stop" ? "complete" : "";
    const { prompt_tokens: prompt = 0, completion_tokens: written = this.ids.length } = this.usage || {};
    if (this.most !== null && written >= this.most) return `cut at your limit of ${this.most} tokens`;
    this.context ??= context;
    return this.context && prompt + written >= this.context - 1 ? "cut: the model's context is full" : "cut at the server's limit of tokens";
  }

  get tau() { return this.rounds.length > 0 ? this.ids.length / this.rounds.length : NaN; }
  // Tokens a second as the server measured them: the page may draw later than they came.
  get speed() { return this.timings?.predicted_ms > 0 ? 1000 * this.timings.predicted_n / this.timings.predicted_ms : NaN; }
  // The round that accepted the most of those that drafted; -1: none did.
  get best() {
    const accepted = this.rounds.map((r) => r.round.drafted > 0 ? r.round.accepted : -1), most = accepted.reduce((a, b) => Math.max(a, b), -1);
    return most < 0 ? -1 : accepted.indexOf(most);
  }
}
