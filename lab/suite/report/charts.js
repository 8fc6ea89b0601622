// Line charts and scatters.
function niceTicks(low, high, count) {
  const rough = (high - low) / Math.max(count, 1), power = 10 ** Math.floor(Math.log10(rough || 1));
  const step = [1, 2, 5, 10].map((f) => f * power).find((s) => s >= rough) || power;
  const ticks = [];
  for (let t = Math.ceil(low / step - 1e-9) * step; t <= high + step * 1e-6; t += step) ticks.push(Math.abs(t) < 1e-12 ? 0 : t);
  return ticks;
}

// Of the ticks that lie on the axis those that leave each other room; `at` is where they stand, in pixels.
function fitting(axis, ticks, at, room) {
  let last = NaN;
  return ticks.filter((t) => {
    if (t < axis.low - 1e-9 || t > axis.high + 1e-9 || Math.abs(at(t) - last) < room) return false;
    last = at(t);
    return true;
  });
}
const POWERS = [1, 2, 4, 8, 16, 32, 64, 128, 256];

// Axes and grid; draw(x, y, plot) adds the marks, x and y being scales.
function chart(width, { height = 260, x, y, draw }) {
  const left = 44, right = 12, top = 12, bottom = 42;
  const w = width - left - right, h = height - top - bottom;
  const place = (axis, size, flip) => (value) => {
    const f = axis.log ? Math.log(value / axis.low) / Math.log(axis.high / axis.low) : (value - axis.low) / (axis.high - axis.low || 1);
    return flip ? size - f * size : f * size;
  };
  const px = place(x, w, false), py = place(y, h, true);
  const show = (axis) => axis.format || ((v) => String(+v.toPrecision(4)));
  const plot = sv("g", { transform: `translate(${left},${top})` });
  for (const t of fitting(y, y.ticks || niceTicks(y.low, y.high, 5), py, 16)) {
    plot.append(sv("line", { class: "grid", x1: 0, x2: w, y1: py(t), y2: py(t) }),
      sv("text", { x: -8, y: py(t) + 4, "text-anchor": "end" }, show(y)(t)));
  }
  for (const t of fitting(x, x.ticks || niceTicks(x.low, x.high, w / 70), px, 26)) {
    plot.append(sv("text", { x: px(t), y: h + 17, "text-anchor": "middle" }, show(x)(t)));
  }
  plot.append(sv("line", { class: "axis", x1: 0, x2: w, y1: h, y2: h }),
    sv("text", { x: w / 2, y: h + 36, "text-anchor": "middle" }, x.label));
  draw(px, py, plot, w, h);
  return [el("div", { class: "note" }, y.label), sv("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": y.label }, plot)];
}

function line(plot, points, px, py, stroke, text) {
  plot.append(sv("polyline", { points: points.map(([a, b]) => `${px(a)},${py(b)}`).join(" "), fill: "none", stroke, "stroke-width": 2, "stroke-linejoin": "round" }));
  for (const [a, b] of points) plot.append(sv("circle", { cx: px(a), cy: py(b), r: 3.5, fill: stroke, ...hint(text(a, b)) }));
}

function shownChart(draw) {
  const node = box(draw);
  watchers.push(() => node.redraw());
  return node;
}

function acceptance() {
  const curve = (m) => overall[m].accepted_per_position.map((n, d) => [d + 1, n / Math.max(overall[m].calls, 1)]);
  const drafting = D.methods.map((_, m) => m).filter((m) => m > 0);
  const deepest = Math.min(16, Math.max(1, ...drafting.map((m) => curve(m).length)));
  const byDepth = shownChart((width) => chart(width, {
    x: { low: 1, high: Math.max(2, deepest), label: "depth of the drafted token", ticks: niceTicks(1, Math.max(2, deepest), 8).filter(Number.isInteger) },
    y: { low: 0, high: 1, label: "share of the calls that accepted it", format: percent },
    draw: (px, py, plot) => drafting.filter((m) => shown.has(m)).forEach((m) =>
      line(plot, curve(m).slice(0, deepest), px, py, colour(m), (d, share) => `${label(m)}\ndepth ${d}: ${percent(share)}`)),
  }));
  const points = D.methods.map((_, m) => ({ m, verified: per(overall[m], "verified_tokens"), tau: overall[m].tau }));
  const byRows = box((width) => chart(width, {
    x: { low: 0.9, high: Math.max(4, ...points.map((p) => p.verified)) * 1.2, log: true, label: "rows verified a call", ticks: POWERS },
    y: { low: 0, high: Math.max(2, ...points.map((p) => p.tau)) * 1.08, label: "τ: tokens a call" },
    draw: (px, py, plot) => points.forEach((p) => plot.append(sv("circle", { cx: px(p.verified), cy: py(p.tau), r: 6.5, fill: colour(p.m), "fill-opacity": .9,
      ...hint(`${label(p.m)}\nτ ${fixed(p.tau, 2)} with ${fixed(p.verified, 1)} rows a call`) }))),
  }));
  return el("section", {}, el("h2", {}, "What is accepted"),
    el("p", { class: "note" }, "How deep drafts hold, and what the verified rows buy: a method to the upper left gets more tokens from fewer of them."),
    el("div", { class: "columns" }, el("div", {}, byDepth), el("div", {}, byRows)), methodLegend(drafting));
}

