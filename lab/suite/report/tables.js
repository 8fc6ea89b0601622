// The summary, the suites, and the page's head.
const overall = D.overall;
const best = overall.length > 1 ? overall.reduce((b, row, m) => m > 0 && !D.methods[m].peer && (b === 0 || row.speedup > overall[b].speedup) ? m : b, 0) : 0;
const different = overall.some((row) => row.different > 0);

function head() {
  const theme = el("button", { title: "Light or dark", onclick: () => setTheme(currentTheme() === "dark" ? "light" : "dark") }, "◐");
  const machine = D.machine;
  return el("header", {},
    el("div", { class: "top" }, el("h1", {}, "Speculative decoding, measured"), theme),
    el("div", { class: "soft" }, `${D.model.name} (${D.model.weights}) on ${machine.cpu}, ${count(machine.threads, "thread")}, ${machine.isa} · ` +
      `${count(D.suites.length, "suite")}, ${count(D.suites.reduce((n, s) => n + s.prompts, 0), "prompt")}, ` +
      `${count(D.methods.length, "method")} · temperature ${D.settings.temperature} · ${D.made.replace("T", " ").replace("Z", " UTC")}`));
}

function heroes() {
  const hero = (value, text, kind) => el("div", { class: "hero " + (kind || "") }, el("b", {}, value), el("span", {}, text));
  const row = overall[best];
  const worst = row.speedup_by_prompt[0];
  return el("div", { class: "heroes" },
    hero(times(row.speedup), ["plain decoding's speed with ", breaking(best)], row.speedup >= 1 ? "good" : "bad"),
    hero(fixed(row.tau, 2), "tokens a call of the model (τ, its own included)"),
    hero(times(worst), `on its worst prompt (${row.slowest_prompt})`, worst >= 0.99 ? "" : "bad"),
    different ? hero("differs", "some method changed the output: see the red rows", "bad")
              : hero("identical", `output of ${D.methods.some((m) => m.peer) ? "Augur's methods" : "every method"}, token by token`, "good"));
}

function splitBar(row) {
  const all = row.draft_ms + row.verify_ms + row.other_ms;
  if (all === 0) return "";  // another engine does not tell
  const text = `of the time: draft ${percent(row.draft_ms / all)}, verify ${percent(row.verify_ms / all)}, other ${percent(row.other_ms / all)}\n` +
    `a call: ${fixed(per(row, "draft_ms"), 2)} + ${fixed(per(row, "verify_ms"), 2)} + ${fixed(per(row, "other_ms"), 2)} ms`;
  return el("span", { class: "split", ...hint(text) }, ["draft", "verify", "other"].map((part) =>
    el("i", { style: `width:${100 * row[part + "_ms"] / all}%;background:var(--${part})` })));
}

function methodTable(rows) {
  const most = Math.max(...rows.map((row) => row.speedup));
  const fastest = rows.reduce((b, row, m) => row.speedup > rows[b].speedup ? m : b, 0);
  const several = D.rounds > 1;
  // Under its figure: two more columns would push the last one out of sight.
  const interval = (m, span) => m === 0 || !span ? "" : el("span", { class: "interval",
    ...hint("where it would lie in 95 of 100 repetitions with other prompts of the same kind (paired bootstrap)") }, `${fixed(span[0], 2)}–${fixed(span[1], 2)}`);
  const columns = ["", "speedup, 95%", several ? "over rounds" : "", "worst prompt", "tokens/s", "with prompt", "τ, 95%", "calls", "verified", "drafted", "draft · verify · other"];
  return el("div", { class: "scroll" }, el("table", {},
    el("thead", {}, el("tr", {}, columns.filter((c, i) => i !== 2 || several).map((c) => el("th", {}, c)))),
    el("tbody", {}, rows.map((row, m) => el("tr", { class: row.different > 0 ? "differs" : m === fastest && m > 0 ? "best" : "" },
      nameCell(m, row.different > 0 ? ` – ${row.different} outputs differ` : D.methods[m].peer ? " – another engine" : ""),
      el("td", {}, times(row.speedup), interval(m, row.speedup_interval), el("span", { class: "bar", style: `width:${100 * row.speedup / most}%;background:${colour(m)}` })),
      several && el("td", { class: "soft" }, m === 0 ? "" : `${fixed(row.speedup_by_round[0], 2)}–${fixed(row.speedup_by_round[2], 2)}`),
      el("td", hint(m === 0 ? "plain decoding itself" : `prompt ${row.slowest_prompt}; best prompt ${times(row.speedup_by_prompt[2])}`), m === 0 ? "" : times(row.speedup_by_prompt[0])),
      el("td", {}, fixed(row.tokens_per_second, 1)),
      el("td", hint("the prompt's time included"), times(row.speedup_with_prompt)),
      el("td", hint(`accept length without the model's own token: ${fixed(row.accept_length, 2)}`), fixed(row.tau, 2), interval(m, row.tau_interval)),
      el("td", {}, whole(row.calls)),
      el("td", hint(`${fixed(per(row, "verified_tokens"), 1)} rows a call`), whole(row.verified_tokens)),
      el("td", {}, whole(row.drafted_tokens)),
      el("td", {}, splitBar(row)))))));
}

function summary() {
  return el("section", {}, el("h2", {}, "All methods, all suites"),
    el("p", { class: "note" }, "Speedup: mean over the suites; in a suite, the ratio of mean tokens per second over its prompts. The prompt's " +
      "own time is left out except where it says so. Counts are sums. τ counts the model's own token: plain decoding is 1."),
    methodTable(overall),
    legend([["draft", "var(--draft)"], ["verify", "var(--verify)"], ["other", "var(--other)"]]));
}

function heat(value) {
  const strength = Math.min(0.62, Math.abs(Math.log2(Math.max(value, 0.05))) * 0.42);
  return `background:rgba(var(--${value >= 1 ? "heat" : "cool"}),${fixed(strength, 3)})`;
}

function suites() {
  const columns = [];
  for (const suite of D.suites) if (suite.methods.length > 0) columns.push(suite);
  const groups = columns.concat(columns.flatMap((suite) => suite.categories.map((c) => ({ ...c, name: `${suite.name}: ${c.name}` }))));
  const detail = el("div");
  const show = (i) => detail.replaceChildren(el("p", { class: "soft note" }, count(groups[i].prompts, "prompt")), methodTable(groups[i].methods));
  if (groups.length > 0) show(0);
  return el("section", {}, el("h2", {}, "Suites"),
    el("p", { class: "note" }, "Speedup of every method in every suite."),
    el("div", { class: "scroll" }, el("table", {},
      el("thead", {}, el("tr", {}, el("th", {}, ""), columns.map((s) => el("th", { style: "text-align:center" }, s.name)))),
      el("tbody", {}, D.methods.map((method, m) => m === 0 ? null : el("tr", {},
        nameCell(m),
        columns.map((s) => el("td", { class: "heat", style: heat(s.methods[m].speedup),
          ...hint(`${label(m)}, ${s.name}\nτ ${fixed(s.methods[m].tau, 2)}, worst prompt ${times(s.methods[m].speedup_by_prompt[0])}`) },
          fixed(s.methods[m].speedup, 2)))))))),
    groups.length > 1 && [el("h3", {}, "One of them in full"), el("div", { class: "controls" }, chooser(groups.map((g, i) => [i, g.name]), 0, show)), detail]);
}
