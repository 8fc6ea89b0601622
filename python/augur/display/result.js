// A result in a notebook: its text, tinted by who proposed what, and the tree of a round that is chosen.
const D = JSON.parse(byId("data").textContent);
document.documentElement.dataset.theme = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";

const facts = el("div", { class: "facts" }), tree = el("div", { class: "tree" });
// The round that each token came from: its accepted nodes, then the model's own.
const owner = D.rounds.flatMap((round, i) => Array(round.accepted + 1).fill(i));
const roundOf = (i) => owner[Math.min(i, owner.length - 1)];
const spans = D.tokens.map(([text, who, depth], i) => el("span", {
  class: "token" + (i === 0 || roundOf(i) !== roundOf(i - 1) ? " start" : ""), "data-drafted": who > 0,
  style: `background:${proposerColour(who, depth)}`, onclick: () => choose(roundOf(i)),
  ...hint(who === 0 ? "the model's own draw" : `${D.proposers[who - 1]}, depth ${depth}`) }, text));

function choose(i) {
  const round = D.rounds[i], fact = (name, value) => el("span", {}, name + " ", el("b", {}, value));
  spans.forEach((span, at) => span.classList.toggle("inround", roundOf(at) === i));
  facts.replaceChildren(fact("round", `${i + 1} of ${D.rounds.length}`), fact("proposed", round.proposed),
    fact("verified rows", round.verified), fact("accepted", round.accepted),
    fact("then the model's own", `“${visible(round.next)}”`), fact("took", `${fixed(round.ms, 2)} ms`));
  const drawing = treePicture(round, D.proposers);
  tree.replaceChildren(drawing);
  tree.scrollTo(0, drawing.rootAt - tree.clientHeight / 2);
}

document.querySelector("main").append(el("div", { class: "text" }, spans),
  legend([["the model's own", "var(--line)"], ...D.proposers.map((name, i) => [`${name} (deeper is stronger)`, proposerColour(i + 1, 4)])]),
  el("div", { class: "note" }, D.facts), facts, tree);
if (D.rounds.length > 0) choose(D.rounds.reduce((best, round, i) => round.accepted > D.rounds[best].accepted ? i : best, 0));
