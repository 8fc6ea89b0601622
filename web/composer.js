// The box that messages are written in, with the files that go with them. What is being written is kept for the tab, by chat.
import { keepsHistory } from "./options.js";
import { keep, kept } from "./storage.js";

const box = byId("prompt"), name = "augur-drafts";
const drafts = new Map();  // by chat
let files = [];  // {name, text}, and in memory a promise of its tokens
let changedFiles = () => {};

export const nothing = { content: "", files: [] };
export const isEmpty = ({ content, files: of }) => !content && of.length === 0;
export const written = () => ({ content: box.value.trim(), files: files.map(({ name: of, text }) => ({ name: of, text })) });
export const onFiles = (call) => { changedFiles = call; };
export const attached = () => files;

export function fit() {
  box.style.height = "auto";
  box.style.height = `${Math.min(box.scrollHeight, 200)}px`;
}

export function attach(next) {
  files = next;
  changedFiles();
  box.dispatchEvent(new Event("input"));
}

export function write({ content, files: of }) {
  box.value = content;
  fit();
  attach(of);
}

// A message that was not answered. False: something else is written there by now.
export function giveBack(draft) {
  if (!isEmpty(written())) return false;
  write(draft);
  return true;
}

export const focusComposer = () => box.focus();

// Without the files, where these have no room.
function save() {
  if (!keepsHistory) return;
  const some = [...drafts].filter(([, draft]) => !isEmpty(draft)).slice(-50), json = (of) => some.length ? JSON.stringify(of) : null;
  keep("sessionStorage", name, json(some)) || keep("sessionStorage", name, json(some.map(([id, { content }]) => [id, { content, files: [] }])));
}

export function keepDraft(chat, draft = written()) {
  drafts.delete(chat);
  drafts.set(chat, draft);
  save();
}

export const draftOf = (chat) => drafts.get(chat) || nothing;

export function loadDrafts() {
  const isText = (v) => typeof v === "string";
  try {
    for (const [chat, { content, files: of }] of JSON.parse((keepsHistory && kept("sessionStorage", name)) || "[]")) {
      if (!isText(chat) || !isText(content)) throw new Error("no draft");
      drafts.set(chat, { content, files: of.filter((f) => isText(f.name) && isText(f.text)).map((f) => ({ name: f.name, text: f.text })) });
    }
    return true;
  } catch {
    return false;
  }
}
