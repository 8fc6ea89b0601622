// Requests to the server, and the stream of an answer.
import { askForKey } from "./key.js";

const access = { key: sessionStorage.getItem("augur-key") || "" };

export async function request(path, options = {}) {
  for (;;) {
    const headers = { ...options.headers };
    if (access.key) headers.Authorization = `Bearer ${access.key}`;
    const response = await fetch(path, { ...options, headers });
    if (response.status !== 401) return response;
    access.key = await askForKey();
    sessionStorage.setItem("augur-key", access.key);
  }
}

// The browser's other work comes first: a click is heard and a frame is drawn while events arrive without a pause.
const breath = new MessageChannel();
const takeBreath = () => new Promise((resolve) => {
  breath.port1.onmessage = resolve;
  breath.port2.postMessage(null);
});

const cut = "The answer was cut off: the connection ended before the server had finished.";

function parsed(data) {
  try {
    return JSON.parse(data);
  } catch {
    throw new Error("The server sent something that is no answer.");
  }
}

async function* events(response) {
  const decoder = new TextDecoder(), reader = response.body.getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read().catch((error) => { throw error.name === "AbortError" ? error : new Error(cut); });
    if (done) throw new Error(cut);
    const parts = (rest + decoder.decode(value, { stream: true })).split("\n\n");
    rest = parts.pop();
    for (const part of parts) {
      const data = part.split("\n").filter((l) => l.startsWith("data:")).map((l) => l.slice(5).trimStart()).join("\n");
      if (data === "[DONE]") return;
      if (data) yield parsed(data);
    }
    await takeBreath();
  }
}

// Streams a chat completion into an Answer.
export async function complete(body, signal, answer) {
  const response = await request("/v1/chat/completions", {
    method: "POST", signal, headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ ...body, stream: true, stream_options: { include_usage: true }, timings_per_token: true, return_speculation: true }),
  });
  if (!response.ok) {
    const told = await response.json().catch(() => null);
    throw new Error(told?.error?.message || `The server answered with status ${response.status}.`);
  }
  let reason = null, usage = null;
  for await (const chunk of events(response)) {
    signal.throwIfAborted();
    if (chunk.error) throw new Error(chunk.error.message);
    if (chunk.usage) usage = chunk.usage;
    if (chunk.timings) answer.times(chunk.timings);
    const choice = chunk.choices?.[0];
    if (!choice) continue;
    const told = choice.speculation || {};
    if (told.round) answer.round(told.round);
    else if (choice.finish_reason === null) {
      const thought = choice.delta.reasoning_content;
      answer.token(thought || choice.delta.content || "", told.token, Boolean(thought));
    }
    reason = choice.finish_reason || reason;
  }
  answer.end(reason, usage);
}
