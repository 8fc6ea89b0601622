// How much of the model's context the conversation takes with what is being written, and what to do where it is full.
import { request } from "./api.js";
import { isEmpty, written } from "./composer.js";
import { facts, factsKnown } from "./facts.js";
import { explained } from "./figures.js";
import { textOf } from "./records.js";
import { withSystem } from "./settings.js";

const scarce = 0.1;  // less of the context than this is little room
const wanted = 0.6;  // of the context stays taken when turns are left out
let current = () => null, latest = 0, timer = null, taken = "";

// The conversation with what is being written.
const planned = (chat) => [...chat.sent(chat.tip), ...isEmpty(written()) ? [] : [{ role: "user", content: textOf(written()) }]];

// Null: the server does not say.
async function tokensOf(messages) {
  const whole = withSystem(messages);
  if (whole.length === 0) return 0;
  const response = await request("/v1/chat/completions/input_tokens", {
    method: "POST", quiet: true, headers: { "Content-Type": "application/json" }, body: JSON.stringify({ messages: whole }),
  }).catch(() => null);
  return response?.ok ? (await response.json().catch(() => null))?.input_tokens ?? null : null;
}

const number = (value) => value.toLocaleString("en");

function show(tokens) {
  const { context } = facts, known = tokens !== null && context > 0;
  byId("context").hidden = !known;
  if (!known) return offer(null);
  const left = Math.max(0, context - tokens);
  byId("context-meter").max = context;
  byId("context-meter").value = Math.min(tokens, context);
  byId("context-left").textContent = `${number(left)} tokens left`;
  taken = `The conversation and this message take ${number(tokens)} of ${number(context)} tokens of the model's context.`;
  const turns = current().tip !== null;
  if (left === 0 && !turns) return offer("The message is longer than the model's context: shorten it.", false);
  if (left === 0) return offer("The conversation has no room left for this message.");
  offer(left < scarce * context ? "Little room is left in the conversation." : null, turns);
}

function offer(text, turns = true) {
  byId("room").hidden = !text;
  byId("room-text").textContent = text || "";
  byId("trim").hidden = !turns;
  byId("room-fresh").hidden = !turns;
}

async function measure(messages) {
  const turn = ++latest;
  await factsKnown;
  const tokens = await tokensOf(messages);
  if (turn === latest) show(tokens);
  return tokens;
}

// Soon, once for many changes.
export function measureSoon() {
  clearTimeout(timer);
  timer = setTimeout(() => measure(planned(current())), 300);
}

// False: a message has no room for an answer, which is said.
export async function fits(messages) {
  if (facts.context === null) return true;
  const tokens = await measure(messages);
  return tokens === null || tokens < facts.context;
}

// Leaves out the oldest turns until there is room. Calls leftOut(message) for each.
export async function trim(leftOut) {
  const chat = current();
  for (let user = chat.leaveOutOldest(); user; user = chat.leaveOutOldest()) {
    leftOut(user);
    const tokens = await measure(planned(chat));
    if (tokens === null || tokens <= wanted * facts.context) break;
  }
}

// `of`: the conversation that is looked at.
export function prepareContext(of) {
  current = of;
  byId("context-figure").append(explained(() => taken, el("span", { id: "context-left" })));
  byId("prompt").addEventListener("input", measureSoon);
  byId("system").addEventListener("input", measureSoon);
  measureSoon();
}
