// Who proposed a token, as a colour; the draft tree of a round, as a picture.
function proposerColour(index, depth) {
  const strength = Math.min(0.75, 0.22 + 0.11 * depth);
  return index === 0 ? "transparent" : `color-mix(in srgb, var(--c${1 + (index - 1) % 9}) calc(${Math.round(100 * strength)}% * var(--tint)), transparent)`;
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
    const root = i === 0, accepted = n[4] === 2 && !root, cut = n[4] === 0 && !root, text = visible(n[0]);
    const who = i === 0 ? "the token before this round: the model gave it, nobody proposed it" : `proposed by ${proposers[n[3] - 1] || "the model"}, p = ${fixed(n[2], 3)}`;
    drawing.append(sv("g", { opacity: cut ? .45 : 1, ...hint(`“${text}”\n${who}\n${root ? "root of the tree" : accepted ? "accepted" : cut ? "not verified" : "verified, rejected"}`) },
      sv("rect", { x: x(i), y: y(i) - 11, width: wide, height: 22, rx: 6, style: `fill:${accepted ? "color-mix(in srgb, var(--good) 24%, var(--card))" : root ? "var(--faint)" : "var(--card)"}`,
        stroke: accepted ? "var(--good)" : root ? "var(--soft)" : `var(--c${1 + (n[3] - 1) % 9})`, "stroke-dasharray": cut ? "3 3" : null, "stroke-width": accepted ? 2 : 1 }),
      sv("text", { class: "on", x: x(i) + 6, y: y(i) + 4 }, shortened(text, 8)),
      i > 0 && sv("text", { x: x(i) + wide - 4, y: y(i) + 4, "text-anchor": "end", style: "font-size:10px" }, fixed(n[2], 2).replace(/^0/, ""))));
  });
  drawing.rootAt = y(0);
  return drawing;
}
