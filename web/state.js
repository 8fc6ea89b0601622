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

const json = (response) => response?.ok ? response.json().catch(() => null) : null;

async function showModel(quiet) {
  const response = await request("/v1/models", { quiet }).catch(() => null), name = (await json(response))?.data?.[0]?.id;
  byId("model").textContent = name || (response?.status === 401 || response === null ? "" : "loading…");
  document.title = name ? `Augur: ${name}` : "Augur";
  return Boolean(name);
}

export async function watchState() {
  for (let known = await showModel(false); ;) {
    if (document.visibilityState === "visible") {
      known ||= await showModel(true);
      const response = await request("/load", { quiet: true }).catch(() => null), load = await json(response);
      if (load) showState(load);
      byId("state").classList.toggle("lost", !load);
    }
    await new Promise((resolve) => setTimeout(resolve, 1000 * seconds));
  }
}
