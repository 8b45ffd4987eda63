"use strict";
// What a page does when it is read: languages, themes, charts, tables, explanations, saving and copying.
(() => {
  const root = document.documentElement;
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const stored = (id) => JSON.parse(document.getElementById(id)?.textContent ?? "null");
  const remember = (key, value) => {
    try {
      localStorage.setItem(key, value);
    } catch {
      // a page from a file: address may have no storage
    }
  };
  const language = () => root.dataset.lang;

  // ── Languages ──────────────────────────────────────────────────────────────────────────────────────────────────
  const speak = () => {
    for (const element of all("[data-en]")) {
      const text = element.dataset[language()];
      if (element.matches("title, option")) element.textContent = text;
      else element.setAttribute("aria-label", text);
    }
    for (const button of all("[data-language]"))
      button.setAttribute("aria-pressed", String(button.dataset.language === language()));
  };
  for (const button of all("[data-language]"))
    button.addEventListener("click", () => {
      root.dataset.lang = root.lang = button.dataset.language;
      remember("rnnlab language of " + root.dataset.written, button.dataset.language);
      speak();
      redraw();
      measure(); // other words, other widths
    });

  // ── Themes ─────────────────────────────────────────────────────────────────────────────────────────────────────
  const systemIsDark = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : systemIsDark.matches);
  const showTheme = () => {
    for (const button of all("[data-choose-theme]"))
      button.setAttribute("aria-pressed", String(button.dataset.chooseTheme === (root.dataset.theme ?? "auto")));
  };
  for (const button of all("[data-choose-theme]"))
    button.addEventListener("click", () => {
      const was = isDark();
      if (button.dataset.chooseTheme === "auto") delete root.dataset.theme;
      else root.dataset.theme = button.dataset.chooseTheme;
      remember("rnnlab theme", button.dataset.chooseTheme);
      showTheme();
      if (isDark() !== was) redraw();
    });
  systemIsDark.addEventListener("change", () => root.dataset.theme || redraw());

  // ── Charts ─────────────────────────────────────────────────────────────────────────────────────────────────────
  const { datasets, figures } = stored("charts") ?? { datasets: {}, figures: {} };
  const themes = stored("chart-themes");
  const hidden = new Set(); // arms that are switched off
  const charts = all(".chart[data-figure]").map((place) => ({ place, name: place.dataset.figure, view: null, turn: 0, done: false }));
  let waiting = [];

  // Vega-Lite can't be told what to log. That a chart with a fixed step a row isn't fitted in height is as it should be.
  const warn = console.warn;
  console.warn = (...words) => words.some((one) => String(one).startsWith('Dropping "fit-')) || warn.apply(console, words);

  const rowsOf = (key) => {
    // made anew for each chart: Vega writes into the rows that it gets
    const table = datasets[key];
    if (table.values) return structuredClone(table.values);
    return table.rows.map((row) => Object.fromEntries(row.map((value, at) => [table.fields[at], value])));
  };
  const dataNames = (part, found = new Set()) => {
    if (part && typeof part === "object") {
      if (typeof part.data?.name === "string" && part.data.name in datasets) found.add(part.data.name);
      for (const value of Object.values(part)) dataNames(value, found);
    }
    return found;
  };
  const chosen = (chart) =>
    all("[data-param]", chart.place.closest(".figure")).map((control) => [
      control.dataset.param,
      control.querySelector("input:checked, select").value,
    ]);
  const settings = (chart) => [...chosen(chart), ...(figures[chart.name].arms ? [["hidden", [...hidden]]] : [])];

  const specOf = (chart) => {
    const spec = structuredClone(figures[chart.name][language()]);
    spec.datasets = Object.fromEntries([...dataNames(spec)].map((key) => [key, rowsOf(key)]));
    spec.autosize ??= spec.width === "container" ? { type: "fit-x", contains: "padding" } : "pad";
    for (const [name, value] of settings(chart)) {
      const param = spec.params?.find((one) => one.name === name);
      if (param) param.value = value;
    }
    const room = chart.place.clientWidth || document.querySelector("main").clientWidth || 640;
    const { least = 0, panels } = spec.usermeta ?? {};
    if (spec.width === "container" && (!chart.place.clientWidth || room < least)) spec.width = Math.max(room, least);
    if (panels) {
      // as many abreast as there is room for
      spec.columns = Math.max(1, Math.min(panels.abreast, Math.floor(room / (panels.least + panels.axes))));
      spec.spec.width = Math.max(panels.least, Math.floor(room / spec.columns) - panels.axes);
    }
    return spec;
  };
  const draw = async (chart) => {
    const turn = ++chart.turn; // a later drawing makes this one void
    const target = document.createElement("div");
    target.className = "drawn";
    target.setAttribute("role", "img"); // one picture with one description: a label a mark would be noise
    target.setAttribute("aria-label", figures[chart.name][language()].description);
    if (chart.view) chart.place.style.minHeight = chart.place.offsetHeight + "px"; // nothing jumps meanwhile
    for (const old of all(".drawn", chart.place)) old.remove();
    chart.view?.finalize();
    chart.view = null;
    chart.place.append(target);
    const wanted = JSON.stringify(settings(chart));
    try {
      const spec = specOf(chart);
      const drawn = await vegaEmbed(target, spec, {
        mode: "vega-lite",
        ast: true, // an interpreter rather than eval, which the page's policy forbids
        renderer: "svg",
        actions: false,
        defaultStyle: false,
        logLevel: 1, // errors; that a chart with all arms switched off is empty needs no warning
        tooltip: { theme: "shell", disableDefaultStyle: true },
        config: { ...themes[isDark() ? "dark" : "light"], aria: false, font: getComputedStyle(document.body).fontFamily },
      });
      if (turn !== chart.turn) return drawn.finalize();
      if (spec.width === "container") await drawn.view.resize().runAsync(); // labels that turn by its width make it higher
      chart.view = drawn.view;
      target.querySelector("svg").setAttribute("aria-hidden", "true");
      if (JSON.stringify(settings(chart)) !== wanted) await apply(chart); // something was chosen meanwhile
      chart.place.style.minHeight = "";
    } catch (error) {
      console.error(chart.name, error);
      target.textContent = String(error);
    }
    chart.done = true;
    reachable(chart.place);
    if (charts.every((one) => one.done)) root.dataset.drawn = "yes";
  };
  const apply = (chart) => {
    if (!chart.view) return; // what is chosen is read when it is drawn
    for (const [name, value] of settings(chart)) chart.view.signal(name, value);
    return chart.view.runAsync();
  };

  // Charts near what is read come first, the others when there is nothing else to do.
  const idle = window.requestIdleCallback ?? ((work) => setTimeout(work, 30));
  const drawNow = (chart) => {
    waiting = waiting.filter((one) => one !== chart);
    return draw(chart);
  };
  const drawNext = async () => {
    if (!waiting.length) return;
    await drawNow(waiting[0]);
    idle(drawNext, { timeout: 500 });
  };
  const near = (chart) => {
    const { top, bottom } = chart.place.getBoundingClientRect();
    return bottom > -300 && top < innerHeight + 300;
  };
  const redraw = () => {
    root.dataset.drawn = charts.length ? "no" : "yes";
    waiting = [...charts];
    for (const chart of charts) chart.done = false;
    for (const chart of charts.filter(near)) drawNow(chart);
    idle(drawNext, { timeout: 500 });
  };
  addEventListener("scroll", () => waiting.filter(near).forEach(drawNow), { passive: true });
  let resized = 0;
  addEventListener("resize", () => {
    clearTimeout(resized); // Vega has given it the new width by then
    resized = setTimeout(() => {
      for (const chart of charts)
        if (figures[chart.name][language()].usermeta) drawNow(chart); // its form depends on its width
        else chart.view?.resize().runAsync();
    }, 200);
  });

  for (const chart of charts) {
    const figure = chart.place.closest(".figure");
    for (const control of all("[data-param]", figure)) control.addEventListener("change", () => apply(chart));
    for (const button of all("[data-export]", figure)) button.addEventListener("click", () => exportChart(chart, button.dataset.export));
    chart.place.closest("details")?.addEventListener("toggle", () => {
      // drawn while it couldn't be seen, it doesn't know its width
      if (figures[chart.name][language()].width === "container") drawNow(chart);
    });
  }
  const exportChart = async (chart, kind) => {
    if (!chart.view) return;
    const canvas = getComputedStyle(document.body).backgroundColor;
    const before = chart.view.background();
    chart.view.background(canvas); // a file has no page behind it
    const address = await chart.view.toImageURL(kind, kind === "png" ? 2 : 1);
    chart.view.background(before);
    saveAs(address, `${chart.name}.${kind}`);
  };

  // ── The legend of arms ─────────────────────────────────────────────────────────────────────────────────────────
  const chips = all("[data-arm]");
  const showArms = () => {
    for (const chip of chips) chip.setAttribute("aria-pressed", String(!hidden.has(chip.dataset.arm)));
    for (const chart of charts) if (figures[chart.name].arms) apply(chart);
  };
  const hideAllBut = (kept) => {
    hidden.clear();
    for (const chip of chips) if (!kept(chip)) hidden.add(chip.dataset.arm);
    showArms();
  };
  for (const chip of chips) {
    chip.addEventListener("click", () => {
      if (!hidden.delete(chip.dataset.arm)) hidden.add(chip.dataset.arm);
      showArms();
    });
    chip.addEventListener("dblclick", () => hideAllBut((other) => other.dataset.arm === chip.dataset.arm));
  }
  for (const button of all("[data-arms]")) button.addEventListener("click", () => hideAllBut(() => button.dataset.arms === "all"));

  // ── Tables ─────────────────────────────────────────────────────────────────────────────────────────────────────
  const shownText = (element) => [...element.childNodes].map((node) => {
    if (node.nodeType === Node.TEXT_NODE) return node.textContent;
    return node.hidden || (node.lang && node.lang !== language()) ? "" : shownText(node);
  }).join("").trim();
  const compare = (one, other) =>
    typeof one === "number" && typeof other === "number" ? one - other : String(one).localeCompare(String(other), root.lang, { numeric: true });
  const sort = (head) => {
    const heads = [...head.parentElement.children];
    const at = heads.indexOf(head);
    const first = head.classList.contains("number") ? "descending" : "ascending";
    const second = first === "ascending" ? "descending" : "ascending";
    const way = head.getAttribute("aria-sort") === first ? second : first;
    for (const other of heads) other.setAttribute("aria-sort", other === head ? way : "none");
    const body = head.closest("table").tBodies[0];
    const keyed = [...body.rows].map((row) => {
      const cell = row.cells[at];
      const raw = cell.dataset.value ?? shownText(cell);
      return { row, key: raw === "" ? null : raw !== "" && Number.isFinite(Number(raw)) ? Number(raw) : raw };
    });
    const sign = way === "ascending" ? 1 : -1;
    keyed.sort((a, b) => (a.key === null) - (b.key === null) || (a.key === null ? 0 : sign * compare(a.key, b.key)));
    body.append(...keyed.map(({ row }) => row));
  };
  for (const button of all(".sort")) button.addEventListener("click", () => sort(button.closest("th")));

  // ── Explanations: on hover, on focus and on tap ────────────────────────────────────────────────────────────────
  const tip = document.getElementById("tip");
  let explained = null;
  let leaving = 0;
  const explain = (element) => {
    clearTimeout(leaving);
    if (explained === element) return;
    forget();
    explained = element;
    tip.replaceChildren(...[...element.querySelector(".explained").childNodes].map((node) => node.cloneNode(true)));
    tip.hidden = false;
    element.setAttribute("aria-describedby", "tip");
    place();
  };
  const place = () => {
    if (!explained) return;
    const around = explained.getBoundingClientRect();
    const { width, height } = tip.getBoundingClientRect();
    const below = around.bottom + 6 + height < innerHeight || around.top < height + 6;
    tip.style.left = Math.max(8, Math.min(around.left + around.width / 2 - width / 2, root.clientWidth - width - 8)) + "px";
    tip.style.top = (below ? around.bottom + 6 : around.top - height - 6) + "px";
  };
  const forget = () => {
    clearTimeout(leaving);
    explained?.removeAttribute("aria-describedby");
    explained = null;
    tip.hidden = true;
  };
  const leave = () => {
    clearTimeout(leaving);
    leaving = setTimeout(forget, 150); // time to move onto the explanation itself
  };
  for (const element of all("[data-tip]")) {
    element.addEventListener("pointerenter", () => explain(element));
    element.addEventListener("pointerleave", () => element.contains(document.activeElement) || leave());
    element.addEventListener("focusin", () => explain(element));
    element.addEventListener("focusout", forget);
    element.addEventListener("click", () => explain(element));
  }
  tip.addEventListener("pointerenter", () => clearTimeout(leaving));
  tip.addEventListener("pointerleave", leave);
  addEventListener("keydown", (event) => event.key === "Escape" && forget());
  addEventListener("scroll", place, { passive: true, capture: true }); // it goes along
  addEventListener("pointerdown", (event) => event.target.closest?.("[data-tip], #tip") || forget());

  // A strip of tokens is one stop of the Tab key; arrows go from token to token.
  for (const strip of all(".tokens"))
    strip.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      const tokens = all(".token", strip);
      const next = tokens[tokens.indexOf(document.activeElement) + step];
      if (!step || !next) return;
      event.preventDefault();
      document.activeElement.tabIndex = -1;
      next.tabIndex = 0;
      next.focus();
    });

  // ── Saving and copying ─────────────────────────────────────────────────────────────────────────────────────────
  const say = (text) => (document.getElementById("said").textContent = text);
  const saveAs = (address, name) => Object.assign(document.createElement("a"), { href: address, download: name }).click();
  for (const button of all("[data-download]"))
    button.addEventListener("click", () => {
      let text = stored(button.dataset.from);
      if (button.dataset.seed) text = JSON.stringify({ ...text, seed: Number(button.dataset.seed) }, null, 2) + "\n"; // a run's spec
      const address = URL.createObjectURL(new Blob([text], { type: button.dataset.mime }));
      saveAs(address, button.dataset.download);
      setTimeout(() => URL.revokeObjectURL(address), 10_000);
    });
  const copy = async (source) => {
    try {
      await navigator.clipboard.writeText(source.textContent);
    } catch {
      getSelection().selectAllChildren(source); // no clipboard for this page: the older way, or at least selected
      document.execCommand("copy");
    }
  };
  for (const button of all("[data-copy]"))
    button.addEventListener("click", async () => {
      await copy(button.closest(".command").querySelector("code"));
      const before = [...button.childNodes];
      const done = button.dataset[language() === "zh" ? "doneZh" : "doneEn"];
      if (button.textContent !== done) {
        button.replaceChildren(done);
        setTimeout(() => button.replaceChildren(...before), 1500);
      }
      say(done);
    });

  // ── Boxes that scroll can be reached by keyboard, and show on which side there is more ─────────────────────────
  const reachable = (box) => {
    const scrolls = box.scrollWidth > box.clientWidth + 1;
    box.toggleAttribute("tabindex", scrolls);
    if (scrolls) box.tabIndex = 0;
    if (scrolls && !box.matches("pre")) box.setAttribute("role", "region");
    else box.removeAttribute("role");
    hint(box);
  };
  const hint = (box) => {
    box.classList.toggle("more-left", box.scrollLeft > 1);
    box.classList.toggle("more-right", box.scrollLeft + box.clientWidth < box.scrollWidth - 1);
  };
  const look = (box) => (box.matches(".scroll") ? reachable : hint)(box);
  const measure = () => all(".scroll, .contents").forEach(look);
  const sizes = new ResizeObserver((entries) => entries.forEach(({ target }) => look(target.closest(".scroll, .contents"))));
  for (const box of all(".scroll, .contents")) {
    sizes.observe(box);
    if (box.firstElementChild) sizes.observe(box.firstElementChild); // it may grow where its box can't
    box.addEventListener("scroll", () => hint(box), { passive: true });
  }

  // ── Where the reader is, and paper ─────────────────────────────────────────────────────────────────────────────
  const links = all(".contents a");
  const places = links.map((link) => document.getElementById(decodeURIComponent(link.hash.slice(1))));
  const locate = () => {
    const passed = places.findLastIndex((place) => place && place.getBoundingClientRect().top < innerHeight / 3);
    links.forEach((link, at) => (at === Math.max(0, passed) ? link.setAttribute("aria-current", "true") : link.removeAttribute("aria-current")));
  };
  addEventListener("scroll", locate, { passive: true });
  let opened = [];
  addEventListener("beforeprint", () => {
    opened = all("details:not([open])");
    for (const one of opened) one.open = true;
    waiting.forEach(drawNow);
  });
  addEventListener("afterprint", () => {
    for (const one of opened) one.open = false;
    opened = [];
  });

  speak();
  showTheme();
  locate();
  redraw();
})();
