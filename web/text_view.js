// An answer as text: its Markdown, and before it what was thought, folded when the answer begins.
import { Prose } from "./prose.js";

export class TextView {
  constructor(answer) {
    this.answer = answer;
    this.prose = new Prose();
    this.thoughts = null;
    this.node = el("div", {}, this.prose.node);
  }

  draw() {
    const { content, thoughts, reason } = this.answer, began = content.trim() !== "";
    if (thoughts && !this.thoughts) {
      this.thoughts = new Prose();
      this.summary = el("summary", {}, "Thinking…");
      this.fold = el("details", { class: "thoughts", open: began ? null : "" }, this.summary, this.thoughts.node);
      this.node.prepend(this.fold);
    }
    if (this.thoughts) this.thoughts.draw(thoughts, Boolean(reason));
    if (this.thoughts && !this.thought && (began || reason)) {
      this.thought = true;
      this.summary.textContent = "What it thought";
      if (began) this.fold.open = false;
    }
    this.prose.draw(content, Boolean(reason));
  }
}
