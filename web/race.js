// The same request without and with speculation, one after the other so that neither slows the other down.
import { Answer } from "./answer.js";
import { AnswerView } from "./answer_view.js";
import { complete } from "./api.js";
import { explained } from "./figures.js";
import { drawNow } from "./frames.js";
import { repeatableBody, speculative } from "./settings.js";

// Of two answers: whether their token ids are the same, from where they differ, and how much sooner the second was.
export function compare(plain, fast) {
  const differs = plain.ids.findIndex((id, i) => id !== fast.ids[i]);
  const identical = differs < 0 && plain.ids.length === fast.ids.length;
  const from = identical ? null : differs < 0 ? Math.min(plain.ids.length, fast.ids.length) : differs;
  return { identical, from, times: fast.speed / plain.speed };
}

export function race(messages, signal) {
  const answers = [new Answer(), new Answer()];
  const views = [new AnswerView(answers[0], "Without speculation"), new AnswerView(answers[1], "With speculation")];
  const verdict = el("p", { class: "verdict", role: "status" }, "Without speculation first, then with it.");
  const node = el("section", { class: "race", "aria-label": "Race" }, el("div", { class: "lanes" }, views.map((v) => v.node)), verdict);
  views[1].figures.replaceChildren(el("span", { class: "soft" }, "waits"));

  async function runBoth() {
    const body = repeatableBody(messages);
    for (const [i, view] of views.entries()) {
      view.node.classList.add("running");
      try {
        await complete({ ...body, speculative: speculative(i === 1) }, signal, answers[i]);
      } catch (error) {
        if (signal.aborted) answers[i].end("stopped", null);
        else view.fail(error);
        return signal.aborted ? "Stopped." : "No result.";
      } finally {
        view.node.classList.remove("running");
        drawNow(view.draw);
      }
    }
    return null;
  }

  // False: there is no result.
  async function run() {
    const failure = await runBoth();
    if (failure) {
      verdict.textContent = failure;
      return false;
    }
    const [plain, fast] = answers, { identical, from, times } = compare(plain, fast);
    verdict.classList.add(identical ? "good" : "bad");
    verdict.replaceChildren(el("b", {}, identical ? "identical" : "different"),
      identical ? ` – all ${plain.ids.length} token ids` : ` from token ${from + 1}`,
      Number.isFinite(times) ? el("span", { class: "speeds" },
        `${fixed(plain.speed, 1)} → ${fixed(fast.speed, 1)} tokens/s, `, explained("The speedup: tokens a second with speculation, divided by those without.", el("b", {}, `${fixed(times, 2)}×`))) : "");
    return true;
  }
  return { node, verdict, run };
}
