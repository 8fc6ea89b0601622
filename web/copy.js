// Puts a text into the clipboard. Pages that came by plain HTTP have the old way only.
export async function copyText(text) {
  const put = (event) => {
    event.clipboardData.setData("text/plain", text);
    event.preventDefault();
    event.stopImmediatePropagation();
  };
  try {
    return await navigator.clipboard.writeText(text);
  } catch {
    document.addEventListener("copy", put, { capture: true, once: true });
    const done = document.execCommand("copy");
    document.removeEventListener("copy", put, { capture: true });
    if (!done) throw new Error("This browser lets nothing be copied here.");
  }
}

// A button that copies, and says so.
export async function copyFrom(button, text) {
  const said = button.dataset.said ||= button.textContent;
  button.textContent = await copyText(text).then(() => "Copied", () => "Not copied");
  setTimeout(() => { button.textContent = said; }, 1500);
}

// The buttons of code blocks in `root`.
export function copyCodeIn(root) {
  root.addEventListener("click", (event) => {
    const button = event.target.closest(".copy-code");
    if (button) copyFrom(button, button.closest(".code").querySelector("code").textContent);
  });
}
