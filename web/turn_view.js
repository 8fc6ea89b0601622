// A turn on the page: what was asked, the answer, and what went wrong.
const sizeOf = (text) => text.length < 2000 ? `${text.length} characters` : `${Math.round(text.length / 1000)}k characters`;

export const asked = ({ content, files = [] }) => el("div", { class: "asked" }, el("span", { class: "hidden-text" }, "You: "),
  files.map(({ name, text }) => el("details", { class: "file" }, el("summary", {}, `${name} (${sizeOf(text)})`), el("pre", {}, text))), content);

export class TurnView {
  constructor(user) {
    this.user = user;
    this.asked = asked(user);
    this.view = null;  // of the answer
    this.answers = new Map();  // the views of all that were shown, by message
    this.tools = el("div", { class: "tools asked-tools" });
    this.node = el("section", { class: "turn" }, this.asked, this.tools);
  }

  // In the place of the one before.
  show(view) {
    if (view === this.view) return;
    this.node.querySelectorAll(".warn").forEach((n) => n.remove());
    this.view?.node.remove();
    if (view) this.node.append(view.node);
    this.view = view;
  }

  warn(text, ...buttons) {
    this.node.append(el("p", { class: "warn", role: "alert" }, text, " ", buttons));
  }

  // In the place of the text, a box with it. Calls send(text).
  edit(send) {
    const box = el("textarea", { rows: Math.min(12, this.user.content.split("\n").length + 1), "aria-label": "The message" });
    const close = () => { form.replaceWith(this.asked); this.tools.hidden = false; };
    const form = el("form", { class: "editing", onsubmit: (event) => {
      event.preventDefault();
      if (!box.value.trim() && this.user.files.length === 0) return;
      close();
      send(box.value.trim());
    }, onkeydown: (event) => {
      if (event.key === "Escape") close();
      else if (event.key === "Enter" && !event.shiftKey && !event.isComposing) form.requestSubmit();
      else return;
      event.preventDefault();
      event.stopPropagation();
    } }, box, el("div", { class: "actions" }, el("span", { class: "space" }), el("button", { type: "button", onclick: close }, "Cancel"),
      el("button", { type: "submit", class: "main" }, "Send")));
    box.value = this.user.content;
    this.asked.replaceWith(form);
    this.tools.hidden = true;
    box.focus();
  }

  // It is no part of the conversation. Where its text went back to the composer and nothing was answered, only the
  // reason stays, until something else is asked.
  fail(text, { returned, button }) {
    const began = this.view && this.view.answer.ids.length > 0;
    this.node.classList.add("failed");
    this.node.classList.toggle("passing", returned && !began);
    this.tools.remove();
    this.view?.more.remove();
    if (returned && !began) this.asked.remove();
    if (!began) this.show(null);
    this.warn(text, button);
  }

  leaveOut(out) {
    this.node.classList.toggle("left-out", Boolean(out));
    this.note?.remove();
    this.note = out ? el("p", { class: "note" }, "Left out of the conversation, for want of room.") : null;
    if (out) this.node.prepend(this.note);
  }
}
