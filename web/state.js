// The server's state, in the bar at the top: asked for every other second while the page is seen.
import { request } from "./api.js";

const seconds = 2;

function showState(load) {
  const gib = (bytes) => bytes < 2 ** 30 ? `${fixed(bytes / 2 ** 20, 0)} MiB` : `${fixed(bytes / 2 ** 30, 1)} GiB`;
  const share = (part, whole) => whole > 0 ? `${fixed(100 * part / whole, 0)}%` : "–";
  const rows = [
    ["running", load.running, "requests that are decoded"],
    ["waiting", load.waiting, "requests that wait for a place or for memory"],
    ["cache", gib(load.memory_in_use), `of ${gib(load.memory)} for keys and values; ${share(load.cached_tokens, load.prompt_tokens)} of all prompt tokens were not read again`],
    ["acceptance", share(load.num_accepted_tokens, load.num_draft_tokens), `verified drafts that were accepted, of all ended requests: ${load.num_accepted_tokens} of ${load.num_draft_tokens}`],
  ];
  byId("state").replaceChildren(...rows.map(([name, value, title]) => el("div", { title }, el("dt", {}, name), el("dd", {}, value))));
}

export async function watchState() {
  const models = await (await request("/v1/models")).json().catch(() => null);
  byId("model").textContent = models?.data?.[0].id || "loading…";
  document.title = `Augur: ${byId("model").textContent}`;
  for (;;) {
    if (document.visibilityState === "visible") {
      const response = await request("/load").catch(() => null);
      if (response?.ok) showState(await response.json());
      byId("state").classList.toggle("lost", !response?.ok);
    }
    await new Promise((resolve) => setTimeout(resolve, 1000 * seconds));
  }
}