function costs() {
  const found = D.costs;
  if (!found || !found.verify) return null;
  const limit = found.memory_limit_ms, passes = found.verify;
  const verify = box((width) => chart(width, {
    x: { low: 1, high: Math.max(2, ...passes.map(([r]) => r)), log: true, label: "rows of one pass", ticks: POWERS },
    y: { low: 0, high: Math.max(limit, ...passes.map(([, ms]) => ms)) * 1.05, label: "ms of the model's forward pass with all logits" },
    draw: (px, py, plot, w) => {
      plot.append(sv("line", { x1: 0, x2: w, y1: py(limit), y2: py(limit), stroke: "var(--bad)", "stroke-dasharray": "5 4" }));
      line(plot, passes, px, py, "var(--verify)", (r, ms) => `${r} rows: ${fixed(ms, 2)} ms, ${times(ms / passes[0][1])} of one row`);
    },
  }));
  const experts = found.experts && box((width) => chart(width, {
    x: { low: 1, high: Math.max(2, ...found.experts.distinct.map(([r]) => r)), log: true, label: "rows of one pass", ticks: POWERS },
    y: { low: 0, high: found.experts.count, label: `distinct experts of a layer's ${found.experts.count}` },
    draw: (px, py, plot) => {
      line(plot, found.experts.distinct.map(([r, , even]) => [r, even]), px, py, "var(--soft)", (r, n) => `${r} rows that choose evenly: ${fixed(n, 1)} experts`);
      line(plot, found.experts.distinct, px, py, "var(--verify)", (r, n) => `${r} rows: ${fixed(n, 1)} experts`);
    },
  }));
  const drafters = found.drafters.map((d) => ({ ...d, text: `${d.name} ${d.model.split("/").pop()}`, levels: d.levels.filter(([r]) => r <= 64) }))
    .filter((d) => d.levels.length > 0);
  const draft = drafters.length === 0 ? null : box((width) => chart(width, {
    x: { low: 1, high: Math.max(2, ...drafters.flatMap((d) => d.levels.map(([r]) => r))), log: true, label: "nodes expanded at once", ticks: POWERS },
    y: { low: 0, high: Math.max(0.1, ...drafters.flatMap((d) => d.levels.map(([, ms]) => ms))) * 1.05, label: "ms of one further level of drafting" },
    draw: (px, py, plot) => drafters.forEach((d, i) => line(plot, d.levels, px, py, colour(i + 1), (r, ms) => `${d.text}\n${r} nodes: ${fixed(ms, 2)} ms`)),
  }));
  return el("section", {}, el("h2", {}, "What this machine charges"),
    el("p", { class: "note" }, "Verifying a few rows costs hardly more than one while reading the weights is what takes the time. Where the curve bends, nodes begin to cost."),
    el("div", { class: "columns" },
      el("div", {}, verify, legend([["a pass", "var(--verify)"], [`reading the weights once: ${fixed(limit, 2)} ms at ${fixed(found.read_gb_per_s, 0)} GB/s`, "var(--bad)"]])),
      experts && el("div", {}, experts, legend([[`as these texts chose (one more in every layer: ${fixed(found.experts.ms * found.experts.layers, 2)} ms)`, "var(--verify)"], ["if rows chose evenly", "var(--soft)"]])),
      draft && el("div", {}, draft, legend(drafters.map((d, i) => [`${d.text} (first level ${fixed(d.root_ms, 2)} ms)`, colour(i + 1)])))));
}

