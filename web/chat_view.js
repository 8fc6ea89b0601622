// A conversation on the page: the turns of its path, and what one can do with each.
import { AnswerView } from "./answer_view.js";
import { TurnView } from "./turn_view.js";

const button = (text, onclick, more) => el("button", { type: "button", class: "small act", onclick, ...more }, text);
const unfinished = ["length", "stopped", "cut"];

// `can`: what is called by the buttons: page(message), edit(user, text), regenerate(user), goOn(message).
export class ChatView {
  constructor(chat, can, welcome) {
    this.chat = chat;
    this.can = can;
    this.node = el("div", { class: "chat" }, chat.leaf ? null : welcome);
    this.turns = new Map();  // TurnViews by the user's message
    this.shown = [];  // of the path
  }

  turnOf(user) {
    const known = this.turns.get(user.id) || new TurnView(user);
    this.turns.set(user.id, known);
    return known;
  }

  // Of a message's answer: its view, again where another answer is in its place.
  answerOf(message) {
    const { turns } = this, turn = turns.get(message.parent), known = turn.answers.get(message.id);
    if (known?.answer === message.answer) return known;
    const view = new AnswerView(message.answer);
    view.more = el("span", { class: "more" });
    view.tools.append(view.more);
    view.draw();
    turn.answers.set(message.id, view);
    return view;
  }

  begin() {
    this.node.querySelectorAll("#welcome, .passing, .turn:not(.failed) > .warn").forEach((n) => n.remove());
  }

  // Draws the path. What comes behind its common beginning with the one before goes, races and failures too.
  draw() {
    const turns = this.chat.turns(), wanted = turns.map(({ user }) => this.turnOf(user)), { shown, node } = this;
    let same = 0;
    while (same < shown.length && shown[same] === wanted[same]) ++same;
    if (same < shown.length) while (node.lastChild && node.lastChild !== shown[same - 1]?.node) node.lastChild.remove();
    node.append(...wanted.slice(same).map((w) => w.node));
    this.shown = wanted;
    for (const [i, { user, answer }] of turns.entries()) this.drawTurn(wanted[i], user, answer);
  }

  drawTurn(view, user, answer) {
    view.leaveOut(user.out);
    view.tools.replaceChildren(...this.pager(user), button("Edit", () => view.edit((text) => this.can.edit(user, text))),
      ...answer ? [] : [el("span", { class: "soft" }, "It was not answered."), button("Answer", () => this.can.regenerate(user), { class: "small again" })]);
    view.show(answer && this.answerOf(answer));
    if (answer) this.drawTools(user, answer);
  }

  drawTools(user, message) {
    const { chat, can } = this, { answer } = message, goesOn = message.id === chat.leaf && unfinished.includes(answer.reason) && answer.content;
    this.answerOf(message).more.replaceChildren(...this.pager(message),
      ...goesOn ? [button("Continue", () => can.goOn(message), { title: "Goes on where the answer was cut" })] : [],
      button("Regenerate", () => can.regenerate(user), { class: "small again", title: "Another answer; this one stays, as a branch" }));
  }

  // ‹ 2/3 ›, where there are branches.
  pager(message) {
    const all = this.chat.branches(message), at = all.indexOf(message);
    const to = (by, sign, label) => el("button", { type: "button", class: "small act", "aria-label": label, disabled: all[at + by] ? null : "",
      "data-end": all[at + by] ? null : "", onclick: () => this.can.page(all[at + by]) }, sign);
    return all.length < 2 ? [] : [el("span", { class: "pager", role: "group", "aria-label": "Branches" },
      to(-1, "‹", "The branch before"), el("span", { class: "soft" }, ` ${at + 1}/${all.length} `), to(1, "›", "The next branch"))];
  }
}
