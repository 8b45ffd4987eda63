// Before anything is painted: the language and the theme that the reader chose the last time.
(() => {
  const root = document.documentElement;
  root.classList.add("js");
  root.dataset.written = root.dataset.lang;
  try {
    const language = localStorage.getItem("rnnlab language of " + root.dataset.written);
    if (language === "en" || language === "zh") root.dataset.lang = root.lang = language;
    const theme = localStorage.getItem("rnnlab theme");
    if (theme === "light" || theme === "dark") root.dataset.theme = theme;
  } catch {
    // a page from a file: address may have no storage
  }
})();
