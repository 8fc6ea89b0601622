// The page: what its buttons do.
import { prepareAttachments } from "./attachments.js";
import { fit, focusComposer, loadDrafts, write } from "./composer.js";
import { measureSoon, prepareContext } from "./context.js";
import { current, isRunning, lookAgain, lookAtNew, makeRoom, prepareConversation, send, sendRace, stop } from "./conversation.js";
import { copyCodeIn } from "./copy.js";
import { askFacts } from "./facts.js";
import { keepOpen } from "./history.js";
import { prepareKey } from "./key.js";
import { prepareRounds } from "./rounds.js";
import { lackOf, loadSettings, showServers, toggleSettings } from "./settings.js";
import { drawChats, heardRunning, prepareChats } from "./sidebar.js";
import { watchState } from "./state.js";
import { keep, kept } from "./storage.js";
import { hearTabs, openStore } from "./store.js";
import { tell } from "./told.js";
import { prepareViews } from "./views.js";

const examples = ["Write a function that reverses a linked list in C.", "Explain how a rainbow forms, for a child.",
  "List the planets with one fact each."];

function closeSettings() {
  toggleSettings(false);
  byId("open-settings").focus();
}

const welcome = () => el("div", { id: "welcome" }, el("h2", {}, "The same answer, sooner"),
  el("p", {}, "Drafters guess ahead and the model checks many guesses at once. Show an answer as tokens to see who guessed which; choose one for the draft tree of its round."),
  el("div", { class: "examples" }, examples.map((text) => el("button", { type: "button", onclick: () => {
    write({ content: text, files: [] });
    focusComposer();
  } }, text))));

function fresh() {
  lookAtNew();
  focusComposer();
}

// The chat that this tab had open before, when the store has been read.
async function openChats() {
  const before = kept("sessionStorage", "augur-chat");
  lookAtNew(before && before.length < 100 ? before : undefined);
  focusComposer();
  const show = async () => {
    await lookAgain(current().id);
    drawChats();
  };
  await openStore(async () => {
    await keepOpen();
    tell("The browser keeps chats now.");
    await show();
  });
  await show();
}

// Another server at this address, or the same one again.
async function meetServer(model) {
  await askFacts();
  const lacks = showServers(), news = [model && `Another model answers now: ${model}.`, lacks && lackOf(lacks)].filter(Boolean);
  if (news.length > 0) tell(news.join(" "));
  measureSoon();
}

byId("composer").addEventListener("submit", (event) => { event.preventDefault(); send(); });
byId("race").addEventListener("click", sendRace);
byId("stop").addEventListener("click", stop);
byId("fresh").addEventListener("click", fresh);
byId("room-fresh").addEventListener("click", fresh);
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
  if (event.key !== "Escape" || document.querySelector("dialog[open], :popover-open")) return;
  if (byId("settings").contains(document.activeElement)) closeSettings();
  else if (isRunning()) stop();
});
// Without tints and sizes.
byId("log").addEventListener("copy", (event) => {
  event.clipboardData.setData("text/plain", getSelection().toString());
  event.preventDefault();
});
copyCodeIn(byId("log"));
prepareViews();
loadSettings();
prepareRounds();
prepareKey();
prepareAttachments();
prepareContext(current);
prepareConversation(welcome, drawChats);
prepareChats();
hearTabs((news) => { heardRunning(news.chat, news.running === true); drawChats(); });
if (!loadDrafts()) tell("What was being written here could not be read.");
openChats();
watchState(meetServer);
