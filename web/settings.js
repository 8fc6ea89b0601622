// What the user has set; kept by the browser for the next visit. What is left empty is the server's own.
import { facts, factsKnown } from "./facts.js";
import { keep, kept } from "./storage.js";
import { tell } from "./told.js";

const name = "augur-settings";
const numeric = ["temperature", "top-p", "top-k", "min-p", "repeat-penalty", "presence-penalty", "frequency-penalty", "seed", "max-tokens"];
const fields = ["system", ...numeric, "stops", "schema", "policy", "drafter", "speculation"];
const inRequest = (id) => id === "schema" ? "response_format" : id.replace("-", "_");
let wished = "";  // the drafter that was kept, until the server has said which it has

const isSwitch = (id) => byId(id).type === "checkbox";
const valueOf = (id) => isSwitch(id) ? (byId(id).checked ? "on" : "off") : id === "drafter" ? byId(id).value || wished : byId(id).value;

// Empty: it is one, or nothing.
function schemaFault(text) {
  if (!text.trim()) return "";
  try {
    const schema = JSON.parse(text);
    return schema && typeof schema === "object" && !Array.isArray(schema) ? "" : "Expected a JSON object, as {\"type\": \"object\"}.";
  } catch (error) {
    return `Expected JSON: ${error.message}.`;
  }
}

// Says beside a field what it expects. False: it has something else.
function check(id) {
  const field = byId(id), wrong = byId(`${id}-wrong`);
  if (!wrong) return true;
  if (id === "schema") field.setCustomValidity(schemaFault(field.value));
  const { valid } = field.validity;
  const whole = field.step === "1" ? "a whole number" : "a number";
  wrong.textContent = valid ? "" : field.validity.customError ? field.validationMessage : field.max ? `Expected ${whole} from ${field.min} to ${field.max}.` : `Expected ${whole} from ${field.min}.`;
  field.setAttribute("aria-invalid", String(!valid));
  return valid;
}

// False: it is no value of the field, which has its default instead.
function put(id, value) {
  const field = byId(id);
  if (isSwitch(id)) {
    field.checked = value !== "off";
    return value === "on" || value === "off";
  }
  if (id === "drafter" && typeof value === "string") wished = value;
  if (id === "drafter" && facts.speculative === null) return typeof value === "string";
  field.value = typeof value === "string" ? value : "";
  const taken = field.value === value && check(id);
  if (!taken) field.value = "";
  check(id);
  return taken;
}

function readSaved() {
  const text = kept("localStorage", name);
  if (text === null) return {};
  try {
    const saved = JSON.parse(text);
    if (saved && typeof saved === "object" && !Array.isArray(saved)) return saved;
  } catch { /* said below */ }
  tell("The settings that this browser kept could not be read: the defaults are used.");
  return {};
}

function showSaved() {
  const saved = readSaved(), odd = fields.filter((id) => Object.hasOwn(saved, id) && !put(id, saved[id]));
  if (odd.length > 0) tell(`The kept settings have no valid ${odd.join(", ")}: the default is used.`);
}

function changed() {
  for (const id of ["drafter", "policy"]) byId(id).disabled = !byId("speculation").checked;
  const valid = fields.filter(check);
  if (!keep("localStorage", name, JSON.stringify(Object.fromEntries(valid.map((id) => [id, valueOf(id)]))))) {
    tell("This browser keeps nothing for this page: settings last until it is left.");
  }
}

// What the server does by itself, and can draft with. Returns the chosen drafter that it doesn't have, or "".
export function showServers() {
  const { speculative: { types, default: usual }, params } = facts, select = byId("drafter"), chosen = valueOf("drafter");
  for (const id of numeric.filter((n) => n !== "seed" && n !== "max-tokens")) {
    const value = params[inRequest(id)];
    byId(id).placeholder = Number.isFinite(value) ? `${Number(value.toFixed(3))}, the server's` : "the server's";
  }
  select.replaceChildren(el("option", { value: "" }, `The server's: ${usual}`), ...types.filter((t) => t !== "none").map((type) => el("option", { value: type }, type)));
  const lacks = put("drafter", chosen) ? "" : chosen;
  wished = "";
  return lacks;
}

