// Chats as the browser keeps them (IndexedDB), and what other tabs do with them. Where it keeps none, nothing is found,
// nothing is kept, and a line says so.
//
// Stores: chats by id; messages by chat and id; pieces: tokens and rounds of an answer, as they came.
import { keepsHistory } from "./options.js";
import { tell } from "./told.js";

const name = "augur-chats", version = 1, patience = 4000;  // milliseconds
const keys = { chats: "id", messages: ["chat", "id"], pieces: ["chat", "id", "at"] };
let db = null, told = "";

const words = {
  VersionError: "A newer Augur has kept chats here: this page leaves them alone, and keeps none itself.",
  QuotaExceededError: "The browser has no room left: what is new lasts until the page is left. Delete or export chats.",
  AbortError: "The browser did not take it: what is new lasts until the page is left.",
  Foreign: "What this browser keeps under the name of chats is none of Augur's: it is left alone, and chats last until the page is left.",
  Slow: "The browser takes long to open the chats that it keeps: until it has, what is new is not kept.",
  Taken: "Another tab has taken the kept chats for itself: reload this page when it is done. Until then nothing is kept.",
};

function failed(error) {
  const text = words[error?.name] || "This browser keeps no chats for this page: they last until it is left.";
  if (text !== told) tell(text);
  told = text;
}

const named = (error) => Object.assign(new Error(error), { name: error });

// `late` gets what opens after this was rejected.
function connect(late) {
  return new Promise((resolve, reject) => {
    const request = indexedDB.open(name, version);
    let opened = resolve;
    const goOn = (why) => { opened = late; reject(named(why)); };
    const timer = setTimeout(() => goOn("Slow"), patience);
    request.onupgradeneeded = () => Object.entries(keys).forEach(([store, keyPath]) => request.result.createObjectStore(store, { keyPath }));
    request.onblocked = () => goOn("Taken");
    request.onerror = () => reject(request.error);
    request.onsuccess = () => {
      clearTimeout(timer);
      opened(request.result);
    };
  });
}

function isOurs(database) {
  const stores = [...database.objectStoreNames];
  if (!Object.keys(keys).every((store) => stores.includes(store))) return false;
  const read = database.transaction(Object.keys(keys));
  return Object.entries(keys).every(([store, path]) => JSON.stringify(read.objectStore(store).keyPath) === JSON.stringify(path));
}

function take(opened) {
  if (!isOurs(opened)) {
    opened.close();
    throw named("Foreign");
  }
  db = opened;
  opened.onversionchange = opened.onclose = () => {
    opened.close();
    db = null;
    failed(named("Taken"));
  };
}

// `late`: called where the browser opens it after all, when this has returned.
export async function openStore(late) {
  if (!keepsHistory) return tell("This server's page keeps no history: chats last until the page is left.");
  const takes = async (opened) => {
    try {
      take(await opened);
      return true;
    } catch (error) {
      failed(error);
      return false;
    }
  };
  await takes(connect(async (opened) => { if (await takes(opened)) late(); }));
}

const ofChat = (chat) => IDBKeyRange.bound([chat], [chat, []]);

// What a transaction asks for: `ask` gets the stores and returns a request, or nothing. Null: it failed, which is said.
function transact(mode, ask) {
  if (!db) return Promise.resolve(null);
  return new Promise((resolve) => {
    const fail = (error) => { failed(error); resolve(null); };
    try {
      const transaction = db.transaction(Object.keys(keys), mode), request = ask((store) => transaction.objectStore(store));
      transaction.oncomplete = () => { if (mode === "readwrite") told = ""; resolve(request?.result ?? true); };
      transaction.onabort = () => fail(transaction.error);
      if (mode === "readwrite") transaction.commit();  // also where the page is being left
    } catch (error) {
      fail(error);
    }
  });
}

// Of one chat, or of all.
export const readAll = async (store, chat) => await transact("readonly", (of) => of(store).getAll(chat && ofChat(chat))) || [];
export const readChat = async (id) => await transact("readonly", (of) => of("chats").get(id));

// Adds to or replaces what is kept under the same keys. False: it is not kept.
export const put = async (records) => await transact("readwrite", (of) => {
  for (const [store, values] of Object.entries(records)) for (const value of values) of(store).put(value);
}) !== null;

// Of a chat: all, or some messages only.
export const drop = (chat, messages = null) => transact("readwrite", (of) => {
  if (!messages) of("chats").delete(chat);
  for (const range of messages ? messages.map((id) => [id]) : [null]) {
    of("messages").delete(range ? [chat, ...range] : ofChat(chat));
    of("pieces").delete(range ? IDBKeyRange.bound([chat, ...range], [chat, ...range, []]) : ofChat(chat));
  }
});

// Tabs tell each other what they changed: {chat, removed, running}.
let channel = null;
try {
  if (keepsHistory) channel = new BroadcastChannel(name);
} catch { /* this tab is alone */ }

export const tellTabs = (news) => channel?.postMessage(news);
export function hearTabs(heard) {
  channel?.addEventListener("message", ({ data }) => { if (typeof data?.chat === "string") heard(data); });
}
