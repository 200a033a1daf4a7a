// Runs in the head, before the first paint: the remembered theme, and the mark that scripts are on.
(() => {
  const root = document.documentElement;
  root.classList.replace("no-js", "js");
  try {
    const theme = localStorage.getItem("theme");
    if (theme === "light" || theme === "dark") root.dataset.theme = theme;
  } catch {
    // storage is refused: follow the system
  }
})();
