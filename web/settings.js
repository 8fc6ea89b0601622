// What the user has set; kept by the browser for the next visit.
import { factsKnown } from "./facts.js";

const kept = ["system", "temperature", "top-p", "seed", "max-tokens", "drafter", "policy"];

function showSettings() {
  for (const id of ["temperature", "top-p"]) byId(`${id}-shown`).textContent = Number(byId(id).value).toFixed(2);
  for (const id of ["drafter", "policy"]) byId(id).disabled = !byId("speculation").checked;
}

const savedSettings = () => JSON.parse(localStorage.getItem("augur-settings") || "{}");

// What the server can draft with; it knows when its model is there.
async function offerDrafters() {
  const { types, default: usual } = (await factsKnown).speculative;
  const select = byId("drafter");
  select.options[0].textContent = `The server's: ${usual}`;
  for (const type of types.filter((name) => name !== "none")) select.append(el("option", { value: type }, type));
  select.value = savedSettings().drafter ?? "";
  if (select.selectedIndex < 0) select.value = "";
}

export function loadSettings() {
  const saved = savedSettings();
  for (const id of kept) if (saved[id] !== undefined) byId(id).value = saved[id];
  const changed = () => {
    localStorage.setItem("augur-settings", JSON.stringify(Object.fromEntries(kept.map((id) => [id, byId(id).value]))));
    showSettings();
  };
  for (const id of [...kept, "speculation"]) byId(id).addEventListener("input", changed);
  showSettings();
  offerDrafters();
}

const anySeed = () => crypto.getRandomValues(new Uint32Array(1))[0];

export function speculative(on) {
  if (!on) return { type: "none" };
  const plan = {};
  if (byId("drafter").value) plan.type = byId("drafter").value;
  if (byId("policy").value) plan.policy = byId("policy").value;
  return Object.keys(plan).length > 0 ? plan : null;
}

// Behind the system prompt, if there is one.
export function withSystem(messages) {
  const system = byId("system").value.trim();
  return system ? [{ role: "system", content: system }, ...messages] : messages;
}

// The body of a request for the answer to `messages`.
export function requestBody(messages, speculate, seed = byId("seed").value === "" ? anySeed() : Number(byId("seed").value)) {
  const most = Number(byId("max-tokens").value);
  return {
    messages: withSystem(messages),
    temperature: Number(byId("temperature").value), top_p: Number(byId("top-p").value), seed,
    max_tokens: most > 0 ? most : null, speculative: speculative(speculate),
  };
}

export function toggleSettings(open) {
  document.body.classList.toggle("with-settings", open);
  byId("open-settings").setAttribute("aria-expanded", String(document.body.classList.contains("with-settings")));
}
