// A turn on the page: what was asked, the answer, and what went wrong.
export const asked = (text) => el("div", { class: "asked" }, el("span", { class: "hidden-text" }, "You: "), text);

export class TurnView {
  constructor(user) {
    this.asked = asked(user);
    this.view = null;  // of the answer
    this.node = el("section", { class: "turn" }, this.asked);
  }

  // In the place of the one before, which is returned.
  show(view) {
    const before = this.view;
    before?.node.remove();
    this.node.querySelectorAll(".warn").forEach((n) => n.remove());
    if (view) this.node.append(view.node);
    this.view = view;
    return before;
  }

  warn(text, ...buttons) {
    this.node.append(el("p", { class: "warn", role: "alert" }, text, " ", buttons));
  }

  // It is no part of the conversation. Where its text went back to the composer and nothing was answered, only the
  // reason stays, until something else is asked.
  fail(text, { returned, button }) {
    const began = this.view && this.view.answer.ids.length > 0;
    this.node.classList.add("failed");
    this.node.classList.toggle("passing", returned && !began);
    if (returned && !began) this.asked.remove();
    if (!began) this.show(null);
    this.warn(text, button);
  }

  leaveOut() {
    this.node.classList.add("left-out");
    this.node.prepend(el("p", { class: "note" }, "Left out of the conversation, for want of room."));
  }
}
