// Runs the conversation: asks, answers again, races, stops.
import { Answer } from "./answer.js";
import { AnswerView } from "./answer_view.js";
import { complete } from "./api.js";
import { Chat } from "./chat.js";
import { fit, focusComposer, giveBack, write, written } from "./composer.js";
import { fits, measureSoon, trim } from "./context.js";
import { drawNow, follow } from "./frames.js";
import { race } from "./race.js";
import { requestBody, settingsAreValid } from "./settings.js";
import { TurnView, asked } from "./turn_view.js";

export const chat = new Chat();
const views = new Map();  // of the turns
const log = byId("log");
let running = null;  // AbortController of what runs

const announce = (text) => { byId("said").textContent = text; };

// The focus does not stay on a button that goes.
function busy(controller) {
  const held = document.activeElement;
  running = controller;
  byId("stop").hidden = !controller;
  for (const id of ["send", "race"]) byId(id).hidden = Boolean(controller);
  for (const id of ["fresh", "trim", "room-fresh"]) byId(id).disabled = Boolean(controller);
  document.querySelectorAll(".again").forEach((b) => { b.disabled = Boolean(controller); });
  if (held === document.body || held?.matches("#send, #race, #stop, .again, #trim")) focusComposer();
}

export const isRunning = () => running !== null;
export const stop = () => running?.abort();

async function work(what) {
  if (running || !settingsAreValid()) return;
  const controller = new AbortController();
  busy(controller);
  follow();
  try {
    await what(controller.signal);
  } finally {
    busy(null);
    measureSoon();
  }
}

// Into `turn`'s view. Returns the answer, or throws.
async function answerInto(view, messages, signal) {
  view.node.classList.add("running");
  try {
    await complete(requestBody(messages, byId("speculation").checked), signal, view.answer);
  } catch (error) {
    if (!signal.aborted) throw error;
    view.answer.end("stopped", null);
  } finally {
    view.node.classList.remove("running");
    drawNow(view.draw);
  }
}

function newAnswer(turn) {
  const view = new AnswerView(new Answer());
  view.tools.append(el("button", { type: "button", class: "small again", onclick: () => regenerate(turn) }, "Regenerate"));
  return view;
}

const count = (answer) => `${answer.ids.length} token${answer.ids.length === 1 ? "" : "s"}`;

function keep(turn, answer) {
  turn.answer = answer;
  turn.state = "kept";
  announce(answer.reason === "stopped" ? `Stopped after ${count(answer)}.` : `The answer of ${count(answer)} is complete.`);
}

// A turn that has no answer is no part of the conversation: its text goes back to where it was written.
function withdraw(turn, text) {
  chat.remove(turn);
  turn.state = "failed";
  const returned = giveBack(turn.user);
  views.get(turn).fail(text, { returned, button: !returned && el("button", { type: "button", class: "small again",
    onclick: () => ask(turn.user) }, "Ask again") });
  announce(text);
}

function begin() {
  byId("welcome")?.remove();
  log.querySelectorAll(".passing").forEach((n) => n.remove());
}

async function ask(user) {
  await work(async (signal) => {
    if (!await fits(chat.messages(user))) {
      giveBack(user);
      return announce(byId("room-text").textContent);
    }
    if (written() === user) write("");
    begin();
    const turn = chat.add(user), turnView = new TurnView(user), view = newAnswer(turn);
    views.set(turn, turnView);
    turnView.show(view);
    log.append(turnView.node);
    try {
      await answerInto(view, chat.messages(user, turn), signal);
    } catch (error) {
      return withdraw(turn, error.message);
    }
    if (view.answer.ids.length === 0 && view.answer.reason === "stopped") return withdraw(turn, "Stopped before an answer began.");
    keep(turn, view.answer);
  });
}

// Another answer. What came behind the old one answered something else; it stays where the new one fails.
async function regenerate(turn) {
  await work(async (signal) => {
    begin();
    const turnView = views.get(turn), view = newAnswer(turn), before = turnView.show(view), later = chat.cut(turn);
    later.forEach((t) => views.get(t).node.remove());
    let failure = null;
    try {
      await answerInto(view, chat.messages(turn.user, turn), signal);
      if (view.answer.ids.length === 0 && view.answer.reason === "stopped") failure = "Stopped before an answer began.";
    } catch (error) {
      failure = error.message;
    }
    if (!failure) return keep(turn, view.answer);
    turnView.show(before);
    turnView.warn(`${failure} The answer before it stays.`);
    announce(failure);
    for (const t of later) {
      chat.turns.push(t);
      log.append(views.get(t).node);
    }
  });
}

export async function send() {
  if (written()) await ask(written());
}

// A race is beside the conversation: it answers the prompt behind what was said so far, and is not remembered.
export async function sendRace() {
  const user = written();
  if (!user) return;
  await work(async (signal) => {
    const messages = chat.messages(user);
    if (!await fits(messages)) return announce(byId("room-text").textContent);
    write("");
    begin();
    const { node, verdict, run } = race(messages, signal);
    log.append(el("section", { class: "turn" }, asked(user), node));
    if (!await run()) giveBack(user);
    announce(verdict.textContent);
  });
}

export async function makeRoom() {
  await work(() => trim((turn) => views.get(turn).leaveOut()));
  focusComposer();
}

// Forgets all of it; what is being written stays.
export function clear() {
  chat.turns = [];
  views.clear();
  log.replaceChildren();
  measureSoon();
  fit();
}
