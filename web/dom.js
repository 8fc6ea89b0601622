// What pages are made of. Text goes in as text nodes only.
const byId = (id) => document.getElementById(id);
const SVG = "http://www.w3.org/2000/svg";

function fill(node, attributes, children) {
  for (const [key, value] of Object.entries(attributes || {})) {
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (key === "style") node.style.cssText = value;
    else if (value !== null && value !== undefined && value !== false) node.setAttribute(key, value);
  }
  for (const child of children.flat(2)) {
    if (child !== null && child !== undefined && child !== false) node.append(child);
  }
  return node;
}
const el = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
const sv = (tag, attributes, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);

const fixed = (value, digits) => Number.isFinite(value) ? value.toFixed(digits) : "–";

// What lies under the pointer.
const tip = byId("tip");
function hint(text) {
  const show = (event) => {
    tip.textContent = typeof text === "function" ? text() : text;
    tip.hidden = false;
    const x = Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8);
    const y = event.clientY + 18 + tip.offsetHeight > innerHeight ? event.clientY - tip.offsetHeight - 10 : event.clientY + 18;
    tip.style.left = Math.max(8, x) + "px";
    tip.style.top = y + "px";
  };
  return { onpointerenter: show, onpointermove: show, onpointerleave: () => { tip.hidden = true; } };
}

const legend = (entries) => el("div", { class: "legend" },
  entries.map(([text, fillColour]) => el("span", {}, el("i", { style: `background:${fillColour}` }), text)));
