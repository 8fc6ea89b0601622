// The chats of this tab and of the store: listed, read, kept, found, exported, imported.
import { Answer } from "./answer.js";
import { Chat } from "./chat.js";
import { chatRecord, exportOf, importOf, messageRecord, rooted } from "./records.js";
import { drop, put, readAll, readChat, tellTabs } from "./store.js";
import { tell } from "./told.js";

const open = new Map();  // chats that this tab has read or begun, by id
let changed = () => {};

export const onHistory = (call) => { changed = call; };

const recordOfChat = ({ id, title, named, created, updated, leaf }) => ({ id, title, named, created, updated, leaf });

function recordOf(message) {
  const { answer, ...kept } = message;
  if (!answer) return kept;
  const { content, thoughts, reason, usage, timings } = answer;
  return messageRecord({ ...kept, content, thought: thoughts, reason, usage, timings });
}

const isText = (v) => typeof v === "string", isCount = (v) => Number.isInteger(v) && v >= 0;

// A round that rounds.js can show.
const isRound = (r) => ["drafted", "verified", "accepted", "batch_rows"].every((n) => isCount(r?.[n])) && isText(r.next?.text)
  && Array.isArray(r.nodes) && r.nodes.every((n, i) => isText(n?.text) && Number.isInteger(n.parent) && n.parent >= -1 && n.parent < i);

// Tokens and rounds as they came. Throws where a piece is none.
function replay(pieces, answer) {
  for (const { tokens, rounds } of pieces.map((p) => JSON.parse(p.json))) {
    const ends = [...rounds], endRounds = () => {
      while (ends[0]?.[0] <= answer.tokens.length) {
        const [, round] = ends.shift();
        if (isRound(round)) answer.round(round);
      }
    };
    endRounds();
    for (const [text, id, drafter, depth, thought] of tokens) {
      if (!isText(text) || !(drafter === null || isText(drafter))) throw new Error("no token");
      answer.token(text, isCount(id) ? { id, drafter, depth: isCount(depth) ? depth : 0 } : null, Boolean(thought));
      endRounds();
    }
  }
}

// An answer that was kept. Where its tokens were not, or are damaged, its text is all of one piece.
function answerOf({ content, thought, reason, usage, timings }, pieces) {
  let answer = new Answer();
  try {
    replay(pieces.sort((a, b) => a.at - b.at), answer);
  } catch { /* seen by the texts */ }
  if (answer.content !== content || answer.thoughts !== thought) {
    answer = new Answer();
    if (thought) answer.token(thought, null, true);
    if (content) answer.token(content, null, false);
  }
  if (timings) answer.times(timings);
  answer.end(reason ?? "stopped", usage);  // without a reason: the page was left before its end
  return answer;
}

function messageOf(record, pieces) {
  if (record.role === "user") return record;
  const { content, thought, reason, usage, timings, ...message } = record, answer = answerOf(record, pieces);
  return { ...message, answer, saved: { tokens: answer.tokens.length, rounds: answer.rounds.length } };
}

// Into `chat`, but for what this tab itself writes.
async function readMessages(chat) {
  const pieces = new Map(), values = await readAll("messages", chat.id);
  for (const piece of await readAll("pieces", chat.id)) pieces.get(piece.id)?.push(piece) ?? pieces.set(piece.id, [piece]);
  const sound = rooted(values.flatMap((v) => { try { return messageRecord(v); } catch { return []; } }));
  for (const m of sound) {
    const known = chat.messages.get(m.id), same = known && (chat.running || !known.answer ||
      (known.answer.content === m.content && known.answer.reason === (m.reason ?? "stopped")));
    if (!same) chat.messages.set(m.id, messageOf(m, pieces.get(m.id) || []));
  }
  if (sound.length < values.length) tell(`${values.length - sound.length} messages of this chat are damaged and are not shown.`);
}

function isChat(value) {
  try {
    return Boolean(chatRecord(value));
  } catch {
    return false;
  }
}

export const newest = (chat) => [...chat.messages.values()].reduce((last, m) => m.created >= (last?.created ?? -Infinity) ? m : last, null);

// With a path that is there.
function settled(chat) {
  if (!chat.messages.has(chat.leaf)) {
    chat.leaf = null;
    chat.follow(newest(chat));
  }
  return chat;
}

// Null: there is none.
export async function chatOf(id) {
  if (open.has(id)) return open.get(id);
  const record = await readChat(id);
  if (!isChat(record)) return null;
  const chat = Object.assign(new Chat(id), chatRecord(record));
  await readMessages(chat);
  if (!open.has(id)) open.set(id, settled(chat));
  return open.get(id);
}

