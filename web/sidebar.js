// The list of chats: opened, found, renamed, deleted, exported, imported.
import { current, look, lookAtNew } from "./conversation.js";
import { chatOf, exported, found, imported, keepChat, listed, removeChat } from "./history.js";
import { markdownOf } from "./records.js";
import { keep, kept } from "./storage.js";
import { tell } from "./told.js";

const wide = matchMedia("(min-width: 1100px)"), mostImported = 2 ** 28, elsewhere = new Map();
const dialog = byId("chat-dialog");
let chosen = null, drawing = 0, timer = null;

const day = (time) => new Date(time).setHours(0, 0, 0, 0);
function groupOf(time) {
  const days = Math.round((day(Date.now()) - day(time)) / 86400000);
  return days < 1 ? "Today" : days === 1 ? "Yesterday" : days < 7 ? "The last 7 days" : new Date(time).toLocaleDateString("en", { month: "long", year: "numeric" });
}

const bold = (text) => el("b", { class: "runs" }, text);

function item({ id, title, updated, running }) {
  const runs = running || Date.now() - (elsewhere.get(id) ?? 0) < 3000;
  return el("li", { class: "kept-chat" }, el("button", { type: "button", class: "open-chat", title: `${title}\n${new Date(updated).toLocaleString("en")}`,
    "aria-current": id === current().id ? "true" : null, onclick: () => open(id) }, title, runs && bold(" · answering")),
  el("button", { type: "button", class: "small chat-more", "aria-label": `Rename, export or delete ${title}`, onclick: () => choose(id, title) }, "⋯"));
}

async function draw() {
  const turn = ++drawing, text = byId("find").value.trim(), [chats, ids] = [await listed(), text && await found(text)];
  if (turn !== drawing) return;
  const groups = new Map(), held = document.activeElement?.closest?.(".kept-chat") && document.activeElement.title;
  for (const chat of chats.filter((c) => !ids || ids.has(c.id))) {
    const group = groupOf(chat.updated);
    groups.set(group, [...groups.get(group) || [], chat]);
  }
  byId("chat-list").replaceChildren(...[...groups].flatMap(([name, some]) => [el("h2", {}, name), el("ul", {}, some.map(item))]),
    ...groups.size === 0 ? [el("p", { class: "note" }, text ? "No chat has this." : "No chats yet.")] : []);
  if (held) [...byId("chat-list").querySelectorAll(".open-chat")].find((b) => b.title === held)?.focus();
}

// Soon, once for many changes.
export function drawChats() {
  clearTimeout(timer);
  timer = setTimeout(draw, 50);
}

export function heardRunning(id, running) {
  elsewhere.set(id, running ? Date.now() : 0);
  if (running) setTimeout(drawChats, 3100);
}

async function open(id) {
  const chat = await chatOf(id);
  if (!chat) return tell("This chat cannot be read.");
  look(chat);
  if (!wide.matches) toggleChats(false);
}

function choose(id, title) {
  chosen = id;
  byId("chat-title").value = title;
  dialog.showModal();
}

async function rename() {
  const chat = await chatOf(chosen), title = byId("chat-title").value.trim().slice(0, 200);
  if (!chat || !title || title === chat.title) return;
  Object.assign(chat, { title, named: true });
  await keepChat(chat);
}

async function remove() {
  const chat = await chatOf(chosen);
  if (!chat) return;
  const bringBack = await removeChat(chosen), seen = chat === current();
  if (seen) lookAtNew();
  const undo = el("button", { type: "button", class: "small", onclick: async () => {
    await bringBack();
    tell("");
    if (seen) look(chat);
  } }, "Undo");
  tell(`“${chat.title}” is deleted.`, undo);
}

function download(text, type, file) {
  const url = URL.createObjectURL(new Blob([text], { type }));
  el("a", { href: url, download: file }).click();
  setTimeout(() => URL.revokeObjectURL(url), 60000);
}

const fileName = (title) => title.replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-|-$/g, "").slice(0, 60) || "chat";

async function exportAs(kind) {
  const chat = await chatOf(chosen);
  if (!chat) return;
  if (kind === "json") download(await exported([chosen]), "application/json", `${fileName(chat.title)}.json`);
  else download(markdownOf(chat), "text/markdown", `${fileName(chat.title)}.md`);
}

async function importFiles(files) {
  for (const file of files) {
    try {
      if (file.size > mostImported) throw new Error("expected at most 256 MiB");
      const count = await imported(await file.text());
      tell(`${count} chat${count === 1 ? "" : "s"} of ${file.name} came in.`);
    } catch (error) {
      tell(`${file.name} is not imported: ${error.message}.`);
    }
  }
}

// Open in a wide window, unless it was closed there.
export function toggleChats(to) {
  const opened = document.body.classList.toggle("with-chats", to);
  byId("open-chats").setAttribute("aria-expanded", String(opened));
  if (wide.matches) keep("localStorage", "augur-chats-list", opened ? null : "closed");
  else if (opened) byId("find").focus();
}

export function prepareChats() {
  toggleChats(wide.matches && kept("localStorage", "augur-chats-list") !== "closed");
  byId("open-chats").addEventListener("click", () => toggleChats());
  byId("find").addEventListener("input", drawChats);
  const input = byId("import-file");
  byId("import").addEventListener("click", () => input.click());
  input.addEventListener("change", async () => { await importFiles([...input.files]); input.value = ""; });
  byId("export-all").addEventListener("click", async () => download(await exported((await listed()).map((c) => c.id)), "application/json", "augur-chats.json"));
  byId("chat-form").addEventListener("submit", (event) => { event.preventDefault(); dialog.close(); rename(); });
  for (const [id, act] of [["delete-chat", remove], ["export-json", () => exportAs("json")], ["export-markdown", () => exportAs("markdown")], ["leave-chat", () => {}]]) {
    byId(id).addEventListener("click", () => { dialog.close(); act(); });
  }
  byId("chats").addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    event.stopPropagation();
    toggleChats(false);
    byId("open-chats").focus();
  });
}
