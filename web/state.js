// The server's state, in the bar at the top: asked for every other second while the page is seen. And whether it is still
// the same server: one day another model may answer at this address.
import { request } from "./api.js";
import { explained } from "./figures.js";

const seconds = 2;
const shown = new Map();  // by name: {value, text}

function showState(load) {
  const gib = (bytes) => bytes < 2 ** 30 ? `${fixed(bytes / 2 ** 20, 0)} MiB` : `${fixed(bytes / 2 ** 30, 1)} GiB`;
  const share = (part, whole) => whole > 0 ? `${fixed(100 * part / whole, 0)}%` : "–";
  const rows = [
    ["running", load.running, "Requests that are answered at this moment."],
    ["waiting", load.waiting, "Requests that wait for a place or for memory."],
    ["cache", gib(load.memory_in_use), `Memory that holds what was read (keys and values), of ${gib(load.memory)}. ${share(load.cached_tokens, load.prompt_tokens)} of all prompt tokens were not read again.`],
    ["acceptance", share(load.num_accepted_tokens, load.num_draft_tokens), `Verified drafts that were accepted, of all requests that have ended: ${load.num_accepted_tokens} of ${load.num_draft_tokens}.`],
  ];
  for (const [name, value, text] of rows) {
    if (!shown.has(name)) {
      const entry = { number: el("span"), text };
      shown.set(name, entry);
      byId("state").append(el("div", {}, el("dt", {}, name), el("dd", {}, explained(() => entry.text, entry.number))));
    }
    const entry = shown.get(name);
    entry.number.textContent = value;
    entry.text = text;
  }
}

const json = (response) => response?.ok ? response.json().catch(() => null) : null;

// What the server says of its model; null: nothing.
async function showModel(quiet) {
  const response = await request("/v1/models", { quiet }).catch(() => null), model = (await json(response))?.data?.[0] ?? null;
  if (response === null && byId("model").textContent) return null;  // it is gone, and may come back
  byId("model").textContent = model?.id || (response === null || response.status === 401 ? "" : "loading…");
  document.title = model?.id ? `Augur: ${model.id}` : "Augur";
  return model;
}

// Calls replaced(name) where the server is not the one before; name: of its model, null if that is the same.
export async function watchState(replaced) {
  for (let before = null, lost = false, quiet = false; ; quiet = true) {
    if (document.visibilityState === "visible") {
      const model = await showModel(quiet), response = await request("/load", { quiet: true }).catch(() => null), load = await json(response);
      if (load) showState(load);
      byId("state").classList.toggle("lost", !load);
      const now = model && load && { id: model.id, said: JSON.stringify(model), steps: load.steps };
      // Its steps begin anew with it.
      if (now && before && (lost || now.said !== before.said || now.steps < before.steps)) replaced(now.id === before.id ? null : now.id);
      lost = !now;
      before = now || before;
    }
    await new Promise((resolve) => setTimeout(resolve, 1000 * seconds));
  }
}
