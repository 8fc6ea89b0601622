// The page: what its buttons do.
import { fit, focusComposer, write } from "./composer.js";
import { prepareContext } from "./context.js";
import { chat, clear, isRunning, makeRoom, send, sendRace, stop } from "./conversation.js";
import { prepareKey } from "./key.js";
import { prepareRounds } from "./rounds.js";
import { loadSettings, toggleSettings } from "./settings.js";
import { watchState } from "./state.js";
import { keep } from "./storage.js";

const examples = ["Write a function that reverses a linked list in C.", "Explain how a rainbow forms, for a child.",
  "List the planets with one fact each."];

function closeSettings() {
  toggleSettings(false);
  byId("open-settings").focus();
}

function welcome() {
  clear();
  byId("log").append(el("div", { id: "welcome" }, el("h2", {}, "The same answer, sooner"),
    el("p", {}, "Drafters guess ahead and the model checks many guesses at once. Tokens are tinted by who guessed them; choose one to see the round's draft tree."),
    el("div", { class: "examples" }, examples.map((text) => el("button", { type: "button", onclick: () => {
      write(text);
      focusComposer();
    } }, text)))));
  focusComposer();
}

byId("composer").addEventListener("submit", (event) => { event.preventDefault(); send(); });
byId("race").addEventListener("click", sendRace);
byId("stop").addEventListener("click", stop);
byId("fresh").addEventListener("click", welcome);
byId("room-fresh").addEventListener("click", welcome);
byId("trim").addEventListener("click", makeRoom);
byId("theme").addEventListener("click", () => {
  setTheme(currentTheme() === "dark" ? "light" : "dark");
  keep("localStorage", "augur-theme", currentTheme());
});
byId("open-settings").addEventListener("click", () => toggleSettings());
byId("close-settings").addEventListener("click", closeSettings);
byId("prompt").addEventListener("input", fit);
byId("prompt").addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  send();
});
addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || document.querySelector("dialog[open]")) return;
  if (byId("settings").contains(document.activeElement)) closeSettings();
  else if (isRunning()) stop();
});
// Without tints and sizes.
byId("log").addEventListener("copy", (event) => {
  event.clipboardData.setData("text/plain", getSelection().toString());
  event.preventDefault();
});
loadSettings();
prepareRounds();
prepareKey();
prepareContext(chat);
welcome();
watchState();
