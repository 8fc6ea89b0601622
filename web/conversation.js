// Runs conversations: asks, answers again, goes on, races, stops. One is looked at; others may run meanwhile.
import { Answer } from "./answer.js";
import { complete } from "./api.js";
import { Chat } from "./chat.js";
import { ChatView } from "./chat_view.js";
import { draftOf, focusComposer, giveBack, isEmpty, keepDraft, nothing, write, written } from "./composer.js";
import { fits, measureSoon, trim } from "./context.js";
import { drawNow, follow } from "./frames.js";
import { chatOf, dropMessages, keepChat, newest, onHistory, takeNews } from "./history.js";
import { race } from "./race.js";
import { textOf } from "./records.js";
import { allowsContinuing, refuse, requestBody, settingsAreValid } from "./settings.js";
import { keep } from "./storage.js";
import { hearTabs } from "./store.js";
import { tell } from "./told.js";
import { asked } from "./turn_view.js";

const log = byId("log"), views = new Map();  // ChatViews by chat
let chat = null;  // that is looked at
let welcome = () => null, changed = () => {};

export const current = () => chat;
export const isRunning = () => Boolean(chat.running);
export const stop = () => chat.running?.abort();

function viewOf(of) {
  if (!views.has(of)) {
    const can = { page: (message) => page(of, message), edit: (user, content) => edit(of, user, content), regenerate: (user) => regenerate(of, user),
      goOn: (message) => goOn(of, message) };
    views.set(of, new ChatView(of, can, welcome()));
    views.get(of).draw();
  }
  return views.get(of);
}

const announce = (of, text) => { byId("said").textContent = of === chat ? text : `${of.title}: ${text}`; };

// What the buttons can do.
function enable() {
  const running = isRunning();
  byId("stop").hidden = !running;
  for (const id of ["send", "race"]) byId(id).hidden = running;
  byId("trim").disabled = running;
  log.querySelectorAll(".again, .act:not([data-end])").forEach((b) => { b.disabled = running; });
}

// The focus does not stay on a button that goes.
function showBusy() {
  const held = document.activeElement;
  enable();
  if (held === document.body || held?.matches("#send, #race, #stop, .again, .act, #trim")) focusComposer();
}

async function work(of, what) {
  if (of.running || !settingsAreValid()) return;
  of.running = new AbortController();
  showBusy();
  follow();
  try {
    await what(of.running.signal);
  } finally {
    of.running = null;
    drawNow(() => viewOf(of).draw());
    showBusy();
    measureSoon();
    changed();
  }
}

const count = (answer) => `${answer.ids.length} token${answer.ids.length === 1 ? "" : "s"}`;
const answersThatRun = new Map();  // messages by chat

// Keeps what has come, once a second and where the page is left.
const keepAll = () => answersThatRun.forEach((message, of) => keepChat(of, ...message.answer.tokens.length ? [message] : []));
setInterval(keepAll, 1000);
addEventListener("pagehide", keepAll);
document.addEventListener("visibilitychange", keepAll);

// A page that is being left ends its requests: an answer is then stopped, and has not failed.
let leaves = Promise.resolve();
for (const event of ["beforeunload", "pagehide"]) addEventListener(event, () => { leaves = new Promise((stays) => setTimeout(stays, 3000)); });
addEventListener("pageshow", (event) => { if (event.persisted) location.reload(); });

// Into `message`'s answer. Returns why it failed, or null.
async function run(of, message, body, signal) {
  const { answer } = message, view = viewOf(of).answerOf(message);
  view.node.classList.add("running");
  answersThatRun.set(of, message);
  try {
    await complete(body, signal, answer);
  } catch (error) {
    await leaves;
    if (!signal.aborted) {
      refuse(error);
      answer.end("cut", null);
      return error.message;
    }
    answer.end("stopped", null);
  } finally {
    answersThatRun.delete(of);
    view.node.classList.remove("running");
    drawNow(view.draw);
  }
  return answer.reason === "stopped" && answer.tokens.length === 0 ? "Stopped before an answer began." : null;
}

// A new answer to `user`, the path's last message. Where it fails, the path ends at `before` again, and what came of it
// is a branch. Returns {failure, message}.
async function answerTo(of, user, before, signal) {
  const message = of.add({ role: "assistant", parent: user.id, answer: new Answer(), model: byId("model").textContent, saved: { tokens: 0, rounds: 0 } });
  viewOf(of).draw();
  showBusy();
  const failure = await run(of, message, requestBody(of.sent(user.id), byId("speculation").checked), signal);
  if (failure) of.leaf = before;
  if (failure && message.answer.tokens.length === 0) await dropMessages(of, message);
  else await keepChat(of, message);
  if (!failure) announce(of, message.answer.reason === "stopped" ? `Stopped after ${count(message.answer)}.` : `The answer of ${count(message.answer)} is complete.`);
  return { failure, message };
}

const draftIn = (of, draft) => of === chat ? giveBack(draft) : isEmpty(draftOf(of.id)) && (keepDraft(of.id, draft), true);

// A turn that failed is no part of the conversation: its text goes back to where it was written.
async function withdraw(of, user, failure) {
  const draft = { content: user.content, files: user.files }, returned = draftIn(of, draft), { turns, node } = viewOf(of), turn = turns.get(user.id);
  turn.fail(failure, { returned, button: !returned && el("button", { type: "button", class: "small again", onclick: () => ask(of, draft) }, "Ask again") });
  turns.delete(user.id);
  viewOf(of).shown.pop();
  node.append(turn.node);
  if (!of.branches({ parent: user.id }).length) await dropMessages(of, user);
  announce(of, failure);
}

