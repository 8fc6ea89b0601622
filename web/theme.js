// Light or dark: as it was chosen, else as the system has it.
function currentTheme() {
  return document.documentElement.dataset.theme;
}
function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
}
// Null: none was chosen, or the browser keeps nothing.
function chosenTheme() {
  try {
    const theme = localStorage.getItem("augur-theme");
    return theme === "light" || theme === "dark" ? theme : null;
  } catch {
    return null;
  }
}
setTheme(chosenTheme() || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light"));
