// One text: who proposed which token, how long each round took, and the tree of any of them.
function proposerColour(index, depth) {
  const strength = Math.min(0.75, 0.22 + 0.11 * depth);
  return index === 0 ? "transparent" : `color-mix(in srgb, var(--c${1 + (index - 1) % 9}) ${Math.round(100 * strength)}%, transparent)`;
}

// Tidy enough: leaves get rows of their own, parents stand in the middle of their children.
function layout(nodes) {
  const children = nodes.map(() => []), place = nodes.map(() => [0, 0]);
  nodes.forEach((n, i) => { if (n[1] >= 0) children[n[1]].push(i); });
  let rows = 0;
  const visit = (i, depth) => {
    place[i][0] = depth;
    if (children[i].length === 0) { place[i][1] = rows++; return; }
    children[i].forEach((c) => visit(c, depth + 1));
    place[i][1] = (place[children[i][0]][1] + place[children[i][children[i].length - 1]][1]) / 2;
  };
  visit(0, 0);
  return { place, rows, depth: Math.max(...place.map((p) => p[0])) };
}

// At most so wide, in letters; those of East Asia and pictures take two.
function shortened(text, most) {
  let width = 0, out = "";
  for (const letter of text) {
    width += letter.codePointAt(0) > 0x1100 && !"⏎⇥∅".includes(letter) ? 2 : 1;
    if (width > most) return out.slice(0, -1) + "…";
    out += letter;
  }
  return out;
}
const visible = (text) => text.replace(/\n/g, "⏎").replace(/\t/g, "⇥").replace(/ /g, "·") || "∅";

function treePicture(round, proposers) {
  const nodes = round.nodes, { place, rows, depth } = layout(nodes);
  const wide = 100, dx = wide + 32, dy = 26, x = (i) => 8 + place[i][0] * dx, y = (i) => 16 + place[i][1] * dy;
  const drawing = sv("svg", { width: (depth + 1) * dx + 70, height: Math.max(1, rows) * dy + 12, role: "img", "aria-label": "draft tree" });
  nodes.forEach((n, i) => {
    if (n[1] < 0) return;
    const x0 = x(n[1]) + wide, x1 = x(i), y0 = y(n[1]), y1 = y(i);
    drawing.append(sv("path", { d: `M${x0},${y0} C${x0 + 18},${y0} ${x1 - 18},${y1} ${x1},${y1}`, fill: "none", stroke: n[4] === 2 ? "var(--good)" : "var(--line)",
      "stroke-width": n[4] === 2 ? 3 : 1.2, "stroke-dasharray": n[4] === 0 ? "3 3" : null }));
  });
  nodes.forEach((n, i) => {
    const accepted = n[4] === 2, cut = n[4] === 0, text = visible(n[0]);
    const who = i === 0 ? "the newest token" : `proposed by ${proposers[n[3] - 1] || "the model"}, p = ${fixed(n[2], 3)}`;
    drawing.append(sv("g", { opacity: cut ? .45 : 1, ...hint(`“${text}”\n${who}\n${i === 0 ? "root" : accepted ? "accepted" : cut ? "cut before verification" : "verified, rejected"}`) },
      sv("rect", { x: x(i), y: y(i) - 11, width: wide, height: 22, rx: 6, style: `fill:${accepted ? "color-mix(in srgb, var(--good) 24%, var(--card))" : "var(--card)"}`,
        stroke: accepted ? "var(--good)" : i === 0 ? "var(--soft)" : `var(--c${1 + (n[3] - 1) % 9})`, "stroke-dasharray": cut ? "3 3" : null, "stroke-width": accepted ? 2 : 1 }),
      sv("text", { class: "on", x: x(i) + 6, y: y(i) + 4 }, shortened(text, 8)),
      i > 0 && sv("text", { x: x(i) + wide - 4, y: y(i) + 4, "text-anchor": "end", style: "font-size:10px" }, fixed(n[2], 2).replace(/^0/, ""))));
  });
  drawing.rootAt = y(0);
  return drawing;
}

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
      r.mode !== "fixed" && fact("decision", r.mode), r.forecast_tokens > 0 && fact("expected", `${fixed(r.forecast_tokens, 2)} tokens in ${fixed(r.forecast_ms, 2)} ms (gain ${fixed(r.forecast_tokens - r.price * r.forecast_ms, 2)})`),
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
