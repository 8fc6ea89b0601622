// The conversation: a list of turns, each with a state. conversation.js runs it, turn_view.js draws a turn.
//
// A turn is {user, answer, state, out}. Its state: "running"; "kept", which alone is sent again; "failed". What is `out`
// was kept and is left out for want of room.
export class Chat {
  constructor() {
    this.turns = [];
  }

  add(user) {
    const turn = { user, answer: null, state: "running", out: false };
    this.turns.push(turn);
    return turn;
  }

  remove(turn) {
    this.turns = this.turns.filter((t) => t !== turn);
  }

  // Takes out what comes behind a turn, and returns it.
  cut(turn) {
    return this.turns.splice(this.turns.indexOf(turn) + 1);
  }

  // What `user` is asked behind: the turns before `turn`, or all.
  messages(user, turn = null) {
    const before = turn ? this.turns.slice(0, this.turns.indexOf(turn)) : this.turns;
    return before.filter((t) => t.state === "kept" && !t.out)
      .flatMap((t) => [{ role: "user", content: t.user }, { role: "assistant", content: t.answer.content }])
      .concat(user ? [{ role: "user", content: user }] : []);
  }

  // The oldest turn that is sent is no longer; null: there is none.
  leaveOutOldest() {
    const turn = this.turns.find((t) => t.state === "kept" && !t.out) || null;
    if (turn) turn.out = true;
    return turn;
  }
}
