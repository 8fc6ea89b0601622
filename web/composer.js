// The box that messages are written in.
const box = byId("prompt");

export function fit() {
  box.style.height = "auto";
  box.style.height = `${Math.min(box.scrollHeight, 200)}px`;
}

export const written = () => box.value.trim();

export function write(text) {
  box.value = text;
  fit();
  box.dispatchEvent(new Event("input"));
}

// A message that was not answered. False: something else is written there by now.
export function giveBack(text) {
  if (written()) return false;
  write(text);
  return true;
}

export const focusComposer = () => box.focus();
