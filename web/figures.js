// Figures that explain themselves: each is a button that opens a line about it, by mouse, touch and keyboard.
const note = el("div", { id: "explanation", popover: "auto", role: "note", "aria-live": "polite" });
let of = null;  // the button whose explanation is open

function explain(button, text) {
  if (of === button && note.matches(":popover-open")) return note.hidePopover();
  of = button;
  (button.closest("dialog") || document.body).append(note);  // beneath a modal dialog it would be dead
  note.textContent = text;
  note.showPopover();
  button.setAttribute("aria-expanded", "true");
  const box = button.getBoundingClientRect(), below = box.bottom + 6;
  note.style.left = `${Math.max(8, Math.min(box.left, innerWidth - note.offsetWidth - 8))}px`;
  note.style.top = `${below + note.offsetHeight > innerHeight ? Math.max(8, box.top - note.offsetHeight - 6) : below}px`;
}
note.addEventListener("toggle", (event) => { if (event.newState === "closed") of?.setAttribute("aria-expanded", "false"); });
addEventListener("click", (event) => { if (of && !of.contains(event.target) && note.matches(":popover-open")) note.hidePopover(); });

// `children` is what it shows; `text` may be a function.
export const explained = (text, ...children) => {
  const button = el("button", { type: "button", class: "figure", "aria-expanded": "false", "aria-controls": "explanation",
    onclick: () => explain(button, typeof text === "function" ? text() : text) }, children);
  return button;
};

// A row of figures that change: the buttons stay, so that the focus does.
export class Figures {
  constructor(node) {
    this.node = node;
    this.shown = new Map();
  }

  // rows: [value, name, explanation]; what has no value is not shown. rest: nodes behind them.
  show(rows, ...rest) {
    const order = [];
    for (const [value, name, text] of rows) {
      if (value === null || value === undefined || value === false) continue;
      if (!this.shown.has(text)) {
        const number = el("b"), word = el("span");
        this.shown.set(text, { number, word, button: explained(text, number, " ", word) });
      }
      const { number, word, button } = this.shown.get(text);
      if (number.textContent !== String(value)) number.textContent = value;
      if (word.textContent !== name) word.textContent = name;
      order.push(button);
    }
    order.push(...rest.filter(Boolean));
    for (const [i, child] of order.entries()) if (this.node.children[i] !== child) this.node.insertBefore(child, this.node.children[i] || null);
    while (this.node.children.length > order.length) this.node.lastElementChild.remove();
  }
}
