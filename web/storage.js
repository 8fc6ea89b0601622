// What the browser keeps for the page, chats aside (store.js): for the tab ("sessionStorage") or for good ("localStorage"). It may refuse to;
// then what was kept lasts until the page is left.
const refused = new Map();

export function keep(where, name, value) {
  refused.delete(name);
  try {
    if (value === null) window[where].removeItem(name);
    else window[where].setItem(name, value);
    return true;
  } catch {
    if (value !== null) refused.set(name, value);
    return false;
  }
}

export function kept(where, name) {
  try {
    return refused.get(name) ?? window[where].getItem(name);
  } catch {
    return refused.get(name) ?? null;
  }
}