export const lackOf = (drafter) => `This server has no drafter ${drafter}: its own are used.`;

export function loadSettings() {
  showSaved();
  for (const id of ["drafter", "policy"]) byId(id).disabled = !byId("speculation").checked;
  for (const id of fields) byId(id).addEventListener("input", () => { if (id === "drafter") wished = ""; changed(); });
  addEventListener("storage", (event) => { if (event.key === name && event.newValue !== null) showSaved(); });  // another tab's
  factsKnown.then(() => { const lacks = showServers(); if (lacks) tell(lackOf(lacks)); });
}

// False: a setting has no valid value, and is shown.
export function settingsAreValid() {
  const wrong = fields.find((id) => !check(id));
  if (!wrong) return true;
  toggleSettings(true);
  byId(wrong).focus();
  return false;
}

const anySeed = () => crypto.getRandomValues(new Uint32Array(1))[0];
const numberOf = (id) => byId(id).value === "" ? undefined : Number(byId(id).value);

export function speculative(on) {
  if (!on) return { type: "none" };
  const plan = {};
  if (byId("drafter").value) plan.type = byId("drafter").value;
  if (byId("policy").value) plan.policy = byId("policy").value;
  return Object.keys(plan).length > 0 ? plan : undefined;
}

// One a line; \n in it is a line's end.
function stops() {
  const lines = byId("stops").value.split("\n").filter(Boolean).map((l) => l.replaceAll("\\n", "\n"));
  return lines.length > 0 ? lines : undefined;
}

// False, which is said: the rest of an answer cannot be held to a schema.
export function allowsContinuing() {
  const free = !byId("schema").value.trim();
  if (!free) tell("An answer under a JSON schema cannot go on: empty the schema first, or regenerate it.");
  return free;
}

// What the server refused is said at the field, too.
export function refuse({ field, told }) {
  const id = field && fields.find((f) => field === inRequest(f) || field.startsWith(`${inRequest(f)}.`) || field.startsWith(`${inRequest(f)}[`));
  if (!id || !byId(`${id}-wrong`)) return;
  byId(`${id}-wrong`).textContent = told;
  byId(id).setAttribute("aria-invalid", "true");
  toggleSettings(true);
}

// Behind the system prompt, if there is one.
export function withSystem(messages) {
  const system = byId("system").value.trim();
  return system ? [{ role: "system", content: system }, ...messages] : messages;
}

// The body of a request for the answer to `messages`; what is undefined is not sent.
export function requestBody(messages, speculate) {
  const schema = byId("schema").value.trim();
  return {
    messages: withSystem(messages), ...Object.fromEntries(numeric.map((id) => [inRequest(id), numberOf(id)])), stop: stops(),
    response_format: schema ? { type: "json_schema", json_schema: { name: "answer", schema: JSON.parse(schema) } } : undefined,
    speculative: speculative(speculate),
  };
}

// With a seed in any case: to be asked again for the same answer.
export function repeatableBody(messages) {
  const body = requestBody(messages, true);
  return { ...body, seed: body.seed ?? anySeed() };
}

// In a narrow window they cover the conversation, which then takes no focus.
const narrow = matchMedia("(max-width: 760px)");
const cover = () => { document.querySelector("main").inert = narrow.matches && document.body.classList.contains("with-settings"); };
narrow.addEventListener("change", cover);

export function toggleSettings(open) {
  const opened = document.body.classList.toggle("with-settings", open);
  byId("open-settings").setAttribute("aria-expanded", String(opened));
  cover();
  if (opened && narrow.matches) byId("system").focus();
}
