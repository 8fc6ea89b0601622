// The conversation: what was asked and answered, and what runs.
import { Answer } from "./answer.js";
import { AnswerView } from "./answer_view.js";
import { complete } from "./api.js";
import { follow } from "./frames.js";
import { race } from "./race.js";
import { prepareRounds } from "./rounds.js";
import { loadSettings, requestBody, toggleSettings } from "./settings.js";
import { watchState } from "./state.js";

const log = byId("log");
const turns = [];  // {user, answer, node}: the answer is the last one given
let running = null;  // AbortController of what runs

function busy(controller) {
  running = controller;
  byId("stop").hidden = !controller;
  for (const id of ["send", "race"]) byId(id).hidden = Boolean(controller);
  byId("fresh").disabled = Boolean(controller);
  document.querySelectorAll(".again").forEach((b) => { b.disabled = Boolean(controller); });
}

const announce = (text) => { byId("said").textContent = text; };

const messagesBefore = (turn) => turns.slice(0, turns.indexOf(turn))
  .flatMap((t) => [{ role: "user", content: t.user }, { role: "assistant", content: t.answer?.content || "" }])
  .concat([{ role: "user", content: turn.user }]);

async function work(what) {
  const controller = new AbortController();
  busy(controller);
  follow();
  try {
    await what(controller.signal);
  } finally {
    busy(null);
  }
}

async function answerTurn(turn) {
  await work(async (signal) => {
    const answer = new Answer(), view = new AnswerView(answer);
    turn.view?.node.remove();
    turn.answer = answer;
    turn.view = view;
    view.tools.append(el("button", { type: "button", class: "small again", onclick: () => regenerate(turn) }, "Regenerate"));
    turn.node.append(view.node);
    view.node.classList.add("running");
    try {
      await complete(requestBody(messagesBefore(turn), byId("speculation").checked), signal, answer);
    } catch (error) {
      if (signal.aborted) answer.end("stopped", null);
      else view.fail(error);
    }
    view.node.classList.remove("running");
    announce(`Answer of ${answer.ids.length} tokens is complete.`);
  });
}

// What came after it answered something else.
async function regenerate(turn) {
  turns.splice(turns.indexOf(turn) + 1).forEach((t) => t.node.remove());
  await answerTurn(turn);
}

function takePrompt() {
  const box = byId("prompt"), text = box.value.trim();
  if (!text || running) return null;
  box.value = "";
  fit();
  byId("welcome")?.remove();
  return text;
}

const asked = (text) => el("div", { class: "asked" }, el("span", { class: "hidden-text" }, "You: "), text);

async function send() {
  const user = takePrompt();
  if (user === null) return;
  const turn = { user, answer: null, node: el("section", { class: "turn" }, asked(user)) };
  turns.push(turn);
  log.append(turn.node);
  await answerTurn(turn);
}

// A race is beside the conversation: it answers the prompt behind what was said so far, and is not remembered.
async function sendRace() {
  const user = takePrompt();
  if (user === null) return;
  const guest = { user };
  turns.push(guest);
  const messages = messagesBefore(guest);
  turns.pop();
  await work(async (signal) => {
    const { node, verdict, run } = race(messages, signal);
    log.append(el("section", { class: "turn" }, asked(user), node));
    await run();
    announce(verdict.textContent);
  });
}

function fit() {
  const box = byId("prompt");
  box.style.height = "auto";
  box.style.height = `${Math.min(box.scrollHeight, 200)}px`;
}

const examples = ["Write a function that reverses a linked list in C.", "Explain how a rainbow forms, for a child.",
  "List the planets with one fact each."];
function welcome() {
  turns.splice(0);
  log.replaceChildren(el("div", { id: "welcome" }, el("h2", {}, "The same answer, sooner"),
    el("p", {}, "Drafters guess ahead and the model checks many guesses at once. Tokens are tinted by who guessed them; choose one to see the round's draft tree."),
    el("div", { class: "examples" }, examples.map((text) => el("button", { type: "button", onclick: () => {
      byId("prompt").value = text;
      fit();
      byId("prompt").focus();
    } }, text)))));
}

byId("composer").addEventListener("submit", (event) => { event.preventDefault(); send(); });
byId("race").addEventListener("click", sendRace);
byId("stop").addEventListener("click", () => running?.abort());
byId("fresh").addEventListener("click", () => { welcome(); byId("prompt").focus(); });
byId("theme").addEventListener("click", () => setTheme(currentTheme() === "dark" ? "light" : "dark"));
byId("open-settings").addEventListener("click", () => toggleSettings());
byId("close-settings").addEventListener("click", () => { toggleSettings(false); byId("open-settings").focus(); });
byId("prompt").addEventListener("input", fit);
byId("prompt").addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  send();
});
addEventListener("keydown", (event) => {
  if (event.key === "Escape" && running && !document.querySelector("dialog[open]")) running.abort();
});
loadSettings();
prepareRounds();
welcome();
watchState();