// Of all chats, the newest first.
export async function listed() {
  const kept = await readAll("chats"), sound = kept.filter(isChat).filter((c) => !open.has(c.id));
  if (kept.some((c) => !isChat(c))) tell(`${kept.filter((c) => !isChat(c)).length} of the kept chats are damaged and are not listed.`);
  return [...sound, ...[...open.values()].map((c) => ({ ...recordOfChat(c), running: Boolean(c.running) }))].sort((a, b) => b.updated - a.updated);
}

const firstLine = ({ content, files }) => (content || files[0]?.name || "Chat").trim().split("\n")[0].slice(0, 80);

// The chat, and of its messages these. Of an answer what is new since it was kept last.
export async function keepChat(chat, ...messages) {
  if (chat.removed) return;
  if (!open.has(chat.id)) chat.title ||= firstLine(chat.path()[0]);
  open.set(chat.id, chat);
  if (messages.length > 0) chat.updated = Date.now();
  const pieces = [];
  for (const { id, answer, saved } of messages.filter((m) => m.answer)) {
    const { tokens, rounds } = answer;
    if (tokens.length === saved.tokens && rounds.length === saved.rounds) continue;
    pieces.push({ chat: chat.id, id, at: saved.tokens + saved.rounds, json: JSON.stringify({
      tokens: tokens.slice(saved.tokens).map((t) => [t.text, t.id ?? -1, t.drafter, t.depth, t.thought ? 1 : 0]),
      rounds: rounds.slice(saved.rounds).map((r) => [r.to, r.round]) }) });
    Object.assign(saved, { tokens: tokens.length, rounds: rounds.length });
  }
  changed();
  await put({ chats: [recordOfChat(chat)], messages: messages.map((m) => ({ chat: chat.id, ...recordOf(m) })), pieces });
  tellTabs({ chat: chat.id, running: Boolean(chat.running) });
}

// All that this tab has, when nothing could be kept before.
export async function keepOpen() {
  for (const chat of open.values()) {
    const messages = [...chat.messages.values()];
    for (const { saved } of messages) if (saved) Object.assign(saved, { tokens: 0, rounds: 0 });
    await keepChat(chat, ...messages);
  }
}

export async function dropMessages(chat, ...messages) {
  for (const { id } of messages) chat.messages.delete(id);
  await drop(chat.id, messages.map((m) => m.id));
}

// Returns what brings it back.
export async function removeChat(id) {
  const chat = await chatOf(id), pieces = await readAll("pieces", id);
  if (!chat) return () => {};
  forget(chat);
  await drop(id);
  tellTabs({ chat: id, removed: true });
  changed();
  return async () => {
    chat.removed = false;
    open.set(id, chat);
    await put({ chats: [recordOfChat(chat)], messages: [...chat.messages.values()].map((m) => ({ chat: id, ...recordOf(m) })), pieces });
    tellTabs({ chat: id });
    changed();
  };
}

function forget(chat) {
  chat.removed = true;
  chat.running?.abort();
  open.delete(chat.id);
}

// What another tab has changed. Returns the chat, if this tab has it.
export async function takeNews({ chat: id, removed }) {
  const chat = open.get(id) ?? null;
  if (chat && removed) forget(chat);
  else if (chat) await readMessages(chat);
  changed();
  return chat;
}

const textsOf = async () => [...(await readAll("messages")).filter((m) => !open.has(m.chat)),
  ...[...open.values()].flatMap((chat) => [...chat.messages.values()].map((m) => ({ chat: chat.id, content: m.answer?.content ?? m.content })))];

// The ids of chats that have `text` in their title or in a message.
export async function found(text) {
  const has = (t) => typeof t === "string" && t.toLowerCase().includes(text.toLowerCase());
  return new Set([...(await listed()).filter((c) => has(c.title)).map((c) => c.id), ...(await textsOf()).filter((m) => has(m.content)).map((m) => m.chat)]);
}

export async function exported(ids) {
  const chats = (await Promise.all(ids.map(chatOf))).filter(Boolean);
  return exportOf(chats.map((chat) => ({ chat: recordOfChat(chat), messages: [...chat.messages.values()].map(recordOf) })));
}

// How many chats came. Of chats that are there already, messages that are not are added. Throws an Error.
export async function imported(text) {
  const chats = importOf(text);
  for (const { chat: record, messages } of chats) {
    const chat = await chatOf(record.id) ?? Object.assign(new Chat(record.id), record);
    const fresh = messages.filter((m) => !chat.messages.has(m.id));
    for (const m of fresh) chat.messages.set(m.id, messageOf(m, []));
    open.set(chat.id, settled(chat));
    await put({ chats: [recordOfChat(chat)], messages: fresh.map((m) => ({ chat: chat.id, ...m })) });
    tellTabs({ chat: chat.id });
  }
  changed();
  return chats.length;
}
