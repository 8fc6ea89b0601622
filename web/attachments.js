// Text files that go with a message: chosen, dropped or pasted.
import { request } from "./api.js";
import { attach, attached, focusComposer, onFiles } from "./composer.js";
import { tell } from "./told.js";

const mostBytes = 2 ** 20, mostFiles = 20;

const named = (name) => name.replace(/[\p{Cc}`]/gu, "").slice(-200) || "file";

// Throws an Error that says why it is refused.
async function readFile(file) {
  if (file.size > mostBytes) throw new Error(`has ${(file.size / 2 ** 20).toFixed(1)} MiB: expected at most 1`);
  const bytes = await file.arrayBuffer().catch(() => { throw new Error("cannot be read"); });
  let text = "";
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new Error("is no text in UTF-8");
  }
  if (text.includes("\0")) throw new Error("is binary: expected a text");
  if (!text.trim()) throw new Error("is empty");
  return { name: named(file.name), text: text.replaceAll("\r\n", "\n") };
}

// Null: the server does not say.
async function tokensOf(text) {
  const response = await request("/tokenize", { method: "POST", quiet: true, headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ content: text }) }).catch(() => null);
  return response?.ok ? (await response.json().catch(() => null))?.tokens?.length ?? null : null;
}

async function add(chosen) {
  const refused = [];
  for (const file of chosen) {
    try {
      if (attached().length >= mostFiles) throw new Error(`is one too many: expected at most ${mostFiles}`);
      const read = await readFile(file);
      attach([...attached(), read]);
    } catch (error) {
      refused.push(`${named(file.name)} ${error.message}.`);
    }
  }
  if (refused.length > 0) tell(refused.join(" "));
  focusComposer();
}

function show() {
  byId("files").replaceChildren(...attached().map((file) => {
    const size = el("span", { class: "soft" });
    file.tokens ??= tokensOf(file.text);
    file.tokens.then((tokens) => { if (tokens !== null) size.textContent = `${tokens.toLocaleString("en")} tokens`; });
    return el("li", {}, el("span", {}, file.name), " ", size, el("button", { type: "button", class: "small", "aria-label": `Leave out ${file.name}`,
      onclick: () => { attach(attached().filter((f) => f !== file)); focusComposer(); } }, "✕"));
  }));
}

export function prepareAttachments() {
  const input = byId("attach-file");
  onFiles(show);
  byId("attach").addEventListener("click", () => input.click());
  input.addEventListener("change", async () => { await add([...input.files]); input.value = ""; });
  const take = (event, data) => {
    const files = [...data?.files || []];
    if (files.length === 0) return;
    event.preventDefault();
    add(files);
  };
  byId("prompt").addEventListener("paste", (event) => take(event, event.clipboardData));
  addEventListener("dragover", (event) => { if ([...event.dataTransfer?.types || []].includes("Files")) event.preventDefault(); });
  addEventListener("drop", (event) => take(event, event.dataTransfer));
}
