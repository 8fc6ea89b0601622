// Requests to the server, and the stream of an answer.
import { cutOff, failureOf, noAnswer, noKey, unreachable } from "./failures.js";
import { askForKey, currentKey } from "./key.js";

// `quiet`: does not ask the reader for a key; its answer may be a 401. Throws an Error that a person can read.
export async function request(path, { quiet = false, ...options } = {}) {
  for (;;) {
    const key = currentKey(), headers = { ...options.headers };
    if (key) headers.Authorization = `Bearer ${key}`;
    const response = await fetch(path, { ...options, headers }).catch((error) => {
      throw error.name === "AbortError" ? error : new Error(unreachable);
    });
    if (response.status !== 401 || quiet) return response;
    if (key === currentKey() && !await askForKey()) throw new Error(noKey);
    options.signal?.throwIfAborted();
  }
}

const pause = (seconds, signal) => new Promise((resolve, reject) => {
  const timer = setTimeout(resolve, 1000 * seconds);
  signal.addEventListener("abort", () => { clearTimeout(timer); reject(signal.reason); }, { once: true });
});

const patience = 60;  // times that a server is asked which has no room or no model yet

// Waits where the server has no room or is loading, and says so.
async function admitted(options, answer) {
  for (let left = patience; ; --left) {
    const response = await request("/v1/chat/completions", options);
    if (response.ok) return response;
    const failure = await failureOf(response);
    if (left === 0 || (response.status !== 429 && response.status !== 503)) throw failure;
    const seconds = Math.min(60, Math.max(1, Number(response.headers.get("Retry-After")) || 1));
    const load = await request("/load", { quiet: true, signal: options.signal }).then((r) => r.ok ? r.json() : null).catch(() => null);
    const place = load?.waiting > 0 ? ` ${load.waiting} wait already, so this one is at place ${load.waiting + 1}.` : "";
    answer.wait(`${failure.message}${place} It is asked again in ${seconds} s.`);
    await pause(seconds, options.signal);
  }
}

// The browser's other work comes first: a click is heard and a frame is drawn while events arrive without a pause.
const breath = new MessageChannel();
const takeBreath = () => new Promise((resolve) => {
  breath.port1.onmessage = resolve;
  breath.port2.postMessage(null);
});

function parsed(data) {
  try {
    return JSON.parse(data);
  } catch {
    throw new Error(noAnswer);
  }
}

async function* events(response) {
  const decoder = new TextDecoder(), reader = response.body.getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read().catch((error) => { throw error.name === "AbortError" ? error : new Error(cutOff); });
    if (done) throw new Error(cutOff);
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
  const response = await admitted({
    method: "POST", signal, headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ ...body, stream: true, stream_options: { include_usage: true }, timings_per_token: true, return_speculation: true }),
  }, answer);
  answer.most = body.max_tokens ?? null;
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
