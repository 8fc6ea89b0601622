// The draft tree of a round, in a dialog.
import { proposerIndex, proposers } from "./proposers.js";

const opened = { view: null, at: 0 };
const unmark = () => opened.view?.text.querySelectorAll(".inround").forEach((s) => s.classList.remove("inround"));

export function showRound(view, at) {
  unmark();
  view.draw();
  const { rounds } = view.answer;
  opened.view = view;
  opened.at = Math.max(0, Math.min(at, rounds.length - 1));
  const { round } = rounds[opened.at], spans = view.spansOf(opened.at);
  spans.forEach((s) => s.classList.add("inround"));
  byId("rounds-title").textContent = `Round ${opened.at + 1} of ${rounds.length}`;
  byId("previous-round").disabled = opened.at === 0;
  byId("next-round").disabled = opened.at === rounds.length - 1;
  byId("round-tokens").replaceChildren(...spans.map((s) => el("span", { class: "token start", title: s.title, style: s.style.cssText }, s.textContent)));
  const fact = (name, value) => el("span", {}, el("span", { class: "soft" }, `${name} `), el("b", {}, value));
  byId("round-facts").replaceChildren(
    fact("proposed", round.drafted), fact("verified", round.verified - 1), fact("accepted", round.accepted),
    fact("then the model's own", `“${visible(round.next.text)}”`), fact("rows in the batch", round.batch_rows),
    fact("draft", `${fixed(round.draft_ms, 2)} ms`), fact("verify", `${fixed(round.verify_ms, 2)} ms`));
  const nodes = round.nodes.map((n) => [n.text, n.parent, n.probability, proposerIndex(n.drafter), n.accepted ? 2 : 1]);
  const picture = treePicture({ nodes }, proposers), tree = byId("round-tree");
  tree.replaceChildren(picture);
  if (!byId("rounds").open) byId("rounds").showModal();
  tree.scrollTo(0, picture.rootAt - tree.clientHeight / 2);
}

export function prepareRounds() {
  const dialog = byId("rounds"), move = (by) => showRound(opened.view, opened.at + by);
  byId("previous-round").addEventListener("click", () => move(-1));
  byId("next-round").addEventListener("click", () => move(1));
  byId("close-rounds").addEventListener("click", () => dialog.close());
  dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
  dialog.addEventListener("close", unmark);
  dialog.addEventListener("keydown", (event) => {
    if (event.target === byId("round-tree")) return;  // arrows scroll it
    if (event.key === "ArrowLeft") move(-1);
    if (event.key === "ArrowRight") move(1);
  });
}
