// Puts the page together.
const asked = location.hash.slice(1).split("-");  // "#dark", "#light-check"
if (asked[0] === "dark" || asked[0] === "light") setTheme(asked[0]);

function protocol() {
  const s = D.settings, facts = [
    ["requests", `${s.max_tokens < 0 ? "as long as the context allows" : `up to ${s.max_tokens} tokens an answer`}, ${s.turns === 0 ? "all turns" : s.turns + " turns"}, ${s.chat ? "chat template" : "prompts as they are"}${s.ignore_eos ? ", end of sequence ignored" : ""}`],
    ["sampling", s.temperature === 0 ? "greedy" : `temperature ${s.temperature}, top-k ${s.top_k}, top-p ${s.top_p}, seed ${s.seed}`],
    ["order", "every prompt with all methods one after the other, in rotating order; the first run of a method is not counted"],
    ["rounds", `${D.rounds}; a text's rate is the median over them`],
    D.seeds > 1 && ["seeds", `${D.seeds}; a prompt's rate is the mean over its texts`],
    s.budget && ["budget", `${s.budget} nodes a round beside the newest token, whatever the policy`],
    ["cells", `${D.cells.done} of ${D.cells.planned} measured`],
    ["harness", `${(100 * D.harness_share).toFixed(2)}% of the time was not spent in the decoder`],
    ["model", `${D.model.name}, ${D.model.family}, ${D.model.weights}, ${(D.model.weight_bytes / 1e6).toFixed(0)} MB read for a token`],
    ["machine", `${D.machine.cpu}, ${count(D.machine.threads, "thread")}, ${D.machine.isa}`],
  ].filter(Boolean);
  return el("section", {}, el("h2", {}, "How this was measured"), el("pre", {}, D.command),
    el("dl", {}, facts.map(([k, v]) => [el("dt", {}, k), el("dd", {}, v)])),
    el("h3", {}, "Methods"), el("dl", {}, D.methods.map((m) => [el("dt", {}, m.label), el("dd", {}, el("code", {}, m.text))])));
}

// The fastest few are drawn at first.
overall.map((row, m) => [row.speedup, m]).filter(([, m]) => m > 0).sort((a, b) => b[0] - a[0]).slice(0, 6).forEach(([, m]) => shown.add(m));

const page = document.getElementById("page");
page.replaceChildren(...[
  head(),
  different && el("div", { class: "warn" }, "Some method did not give the tokens of plain decoding. Its rows are red; its speed means nothing."),
  !D.complete && el("div", { class: "warn" }, `Not complete: ${D.cells.done} of ${D.cells.planned} runs. Figures are those of the prompts that all methods have run.`),
  ...(overall.length > 0 ? [heroes(), summary(), suites(), textPart(), acceptance(), heterogeneity(), costs()] : []),
  protocol(),
].filter(Boolean));
redraws.forEach((again) => again(false));

// For tests/cli/check_report.sh: labels that lie over one another, or beyond their drawing.
function faults() {
  const found = [], slack = 2;
  for (const drawing of document.querySelectorAll("svg")) {
    const frame = drawing.getBoundingClientRect();
    const labels = [...drawing.querySelectorAll("text")].map((node) => [node.textContent, node.getBoundingClientRect()]);
    labels.forEach(([text, a], i) => {
      if (a.left < frame.left - slack || a.right > frame.right + slack || a.bottom > frame.bottom + slack) found.push(`"${text}" lies outside`);
      for (const [other, b] of labels.slice(0, i)) {
        if (a.left < b.right - slack && b.left < a.right - slack && a.top < b.bottom - slack && b.top < a.bottom - slack) found.push(`"${text}" lies over "${other}"`);
      }
    });
  }
  return found;
}
queueMicrotask(() => {
  const root = document.documentElement;
  if (root.scrollWidth > innerWidth) root.dataset.wider = `${root.scrollWidth} > ${innerWidth}`;
  if (asked.includes("check")) root.dataset.faults = faults().slice(0, 5).join("; ");
  root.dataset.ready = "true";
});
