// The same request without and with speculation, one after the other so that neither slows the other down.
async function race(messages, signal) {
  const answers = [new Answer("Without speculation"), new Answer("With speculation")];
  const verdict = el("p", { class: "verdict", role: "status" }, "Without speculation first, then with it.");
  const node = el("section", { class: "race", "aria-label": "Race" }, el("div", { class: "lanes" }, answers.map((a) => a.node)), verdict);
  answers[1].figures.replaceChildren(el("span", { class: "soft" }, "waits"));
  const run = async () => {
    const body = requestBody(messages, true);
    for (const [i, answer] of answers.entries()) {
      answer.begun = performance.now();
      answer.node.classList.add("running");
      const well = await answer.run({ ...body, speculative: speculative(i === 1) }, signal);
      answer.node.classList.remove("running");
      if (!well || signal.aborted) {
        verdict.textContent = signal.aborted ? "Stopped." : "No result.";
        return;
      }
    }
    const [plain, fast] = answers, differs = plain.ids.findIndex((id, i) => id !== fast.ids[i]);
    const identical = differs < 0 && plain.ids.length === fast.ids.length;
    verdict.classList.add(identical ? "good" : "bad");
    verdict.replaceChildren(el("b", {}, identical ? "identical" : "different"),
      identical ? ` – all ${plain.ids.length} token ids` : ` from token ${(differs < 0 ? Math.min(plain.ids.length, fast.ids.length) : differs) + 1}`,
      Number.isFinite(fast.speed / plain.speed) ? el("span", { class: "speeds" },
        `${fixed(plain.speed, 1)} → ${fixed(fast.speed, 1)} tokens/s, `, el("b", {}, `${fixed(fast.speed / plain.speed, 2)}×`)) : "");
  };
  return { node, run };
}
