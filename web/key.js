// The server's key, kept for this tab, and the dialog that asks for it.
import { keep, kept } from "./storage.js";

const allowed = /^[\x21-\x7e]+$/;  // what a header can carry and a server can have
const dialog = byId("key-dialog");
let key = kept("sessionStorage", "augur-key") || "", asking = null;
if (!allowed.test(key)) key = "";

export const currentKey = () => key;

function set(value) {
  key = value;
  keep("sessionStorage", "augur-key", value || null);
}

// True: there is another key, or none, from now on. False: the dialog was left.
export function askForKey(title = key ? "The server refused this key" : "This server asks for a key") {
  byId("key-title").textContent = title;
  byId("key-error").textContent = "";
  byId("key").value = key;
  byId("forget-key").hidden = !key;
  dialog.returnValue = "";
  asking ??= new Promise((resolve) => {
    dialog.showModal();
    dialog.addEventListener("close", () => {
      asking = null;
      resolve(dialog.returnValue !== "");
    }, { once: true });
  });
  return asking;
}

export function prepareKey() {
  byId("key-form").addEventListener("submit", (event) => {
    event.preventDefault();
    const value = byId("key").value.trim();
    if (!allowed.test(value)) {
      byId("key-error").textContent = value ? "A key has ASCII letters, digits and signs, without blanks." : "Enter a key.";
      return byId("key").focus();
    }
    set(value);
    dialog.close("set");
  });
  byId("forget-key").addEventListener("click", () => { set(""); dialog.close("forgotten"); });
  byId("leave-key").addEventListener("click", () => dialog.close(""));
  byId("open-key").addEventListener("click", () => askForKey("The server's key"));
}
