"use strict";
// Requests to the server, and the stream of an answer.
const byId = (id) => document.getElementById(id);

const access = { key: sessionStorage.getItem("augur-key") || "" };

function askForKey() {
  const dialog = byId("key-dialog");
  if (!dialog.open) dialog.showModal();
  return new Promise((resolve) => dialog.addEventListener("close", () => {
    access.key = byId("key").value;
    sessionStorage.setItem("augur-key", access.key);
    resolve();
  }, { once: true }));
}

async function request(path, options = {}) {
  for (;;) {
    const headers = { ...options.headers };
    if (access.key) headers.Authorization = `Bearer ${access.key}`;
    const response = await fetch(path, { ...options, headers });
    if (response.status !== 401) return response;
    await askForKey();
  }
}

async function* events(response) {
  const decoder = new TextDecoder(), reader = response.body.getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const parts = (rest + decoder.decode(value, { stream: true })).split("\n\n");
    rest = parts.pop();
    for (const part of parts) {
      const data = part.split("\n").filter((l) => l.startsWith("data:")).map((l) => l.slice(5).trimStart()).join("\n");
      if (data === "[DONE]") return;
      if (data) yield JSON.parse(data);
    }
  }
}

// Streams a chat completion into `sink`: token(text, {id, drafter, depth}, thought), round(round), end(reason, usage).
async function complete(body, signal, sink) {
  const response = await request("/v1/chat/completions", {
    method: "POST", signal, headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ ...body, stream: true, stream_options: { include_usage: true }, return_speculation: true }),
  });
  if (!response.ok) {
    const answer = await response.json().catch(() => null);
    throw new Error(answer?.error?.message || `the server answered ${response.status}`);
  }
  let reason = null, usage = null;
  for await (const chunk of events(response)) {
    if (chunk.error) throw new Error(chunk.error.message);
    if (chunk.usage) usage = chunk.usage;
    const choice = chunk.choices[0];
    if (!choice) continue;
    const told = choice.speculation || {};
    if (told.round) sink.round(told.round);
    else if (choice.finish_reason === null) {
      const thought = choice.delta.reasoning_content;
      sink.token(thought || choice.delta.content || "", told.token, Boolean(thought));
    }
    reason = choice.finish_reason || reason;
  }
  sink.end(reason, usage);
}
