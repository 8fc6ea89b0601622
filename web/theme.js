// Light or dark: as the system has it.
function currentTheme() {
  return document.documentElement.dataset.theme;
}
function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
}
setTheme(matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
