// The draft tree of a round, in a dialog. Rounds that drafted nothing have none, and are passed over.
import { Figures } from "./figures.js";
import { proposerIndex, proposers } from "./proposers.js";
import { tokenSpan } from "./tokens_view.js";

const opened = { view: null, at: 0 };
let figures = null;
const unmark = () => opened.view?.asTokens.unmark();
const drafted = ({ round }) => round.drafted > 0;

export function showRound(view, at) {
  const { rounds, tokens } = view.answer;
  if (!rounds[at] || !drafted(rounds[at])) return;
  unmark();
  view.draw();
  opened.view = view;
  opened.at = at;
  const { round, from, to } = rounds[at];
  view.asTokens.mark(rounds[at]);
  byId("rounds-title").textContent = `Round ${at + 1} of ${rounds.length}`;
  byId("previous-round").disabled = !rounds.slice(0, at).some(drafted);
  byId("next-round").disabled = !rounds.slice(at + 1).some(drafted);
  byId("round-tokens").replaceChildren(...tokens.slice(from, to).map((token) => fill(tokenSpan(token), { class: "token start" }, [])));
  figures ||= new Figures(byId("round-facts"));
  const rejected = round.verified - 1 - round.accepted;
  figures.show([
    [round.drafted, "proposed", "Tokens that the drafters proposed in this round."],
    [round.verified - 1, "verified", "Proposals that the model checked, all in one pass. The others were left out before it."],
    [round.accepted, "accepted", "Proposals that are what the model itself writes: they are part of the answer."],
    [rejected, "rejected", "Verified proposals that the model would not have written."],
    [`“${visible(round.next.text)}”`, "then the model's own", "The token that the model gave itself behind the accepted ones: each pass gives one."],
    [round.batch_rows, "rows in the batch", "Tokens that the model computed in this pass, with those of other requests."],
    [`${fixed(round.draft_ms, 2)} ms`, "draft", "How long the drafters took to propose."],
    [`${fixed(round.verify_ms, 2)} ms`, "verify", "How long the model's pass took."],
  ]);
  const nodes = round.nodes.map((n) => [n.text, n.parent, n.probability, proposerIndex(n.drafter), n.accepted ? 2 : 1]);
  const picture = treePicture({ nodes }, proposers), tree = byId("round-tree");
  tree.replaceChildren(picture);
  const unseen = round.drafted - (round.nodes.length - 1);
  byId("round-unseen").textContent = unseen > 0 ? `${unseen} more ${unseen === 1 ? "was" : "were"} proposed and not verified.` : "";
  if (!byId("rounds").open) byId("rounds").showModal();
  tree.scrollTo(0, picture.rootAt - tree.clientHeight / 2);
}

function move(by) {
  const { rounds } = opened.view.answer;
  let at = opened.at + by;
  while (rounds[at] && !drafted(rounds[at])) at += by;
  showRound(opened.view, at);
}

export function prepareRounds() {
  const dialog = byId("rounds");
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
