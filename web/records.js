// Chats and messages as they are kept, exported and imported: what is read is checked first.
export const newId = () => [...crypto.getRandomValues(new Uint8Array(12))].map((b) => b.toString(16).padStart(2, "0")).join("");

const mostText = 2 ** 24, mostName = 512, format = "augur-chats", version = 1;

const isObject = (v) => v !== null && typeof v === "object" && !Array.isArray(v);
const isText = (v) => typeof v === "string" && v.length <= mostText;
const isName = (v) => typeof v === "string" && v.length > 0 && v.length <= mostName;
const isTime = (v) => Number.isFinite(v) && Math.abs(v) <= 8.64e15;
const isFile = (v) => isObject(v) && isName(v.name) && isText(v.text);
const orNull = (is) => (v) => v === null || is(v);
const orNone = (is) => (v) => v === undefined || v === null || is(v);

const chatFields = {
  id: [isName, "an id"], title: [(v) => typeof v === "string" && v.length <= mostName, `a text of at most ${mostName} characters`],
  named: [(v) => typeof v === "boolean", "true or false"], created: [isTime, "milliseconds since 1970"],
  updated: [isTime, "milliseconds since 1970"], leaf: [orNull(isName), "the id of a message, or null"],
};
const messageFields = {
  id: [isName, "an id"], parent: [orNull(isName), "the id of a message, or null"],
  role: [(v) => v === "user" || v === "assistant", "user or assistant"], content: [isText, `a text of at most ${mostText} characters`],
  created: [isTime, "milliseconds since 1970"],
};
const userFields = { files: [orNone((v) => Array.isArray(v) && v.every(isFile)), "files with name and text"], out: [orNone((v) => typeof v === "boolean"), "true or false"] };
const answerFields = {
  thought: [orNone(isText), "a text"], reason: [orNone(isName), "a text, or null"], model: [orNone((v) => typeof v === "string" && v.length <= mostName), "a text"],
  usage: [orNone(isObject), "an object"], timings: [orNone(isObject), "an object"],
};

// What is known of an object, and nothing else. Throws an Error that names the field.
function checked(value, fields, at) {
  if (!isObject(value)) throw new Error(`${at}: expected an object`);
  const found = {};
  for (const [name, [is, expected]] of Object.entries(fields)) {
    const own = Object.hasOwn(value, name) ? value[name] : undefined;
    if (!is(own)) throw new Error(`${at}.${name}: expected ${expected}`);
    if (own !== undefined) found[name] = own;
  }
  return found;
}

const numbers = (value, names) => Object.fromEntries(names.filter((n) => Number.isFinite(value?.[n])).map((n) => [n, value[n]]));

export const chatRecord = (value, at = "chat") => checked(value, chatFields, at);

export function messageRecord(value, at = "message") {
  const found = checked(value, messageFields, at);
  if (found.role === "user") {
    const { files, out } = checked(value, userFields, at);
    return { ...found, files: (files || []).map(({ name, text }) => ({ name, text })), out: Boolean(out) };
  }
  const { thought, reason, model, usage, timings } = checked(value, answerFields, at);
  return {
    ...found, thought: thought || "", reason: reason ?? null, model: model || "",
    usage: usage ? numbers(usage, ["prompt_tokens", "completion_tokens"]) : null,
    timings: timings ? numbers(timings, ["prompt_n", "prompt_ms", "predicted_n", "predicted_ms"]) : null,
  };
}

// Those of `messages` that a path from a first message leads to.
export function rooted(messages) {
  const behind = new Map();
  for (const m of messages) behind.get(m.parent)?.push(m) ?? behind.set(m.parent, [m]);
  const found = (behind.get(null) || []).filter((m) => m.role === "user");
  for (const m of found) for (const next of behind.get(m.id) || []) if (next.role !== m.role) found.push(next);
  return found;
}

const longestTicks = (text) => (text.match(/`+/g) || []).reduce((most, run) => Math.max(most, run.length), 2);

// A user's message as it is sent: its files first, fenced, each with its name.
export function textOf({ content, files = [] }) {
  const fenced = files.map(({ name, text }) => {
    const fence = "`".repeat(longestTicks(text) + 1);
    return `${name}:\n${fence}\n${text}${text.endsWith("\n") ? "" : "\n"}${fence}`;
  });
  return [...fenced, content].filter(Boolean).join("\n\n");
}

// `chats`: {chat, messages} of records.
export const exportOf = (chats) => JSON.stringify({
  format, version, exported: new Date().toISOString(), chats: chats.map(({ chat, messages }) => ({ ...chat, messages })) }, null, 1);

// {chat, messages} of each chat of an export. Throws an Error that says what is wrong.
export function importOf(text) {
  let value = null;
  try {
    value = JSON.parse(text);
  } catch {
    throw new Error("expected JSON");
  }
  if (!isObject(value) || value.format !== format) throw new Error(`expected an export of chats ("format": "${format}")`);
  if (value.version !== version) throw new Error(`version: expected ${version}${value.version > version ? "; a newer Augur wrote it" : ""}`);
  if (!Array.isArray(value.chats)) throw new Error("chats: expected a list");
  const ids = new Set();
  return value.chats.map((c, i) => {
    const at = `chats[${i}]`, chat = chatRecord(c, at);
    if (ids.has(chat.id)) throw new Error(`${at}.id: another chat has it, too`);
    ids.add(chat.id);
    if (!Array.isArray(c.messages)) throw new Error(`${at}.messages: expected a list`);
    const messages = c.messages.map((m, j) => messageRecord(m, `${at}.messages[${j}]`));
    if (new Set(messages.map((m) => m.id)).size < messages.length) throw new Error(`${at}.messages: two have the same id`);
    const reached = new Set(rooted(messages)), lost = messages.findIndex((m) => !reached.has(m));
    if (lost >= 0) throw new Error(`${at}.messages[${lost}].parent: expected a message of the other role that the first one leads to`);
    return { chat, messages };
  });
}

// The path that is seen, to be read.
export const markdownOf = (chat) => [`# ${chat.title}`, ...chat.path().flatMap((m) => m.role === "user"
  ? ["## You", textOf(m)] : [`## ${m.model || "Answer"}`, m.answer.content])].join("\n\n") + "\n";
