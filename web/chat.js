// A conversation: a tree of messages, of which one path is seen and sent. conversation.js runs it, chat_view.js draws it.
//
// A message is {id, parent, role, created}; parent: the message before it, null for the first. The user's has content,
// files ({name, text}), and is `out` where it and its answer are no longer sent, for want of room. The assistant's has an
// Answer, and the name of the model.
import { newId, textOf } from "./records.js";

export class Chat {
  constructor(id = newId()) {
    this.id = id;
    this.title = "";
    this.named = false;  // by the reader
    this.created = this.updated = Date.now();
    this.messages = new Map();
    this.leaf = null;  // the last message of the path
    this.running = null;  // AbortController of what runs
    this.removed = false;
  }

  // The last message is the new one.
  add(message) {
    const added = { id: newId(), created: Date.now(), ...message };
    this.messages.set(added.id, added);
    this.leaf = added.id;
    return added;
  }

  // From the first message to `id`.
  path(id = this.leaf) {
    const path = [];
    for (let m = this.messages.get(id); m; m = this.messages.get(m.parent)) path.push(m);
    return path.reverse();
  }

  // The path by turns, {user, answer}; answer: null where there is none yet.
  turns(id = this.leaf) {
    const turns = [];
    for (const m of this.path(id)) {
      if (m.role === "user") turns.push({ user: m, answer: null });
      else turns.at(-1).answer = m;
    }
    return turns;
  }

  // What a new message is behind: the path's last answer, or null.
  get tip() { return this.turns().findLast((t) => t.answer)?.answer.id ?? null; }

  // What is sent for an answer to message `id`, or to go on with it. An unanswered message on the way is not sent.
  sent(id = this.leaf) {
    return this.turns(id).filter(({ user, answer }) => !user.out && (user.id === id || answer))
      .flatMap(({ user, answer }) => [{ role: "user", content: textOf(user) },
        ...answer ? [{ role: "assistant", content: answer.answer.content }] : []]);
  }

  // The messages that stand for one another: other texts of the same message, other answers to it.
  branches(message) {
    return [...this.messages.values()].filter((m) => m.parent === message.parent)
      .sort((a, b) => a.created - b.created || (a.id < b.id ? -1 : 1));
  }

  // The path leads through `message`, to what was said last behind it.
  follow(message) {
    for (let next = message; next; next = this.branches({ parent: next.id }).at(-1)) this.leaf = next.id;
  }

  // The oldest turn that is sent is no longer; null: there is none.
  leaveOutOldest() {
    const user = this.turns().find((t) => t.answer && !t.user.out)?.user ?? null;
    if (user) user.out = true;
    return user;
  }
}