// HeteroSpec's view: [suite, phi, rank, known, fully accepted, accepted, verified] by round.
function heterogeneity() {
  const list = D.analyses.filter((a) => a.rounds.some((r) => r[3]));
  if (list.length === 0) return null;
  let chosen = (list.find((a) => a.rounds.some((r) => r[1] !== null)) || list[0]).method;
  const rounds = () => list.find((a) => a.method === chosen).rounds.filter((r) => r[3]);
  const ranks = () => rounds().filter((r) => r[2] > 0);
  const histogram = box((width) => {
    const values = ranks().map((r) => r[2]), most = Math.max(1, ...values), bins = Math.min(most, 24), size = most / bins;
    const counts = Array(bins).fill(0);
    values.forEach((v) => { counts[Math.min(bins - 1, Math.floor((v - 1) / size))] += 1 / values.length; });
    return chart(width, {
      x: { low: 0.5, high: most + .5, label: "terminal confidence rank (TCR)" }, y: { low: 0, high: Math.max(...counts, .05) * 1.1, label: "share of the rounds with an accepted draft", format: percent },
      draw: (px, py, plot, w, h) => counts.forEach((c, i) => plot.append(sv("rect", { x: px(0.5 + i * size) + 1, y: py(c), width: Math.max(1, px(0.5 + size) - 2), height: h - py(c), rx: 2,
        fill: colour(chosen), ...hint(`ranks ${Math.ceil(1 + i * size)}–${Math.floor((i + 1) * size)}: ${percent(c)}`) }))),
    });
  });
  const grouped = (key, value, edges) => edges.slice(1).map((edge, i) => {
    const group = rounds().filter((r) => key(r) !== null && key(r) > edges[i] && key(r) <= edge);
    return group.length < 3 ? null : [mean(group.map(key)), mean(group.map(value)), group.length];
  }).filter(Boolean);
  const edgesOf = (values, count) => { const sorted = values.slice().sort((a, b) => a - b); return [-1e9, ...Array.from({ length: count }, (_, i) => quantile(sorted, (i + 1) / count))]; };
  const trend = (title, xLabel, key, value, keep) => box((width) => {
    const values = rounds().filter(keep).map(key);
    if (values.length < 12) return el("p", { class: "note" }, "Too few rounds, or this drafter has no probabilities.");
    const points = grouped((r) => keep(r) ? key(r) : null, value, [...new Set(edgesOf(values, 10))]);
    const xs = points.map((p) => p[0]), ys = points.map((p) => p[1]);
    return chart(width, { x: { low: 0, high: Math.max(...xs) * 1.05 || 1, label: xLabel }, y: { low: 0, high: Math.max(...ys, .1) * 1.1, label: title },
      draw: (px, py, plot) => line(plot, points, px, py, colour(chosen), (a, b) => `${xLabel} ${fixed(a, 2)}\n${title}: ${fixed(b, 2)}`) });
  });
  const tauByRank = trend("tokens of the round", "TCR", (r) => r[2], (r) => r[5] + 1, (r) => r[2] > 0);
  const phiByRank = trend("Φ, entropy along the surest path", "TCR", (r) => r[2], (r) => r[1], (r) => r[2] > 0 && r[1] !== null);
  const tauByPhi = trend("tokens of the round", "Φ", (r) => r[1], (r) => r[5] + 1, (r) => r[1] !== null);
  const quantiles = el("div", { class: "facts" });
  const draw = () => {
    const values = ranks().map((r) => r[2]).sort((a, b) => a - b), all = rounds();
    quantiles.replaceChildren(...[["rounds", whole(all.length)], ["nothing accepted", percent(1 - values.length / all.length)],
      ["candidates used up", percent(all.filter((r) => r[4]).length / all.length)],
      ...[.5, .75, .9, .99].map((q) => [`TCR ${100 * q}%`, fixed(quantile(values, q), 0)])].map(([k, v]) => el("span", {}, el("span", { class: "soft" }, k + " "), el("b", {}, v))));
    [histogram, tauByRank, phiByRank, tauByPhi].forEach((b) => b.redraw());
  };
  const section = el("section", {}, el("h2", {}, "How hard is a round?"),
    el("p", { class: "note" }, "TCR: place, among the round's candidates by draft probability, of the deepest one that was accepted. Low: the drafter's first guesses were right. " +
      "Φ: entropy summed along the surest drafted path, over the ten likeliest tokens. Points are means of tenths of the rounds."),
    el("div", { class: "controls" }, chooser(list.map((a) => [a.method, label(a.method)]), chosen, (m) => { chosen = m; draw(); })), quantiles,
    el("div", { class: "columns" }, el("div", {}, histogram), el("div", {}, tauByRank), el("div", {}, phiByRank), el("div", {}, tauByPhi)));
  redraws.push(() => {});
  queueMicrotask(draw);
  return section;
}
