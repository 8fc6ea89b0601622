// One text: who proposed which token, how long each round took, and the tree of any of them.
function timeline(width, rounds, chosen, choose) {
  const most = Math.max(...rounds.map((r) => r.draft_ms + r.verify_ms + r.other_ms)), h = 120, step = Math.max(4, (width - 44) / rounds.length);
  const plot = sv("g", { transform: "translate(44,8)" });
  for (const t of niceTicks(0, most, 3)) plot.append(sv("line", { class: "grid", x1: 0, x2: step * rounds.length, y1: h - t / most * h, y2: h - t / most * h }),
    sv("text", { x: -8, y: h - t / most * h + 4, "text-anchor": "end" }, String(+t.toPrecision(3))));
  const every = Math.ceil(18 / step);  // a label takes its room
  rounds.forEach((r, i) => {
    let base = h;
    const g = sv("g", { style: "cursor:pointer", onclick: () => choose(i), ...hint(`round ${i + 1}: ${r.accepted + 1} ${r.accepted === 0 ? "token" : "tokens"} of ${r.verified} rows\ndraft ${fixed(r.draft_ms, 2)}, verify ${fixed(r.verify_ms, 2)}, other ${fixed(r.other_ms, 2)} ms`) },
      sv("rect", { x: i * step, y: 0, width: step, height: h + 22, fill: i === chosen ? "var(--faint)" : "transparent" }));
    for (const part of ["verify", "draft", "other"]) {
      const size = r[part + "_ms"] / most * h;
      base -= size;
      g.append(sv("rect", { x: i * step + .5, y: base, width: Math.max(1, step - 1.5), height: size, fill: `var(--${part})` }));
    }
    if (i % every === 0) g.append(sv("text", { x: i * step + step / 2, y: h + 15, "text-anchor": "middle", class: i === chosen ? "on" : "" }, r.accepted + 1));
    plot.append(g);
  });
  const total = Math.max(width, 44 + step * rounds.length);
  return el("div", { class: "scroll" }, sv("svg", { viewBox: `0 0 ${total} ${h + 34}`, style: `width:${total}px;max-width:none` }, plot));
}

function textPart() {
  if (D.samples.length === 0) return null;
  let sample = D.samples[0], chosen, round = 0;
  const pick = () => { const best_ = sample.methods.filter((s) => s.method > 0).sort((a, b) => overall[b.method].speedup - overall[a.method].speedup)[0] || sample.methods[0]; chosen = best_; };
  pick();
  const prompt = el("div", { class: "prompt" }), text = el("div", { class: "text" }), facts = el("div", { class: "facts" }), tree = el("div", { class: "tree" });
  const names = el("div"), lines = box((width) => timeline(width, chosen.rounds, round, select));
  const controls = el("div", { class: "controls" });
  let spans = [];
  function select(i) {
    round = Math.max(0, Math.min(i, chosen.rounds.length - 1));
    const r = chosen.rounds[round];
    spans.forEach((s) => s.node.classList.toggle("inround", s.round === round));
    const ms = r.draft_ms + r.verify_ms + r.other_ms, fact = (k, v) => el("span", {}, el("span", { class: "soft" }, k + " "), el("b", {}, v));
    facts.replaceChildren(...[fact("round", `${round + 1} of ${chosen.rounds.length}`), fact("proposed", r.proposed), fact("verified rows", r.verified), fact("accepted", r.accepted),
      fact("then the model's own", `“${visible(r.next)}”`), fact("took", `${fixed(ms, 2)} ms`),
      r.mode !== "fixed" && fact("decision", r.mode), r.choice && fact("chose", r.choice), r.forecast_tokens > 0 && fact("expected", `${fixed(r.forecast_tokens, 2)} tokens in ${fixed(r.forecast_ms, 2)} ms (gain ${fixed(r.forecast_tokens - r.price * r.forecast_ms, 2)})`),
      r.forecast_tokens > 0 && fact("got", `${r.accepted + 1} in ${fixed(ms, 2)} ms (gain ${fixed(r.accepted + 1 - r.price * ms, 2)})`)].filter(Boolean));
    const drawing = treePicture(r, chosen.proposers);
    tree.replaceChildren(drawing);
    tree.scrollTo(0, drawing.rootAt - tree.clientHeight / 2);
    lines.redraw();
  }
  function show() {
    prompt.textContent = sample.prompt;
    const owner = [];
    chosen.rounds.forEach((r, i) => { for (let k = 0; k <= r.accepted; ++k) owner.push(i); });
    spans = chosen.tokens.map(([piece, who, depth], i) => {
      const mine = owner[i] === undefined ? chosen.rounds.length - 1 : owner[i];
      const node = el("span", { class: "token" + (i === 0 || owner[i - 1] !== mine ? " start" : ""), style: `background:${proposerColour(who, depth)}`,
        onclick: () => select(mine), ...hint(`${who === 0 ? "the model's own draw" : `${chosen.proposers[who - 1]}, depth ${depth}`}\nround ${mine + 1}`) }, piece);
      return { node, round: mine };
    });
    text.replaceChildren(...spans.map((s) => s.node));
    names.replaceChildren(legend([["the model's own", "var(--line)"], ...chosen.proposers.map((p, i) => [`${p} (deeper is stronger)`, proposerColour(i + 1, 4)])]));
    let most = 0;
    chosen.rounds.forEach((r, i) => { if (r.accepted > chosen.rounds[most].accepted) most = i; });
    select(most);
  }
  const menu = () => controls.replaceChildren(
    ...(D.samples.length > 1 ? [chooser(D.samples.map((s, i) => [i, `${s.suite}: ${s.id}`]), D.samples.indexOf(sample), (i) => { sample = D.samples[i]; pick(); menu(); show(); })] : []),
    chooser(sample.methods.map((s) => [s.method, label(s.method)]), chosen.method, (m) => { chosen = sample.methods.find((s) => s.method === m); show(); }),
    el("button", { onclick: () => select(round - 1) }, "← round"), el("button", { onclick: () => select(round + 1) }, "round →"));
  menu();
  queueMicrotask(show);
  return el("section", {}, el("h2", {}, "One text, token by token"),
    el("p", { class: "note" }, "Colour: who proposed the token; strength: how deep in the draft. A bar marks where a round begins. Choose a token or a round to see its tree."),
    controls, prompt, text, names, el("h3", {}, "Its rounds, in ms; below, the tokens of each"), lines,
    legend([["verify", "var(--verify)"], ["draft", "var(--draft)"], ["other", "var(--other)"]]),
    el("h3", {}, "The round's draft tree"), facts, tree,
    el("p", { class: "note" }, "Green: accepted. Dashed: proposed, but cut before verification. Numbers: probability given the parent, by the drafter."));
}
