// How answers are shown: as text, or as tokens tinted by who proposed them. It is remembered.
import { keep, kept } from "./storage.js";

const name = "augur-view";
let view = kept("localStorage", name) === "tokens" ? "tokens" : "text";
const shown = new Set();  // WeakRefs to what draws an answer

export const currentView = () => view;
export const drawnByView = (drawer) => { shown.add(new WeakRef(drawer)); };

function choose(chosen) {
  view = chosen;
  for (const id of ["text", "tokens"]) byId(`view-${id}`).setAttribute("aria-pressed", String(id === view));
  for (const ref of shown) {
    if (ref.deref()) ref.deref().draw();
    else shown.delete(ref);
  }
}

export function prepareViews() {
  choose(view);
  for (const id of ["text", "tokens"]) byId(`view-${id}`).addEventListener("click", () => { keep("localStorage", name, id); choose(id); });
}
