// The dialog that asks for the server's key.
export function askForKey() {
  const dialog = byId("key-dialog");
  if (!dialog.open) dialog.showModal();
  return new Promise((resolve) => dialog.addEventListener("close", () => resolve(byId("key").value), { once: true }));
}