async function hasRoom(of, draft) {
  const messages = [...of.sent(of.tip), { role: "user", content: textOf(draft) }];
  if (await fits(messages)) return messages;
  draftIn(of, draft);
  announce(of, byId("room-text").textContent);
  return null;
}

async function ask(of, draft) {
  await work(of, async (signal) => {
    if (!await hasRoom(of, draft)) return;
    if (of === chat && textOf(written()) === textOf(draft)) write(nothing);
    viewOf(of).begin();
    const before = of.leaf, user = of.add({ role: "user", parent: of.tip, ...draft, out: false });
    await keepChat(of, user);
    const { failure } = await answerTo(of, user, before, signal);
    if (failure) await withdraw(of, user, failure);
  });
}

// Another answer, or the first.
async function regenerate(of, user) {
  await work(of, async (signal) => {
    const before = of.leaf, turn = viewOf(of).turns.get(user.id), first = of.branches({ parent: user.id }).length === 0;
    viewOf(of).begin();
    of.leaf = user.id;
    const { failure } = await answerTo(of, user, before, signal);
    if (!failure) return;
    viewOf(of).draw();
    turn.warn(first ? failure : `${failure} The answer before it stays.`);
    announce(of, failure);
  });
}

// Another message in the place of `old`.
async function edit(of, old, content) {
  await work(of, async (signal) => {
    viewOf(of).begin();
    const before = of.leaf, user = of.add({ role: "user", parent: old.parent, content, files: old.files, out: false });
    await keepChat(of, user);
    const { failure, message } = await answerTo(of, user, before, signal);
    if (!failure) return;
    viewOf(of).draw();
    if (!of.messages.has(message.id) && draftIn(of, { content, files: old.files })) await dropMessages(of, user);
    viewOf(of).turns.get(old.id).warn(`${failure} The message before it stays.`);
    announce(of, failure);
  });
}

async function goOn(of, message) {
  if (!allowsContinuing()) return;
  await work(of, async (signal) => {
    const { answer } = message, { reason, usage } = answer, messages = of.sent(message.id), had = answer.tokens.length;
    if (!await fits(messages)) return announce(of, byId("room-text").textContent);
    viewOf(of).begin();
    answer.end(null, null);
    const failure = await run(of, message, { ...requestBody(messages, byId("speculation").checked), continue_final_message: true }, signal);
    if (failure && answer.tokens.length === had) answer.end(reason, usage);
    await keepChat(of, message);
    viewOf(of).draw();
    if (failure) viewOf(of).turns.get(message.parent).warn(failure);
    announce(of, failure || `The answer has ${count(answer)} now.`);
  });
}

function page(of, message) {
  const label = document.activeElement.getAttribute("aria-label");
  of.follow(message);
  viewOf(of).draw();
  viewOf(of).turns.get(message.role === "user" ? message.id : message.parent).node.querySelector(`.pager [aria-label="${label}"]:enabled`)?.focus();
  enable();
  measureSoon();
  keepChat(of);
}

export async function send() {
  if (!isEmpty(written())) await ask(chat, written());
}

// A race is beside the conversation: it answers the prompt behind what was said so far, and is not remembered.
export async function sendRace() {
  const draft = written(), of = chat;
  if (isEmpty(draft)) return;
  await work(of, async (signal) => {
    const messages = await hasRoom(of, draft);
    if (!messages) return;
    write(nothing);
    viewOf(of).begin();
    const { node, verdict, run: both } = race(messages, signal);
    viewOf(of).node.append(el("section", { class: "turn" }, asked(draft), node));
    if (!await both()) draftIn(of, draft);
    announce(of, verdict.textContent);
  });
}

export async function makeRoom() {
  const of = chat;
  await work(of, () => trim((user) => {
    viewOf(of).draw();
    keepChat(of, user);
  }));
  focusComposer();
}

// Looks at a conversation. What runs in the one before goes on.
export function look(at) {
  if (chat) keepDraft(chat.id);
  chat = at;
  keep("sessionStorage", "augur-chat", at.id);
  log.replaceChildren(viewOf(at).node);
  write(draftOf(at.id));
  showBusy();
  measureSoon();
  follow();
  changed();
}

export const lookAtNew = (id) => look(new Chat(id));

// What another tab wrote is seen, and what is behind the last message here is followed.
async function hear(news) {
  const of = await takeNews(news), last = of && newest(of);
  if (!of || of.running) return;
  if (news.removed) {
    if (of === chat) lookAtNew();
    return of === chat || tell("This chat was deleted in another tab.");
  }
  if (of.leaf === null || of.path(last?.id).some((m) => m.id === of.leaf)) of.follow(last);
  if (!views.has(of)) return;
  viewOf(of).begin();
  drawNow(() => viewOf(of).draw());
  enable();
}

// `greet`: makes what an empty conversation shows. `call`: the list may look different.
export function prepareConversation(greet, call) {
  welcome = greet;
  changed = call;
  onHistory(call);
  hearTabs(hear);
  byId("prompt").addEventListener("input", () => keepDraft(chat.id));
}

// The chat of this tab before it was left, unless something was begun meanwhile.
export async function lookAgain(id) {
  const of = id && await chatOf(id);
  if (of && chat.id === id && chat.messages.size === 0) look(of);
}
