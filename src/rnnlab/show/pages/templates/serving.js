"use strict";
// The page of `rnnlab serve`: asks the server while one types, and shows what it says.
(() => {
  const PAUSE = 300; // ms without a key before the server is asked
  const SHOWN = 8; // labels, before somebody asks for the rest
  const LONGEST_WAIT = 30; // s

  const at = (id) => document.getElementById(id);
  const element = (tag, attributes = {}, ...children) => {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    made.append(...children);
    return made;
  };
  // Texts in both languages, of which the page shows one. What comes from the server is only ever set as text.
  const say = (en, zh) => [element("span", { lang: "en" }, en), element("span", { lang: "zh" }, zh)];
  const english = (text) => element("span", { lang: "en-GB" }, text); // said by the server, in one language
  const percent = (share) => {
    if (share === 0 || share === 1) return `${100 * share}\u00a0%`;
    if (share < 0.0005) return "<\u00a00.1\u00a0%"; // nothing that a model says is quite certain
    return share >= 0.9995 ? ">\u00a099.9\u00a0%" : `${(100 * share).toFixed(1)}\u00a0%`;
  };
  const number = (value) => value.toLocaleString("en-GB");

  // ── The server ─────────────────────────────────────────────────────────────────────────────────────────────────
  let token = null; // never stored
  let models = [];
  const request = (path, options = {}) =>
    fetch(path, {
      ...options,
      cache: "no-store",
      credentials: "omit",
      headers: { "Content-Type": "application/json", ...(token ? { Authorization: `Bearer ${token}` } : {}) },
    });
  const failure = async (response) => {
    const reason = await response.json().then((body) => body.error.reason, () => "");
    const wait = Math.min(Number(response.headers.get("Retry-After")) || 1, LONGEST_WAIT);
    return { status: response.status, reason: String(reason ?? ""), wait };
  };

  // Words in both languages come with the page; {gaps} are filled here.
  const WORDS = JSON.parse(at("words").textContent);
  const told = (key, gaps = {}) => WORDS[key].map((words) => words.replace(/\{(\w+)\}/g, (_, name) => gaps[name]));
  const showTrouble = (kind, reason = "") => {
    const words = told(`trouble ${kind}` in WORDS ? `trouble ${kind}` : "trouble other");
    at("trouble").replaceChildren(element("strong", {}, ...say(...words)));
    if (reason) at("trouble").append(" ", english(reason));
    at("trouble").hidden = false;
    at("result").hidden = at("nothing").hidden = true; // that of an older text
    forecaster.hide();
    if (kind === 401) {
      at("token-form").hidden = false;
      at("token").focus();
    }
  };
  const noTrouble = () => (at("trouble").hidden = true);

  // ── Asking ─────────────────────────────────────────────────────────────────────────────────────────────────────
  const TOO_LARGE = new Error("more than the server takes");
  let pause = 0;
  let asked = null; // the request that is under way
  let composing = false; // letters of an input method aren't the text yet
  const typed = (field) => field.value.toWellFormed?.() ?? field.value;
  const columns = () => [...document.querySelectorAll("#columns textarea")]; // of a model that reads several texts
  const hears = () => model()?.reads === "recording";
  const tags = () => model()?.answers === "tags";
  const text = () =>
    columns().length ? Object.fromEntries(columns().map((field) => [field.name, typed(field)])) : typed(at("text"));
  const file = () => at("file").files[0];
  const letters = () => (columns().length ? Object.values(text()).join("") : text());
  const model = () => models.find((one) => one.name === at("model").value) ?? models[0];

  const writes = () => model()?.answers === "text";
  const translates = () => model()?.answers === "translation";
  const forecasts = () => model()?.answers === "forecast";
  const forecaster = servedForecaster({ at, element, say, told, model, typed, ask: () => ask() });
  const writer = servedWriter({ at, say, told, request, failure, showTrouble, noTrouble, model, typed });

  const ask = async () => {
    clearTimeout(pause);
    asked?.abort();
    showRequest();
    if (writes()) return; // when it is told to
    if (!model() || !(hears() ? file() : forecasts() ? forecaster.text().trim() : letters().trim())) return showNothing();
    const mine = (asked = new AbortController());
    at("answer").setAttribute("aria-busy", "true");
    try {
      const body = JSON.stringify({ model: model().name, ...(await question()) });
      if (mine !== asked) return;
      if ((hears() || forecasts()) && body.length > Number(at("ask").dataset.body)) throw TOO_LARGE;
      const address = forecasts() ? "/v1/forecast" : "/v1/predict";
      const response = await request(address, { method: "POST", body, signal: mine.signal });
      const said = response.ok ? await response.json() : await failure(response);
      if (mine !== asked) return;
      if (response.ok && forecasts()) showForecasts(said.forecasts);
      else if (response.ok) showAnswer(said.predictions[0]);
      else {
        showTrouble(said.status, said.reason);
        if (said.status === 429 || said.status === 503) pause = setTimeout(ask, 1000 * said.wait);
      }
    } catch (error) {
      if (mine === asked) showTrouble(error === TOO_LARGE ? 413 : "unreachable");
    }
    if (mine === asked) at("answer").setAttribute("aria-busy", "false");
  };
  // What the server reads: tags need no explanation, and long texts get none.
  const question = async () => {
    if (forecasts()) return { csv: forecaster.text(), history: true };
    if (hears()) return { wav: await base64(file()) };
    return { text: text(), explain: !tags() && [...letters()].length <= Number(at("ask").dataset.explained) };
  };
  const base64 = (chosen) =>
    new Promise((resolve, reject) => {
      if (chosen.size > Number(at("ask").dataset.body)) return reject(TOO_LARGE);
      const reader = new FileReader();
      reader.onload = () => resolve(reader.result.slice(reader.result.indexOf(",") + 1)); // behind data:audio/wav;base64,
      reader.onerror = () => reject(reader.error);
      reader.readAsDataURL(chosen);
    });
  const soon = () => {
    clearTimeout(pause);
    if (!composing) pause = setTimeout(ask, PAUSE);
  };
  at("ask").addEventListener("compositionstart", () => (composing = true));
  at("ask").addEventListener("compositionend", () => {
    composing = false;
    soon();
  });
  at("ask").addEventListener("input", (event) => event.target.matches("textarea") && soon());
  at("ask").addEventListener("keydown", (event) => {
    if (!event.target.matches("textarea") || writes() || forecasts()) return;
    // 229: Safari sends the Enter that ends a composition after it
    if (event.key !== "Enter" || event.shiftKey || event.isComposing || composing || event.keyCode === 229) return;
    event.preventDefault();
    ask();
  });
  at("ask").addEventListener("submit", (event) => {
    event.preventDefault();
    writes() ? writer.write() : ask();
  });
  at("writing").addEventListener("input", () => showRequest());
  at("file").addEventListener("change", ask);
  at("model").addEventListener("change", () => {
    showFields();
    showCard();
    ask();
  });
  at("token-form").addEventListener("submit", (event) => {
    event.preventDefault();
    token = at("token").value.trim();
    at("token").value = "";
    at("token-form").hidden = true;
    noTrouble();
    at("nothing").hidden = false;
    models.length ? ask() : meet();
    (columns()[0] ?? at("text")).focus();
  });

  // ── The answer ─────────────────────────────────────────────────────────────────────────────────────────────────
  let everyLabel = false;
  let last = null;
  const showNothing = () => {
    asked = last = null;
    at("answer").setAttribute("aria-busy", "false");
    noTrouble();
    at("result").hidden = true;
    forecaster.hide();
    at("nothing").hidden = false;
  };
  const showForecasts = (found) => {
    noTrouble();
    at("nothing").hidden = true;
    forecaster.show(found);
  };
  const showAnswer = (answer) => {
    last = answer;
    noTrouble();
    at("nothing").hidden = true;
    at("result").hidden = false;
    const label = headline(answer);
    const sure = answer.labels || answer.tags ? "" : percent(answer.probability); // of several, the rest tells
    at("label").replaceChildren(...[label].flat());
    at("sure").replaceChildren(sure);
    const bars = !answer.tags && !translates(); // a text has no labels beside it
    at("bars").hidden = at("more").hidden = !bars;
    at("tagging").hidden = !answer.tags;
    if (answer.tags) showTags(answer);
    else if (bars) showBars();
    showTokens(answer.tokens ?? []);
    showKnown(answer.known);
    at("said").replaceChildren(...at("label").cloneNode(true).childNodes, " ", sure); // for those who listen
  };
  const headline = ({ label, labels, tags, entities }) => {
    if (labels) return labels.join(" · ") || say(...told("no label"));
    if (!tags) return label || say(...told("no words"));
    if (!entities) return say(...told("tags", { count: tags.length }));
    const key = ["no entity", "one entity"][entities.length] ?? "entities";
    return say(...told(key, { count: entities.length }));
  };
  const showBars = () => {
    const all = Object.entries(last.probabilities);
    const many = all.length > SHOWN; // few keep their places, so that one sees them move
    const shown = many ? all.sort((one, other) => other[1] - one[1]).slice(0, everyLabel ? all.length : SHOWN) : all;
    at("bars").replaceChildren(
      ...shown.map(([label, probability]) => {
        const bar = element("span", { class: "bar" });
        bar.style.setProperty("--share", probability);
        return element(
          "li",
          (last.labels ?? [last.label]).includes(label) ? { class: "first" } : {},
          element("span", { class: "name" }, label),
          element("span", { class: "track", "aria-hidden": "true" }, bar),
          element("span", { class: "percent" }, percent(probability)),
        );
      }),
    );
    at("more").hidden = !many;
    const words = everyLabel ? told("fewer labels") : told("all labels", { count: all.length });
    at("more").replaceChildren(...say(...words));
  };
  at("more").addEventListener("click", () => {
    everyLabel = !everyLabel;
    showBars();
  });
  const showTokens = (tokens) => {
    at("reasons").hidden = !tokens.length;
    const largest = Math.max(...tokens.map((token) => Math.abs(token.weight))) || 1;
    at("tokens").replaceChildren(
      ...tokens.map((token, place) => {
        const sign = token.weight > 0 ? "for" : "against";
        const made = element("span", { class: `token ${sign}`, tabindex: place ? -1 : 0 }, token.text);
        made.classList.toggle("unknown", token.known === false);
        made.style.setProperty("--share", (Math.abs(token.weight) / largest).toFixed(3));
        made.token = token;
        return made;
      }),
    );
    at("weight").replaceChildren(...hint.map((node) => node.cloneNode(true)));
  };
  // ── Tags ───────────────────────────────────────────────────────────────────────────────────────────────────────
  const COLOURS = JSON.parse(at("colours").textContent);
  // The text as it was typed, with what was found in it; what the model didn't read any more stays plain.
  const showTags = ({ tags, entities }) => {
    const found = entities ? entities.map((one) => ({ ...one, tag: one.type })) : words(tags);
    const letters = [...text()]; // the server counts code points
    const pieces = [];
    let end = 0;
    for (const one of found) {
      pieces.push(letters.slice(end, one.start).join(""), piece(one, entities, !pieces.length));
      end = one.end;
    }
    at("tagged").replaceChildren(...pieces, letters.slice(end).join(""));
    showTypes(entities);
    at("tag").replaceChildren(...say(...told(entities ? "hint entities" : "hint tags")));
    at("tag").hidden = !found.length;
  };
  const piece = ({ text, tag, type, probability, known }, entities, first) => {
    const form = element("span", { class: "form" }, text);
    const made = element("span", { class: entities ? "token entity" : "token word", tabindex: first ? 0 : -1 }, form);
    if (tag) made.append(element("span", { class: "tag" }, tag)); // entities of some schemes have no type
    made.classList.toggle("unknown", known === false);
    if (entities) made.style.setProperty("--type", colour(type));
    made.tagged = { text, tag, probability, known };
    return made;
  };
  // Where each token stands in the text, in code points: tokens follow one another there as they are.
  const words = (tags) => {
    const all = text();
    let units = 0; // of UTF-16, up to which the text was looked through
    let end = 0;
    return tags.flatMap(({ token, label, probability, known }) => {
      const place = all.indexOf(token, units);
      if (place < 0) return [];
      const start = end + [...all.slice(units, place)].length;
      units = place + token.length;
      end = start + [...token].length;
      return [{ text: token, tag: label, probability, known, start, end }];
    });
  };
  const colour = (type) => COLOURS[Math.max(0, (model().types ?? []).indexOf(type)) % COLOURS.length];
  const showTypes = (entities) => {
    const types = entities ? model().types.filter(Boolean) : [];
    at("types").replaceChildren(
      ...types.map((type) => {
        const count = entities.filter((one) => one.type === type).length;
        const made = element("li", count ? {} : { class: "none" }, `${type} ${count}`);
        made.style.setProperty("--type", colour(type));
        return made;
      }),
    );
    at("types").hidden = !types.length;
  };
  const tellTag = (event) => {
    const { tagged } = event.target.closest(".token") ?? {};
    if (!tagged) return;
    const unknown = tagged.known === false ? [" · ", ...say(...told("unknown"))] : [];
    const tag = tagged.tag ? ` ${tagged.tag}` : "";
    at("tag").replaceChildren(element("strong", {}, tagged.text), `${tag} ${percent(tagged.probability)}`, ...unknown);
  };
  for (const kind of ["pointerover", "focusin", "click"]) at("tagged").addEventListener(kind, tellTag);
  at("tagged").addEventListener("focusin", (event) => event.target.setAttribute("aria-describedby", "tag"));

  const showKnown = (known) => {
    at("known").hidden = hears(); // of sounds there are no unknown ones
    at("known").classList.toggle("few", known < 0.5);
    const share = element("strong", {}, percent(known));
    const doubt = known < 0.5 ? told("doubt") : ["", ""];
    at("known").replaceChildren(
      ...["en", "zh"].map((lang, place) => {
        const [before, after] = WORDS.known[place].split("{share}");
        return element("span", { lang }, before, share.cloneNode(true), after, doubt[place]);
      }),
    );
  };

  // The line below the strip tells of a token; arrows go from one to the next, as in every strip of the shell.
  const hint = [...at("weight").childNodes];
  const tell = (event) => {
    const { token } = event.target.closest(".token") ?? {};
    if (!token) return;
    const weight = `${token.weight > 0 ? "+" : token.weight < 0 ? "−" : ""}${Math.abs(token.weight).toFixed(3)}`;
    const unknown = token.known === false ? [" · ", ...say(...told("unknown"))] : [];
    at("weight").replaceChildren(element("strong", {}, token.text), ` ${weight}`, ...unknown);
  };
  for (const kind of ["pointerover", "focusin", "click"]) at("tokens").addEventListener(kind, tell);
  at("tokens").addEventListener("focusin", (event) => event.target.setAttribute("aria-describedby", "weight"));

  // ── The request as a command ───────────────────────────────────────────────────────────────────────────────────
  const quoted = (words) => `'${words.replaceAll("'", "'\\''")}'`;
  const recorded = (named) => {
    const [before, after] = JSON.stringify({ ...named, wav: " " }).split('" "');
    const path = quoted(file()?.name ?? "….wav");
    return `(printf %s ${quoted(before + '"')}; base64 < ${path} | tr -d '\\n'; printf %s ${quoted('"' + after)})`;
  };
  const showRequest = () => {
    const secret = token ? ' -H "Authorization: Bearer $RNNLAB_TOKEN"' : "";
    const named = models.length > 1 ? { model: model().name } : {};
    if (writes()) {
      const body = quoted(JSON.stringify({ ...writer.body(), ...named }));
      const head = `curl -N ${location.origin}/v1/generate -H 'Content-Type: application/json'${secret}`;
      document.querySelector("#request pre code").textContent = `${head} -d ${body}`;
      at("document").hidden = token !== null;
      return;
    }
    if (forecasts()) {
      const filter = `{csv: .${models.length > 1 ? `, model: ${JSON.stringify(model().name)}` : ""}}`;
      const head = `curl ${location.origin}/v1/forecast -H 'Content-Type: application/json'${secret} -d @-`;
      const path = quoted(at("series-file").files[0]?.name ?? "recent.csv");
      document.querySelector("#request pre code").textContent = `jq -Rs ${quoted(filter)} ${path} | ${head}`;
      at("document").hidden = token !== null;
      return;
    }
    const curl = `curl ${location.origin}/v1/predict -H 'Content-Type: application/json'${secret} -d`;
    document.querySelector("#request pre code").textContent = hears()
      ? `${recorded(named)} | ${curl} @-`
      : `${curl} ${quoted(JSON.stringify({ text: letters() || columns().length ? text() : "…", ...named }))}`;
    at("document").hidden = token !== null; // a link can't send it
  };

  // ── The models and their cards ─────────────────────────────────────────────────────────────────────────────────
  const fact = (name, ...told) => element("div", {}, element("dt", {}, ...say(...name)), element("dd", {}, ...told));
  const showLabels = (labels, found) => {
    const losses = found.some(({ loss }) => loss !== null);
    const share = (value) => (value === null ? "–" : percent(value));
    const row = (label, { rows, recall, precision, f1, loss }) => {
      const figures = [number(rows), share(recall), share(precision), share(f1)];
      if (losses) figures.push(loss === null ? "–" : loss.toFixed(4));
      const cells = figures.map((figure) => element("td", { class: "number" }, figure));
      return element("tr", {}, element("th", { scope: "row" }, label), ...cells);
    };
    document.querySelector("#labels tbody").replaceChildren(...found.map((one, at) => row(labels[at], one)));
    document.querySelector("#labels .loss").hidden = !losses;
    at("labels").hidden = !found.length;
  };
  const ahead = ({ channels, lookback, horizon, spacing }) => [
    fact(told("channels"), channels.join(", ")),
    fact(told("horizon"), number(horizon)),
    fact(told("lookback"), number(lookback)),
    ...(spacing ? [fact(told("spacing"), ...say(...forecaster.apart(spacing)))] : []),
  ];
  const showCard = () => {
    const { card = {}, kind, labels, by_label: byLabel = [] } = model();
    const { accuracy, calibration, data = {} } = card;
    const facts = [fact(told("model"), kind)];
    if (card.model?.parameters) facts.push(fact(told("parameters"), number(card.model.parameters)));
    if (forecasts()) facts.push(...ahead(model()));
    else if (!writes() && !translates()) facts.push(fact(told("labels"), `${labels.length}`));
    if (accuracy) {
      const seeds = accuracy.seeds > 1 ? say(...told("seeds", { count: accuracy.seeds })) : [];
      const { score = "accuracy", unit = "percent", measure } = card.model ?? {};
      const points = (value) => (100 * value).toFixed(1);
      const shown = { percent, points }[unit] ?? ((value) => value.toFixed(4));
      const interval = `${shown(accuracy.mean)} (${shown(accuracy.low)} – ${shown(accuracy.high)}`;
      facts.push(fact(WORDS[score] ? told(score) : [measure, measure], interval, ...seeds, ")"));
    }
    for (const [score, text] of Object.entries(card.model?.signatures ?? {}))
      if (WORDS[`signature ${score}`]) facts.push(fact(told(`signature ${score}`), element("code", {}, text)));
    if (calibration) {
      const gap = (value) => (100 * value).toFixed(1);
      facts.push(
        fact(
          told("calibration"),
          ...say(...told("calibrated", { after: gap(calibration.ece_after), before: gap(calibration.ece_before) })),
        ),
      );
    }
    if (data.name) facts.push(fact(told("data"), data.name));
    if (data.rows?.train) facts.push(fact(told(forecasts() ? "training windows" : "training rows"), number(data.rows.train)));
    if (data.rows?.test) facts.push(fact(told(forecasts() ? "test windows" : "test rows"), number(data.rows.test)));
    at("facts").replaceChildren(...facts);
    showLabels(labels, byLabel);
    at("use").replaceChildren(english(card.intended_use ?? ""));
    at("use").hidden = !card.intended_use;
    document.querySelector("#limits ul").replaceChildren(...(card.limits ?? []).map((limit) => element("li", {}, english(limit))));
    at("limits").hidden = !card.limits?.length;
    at("card").hidden = false;
  };
  // A field per text column, if the model has several; those of the same names keep what was typed.
  const showFields = () => {
    const known = Object.fromEntries(columns().map((field) => [field.name, field.value]));
    const names = model().columns ?? [];
    at("columns").replaceChildren(
      ...names.flatMap((name, place) => {
        const field = element("textarea", {
          ...{ id: `column-${place}`, name, rows: place ? 4 : 2, autocomplete: "off", spellcheck: "false" },
          "aria-describedby": "keys",
        });
        field.value = known[name] ?? "";
        return [element("label", { for: field.id }, name), field];
      }),
    );
    at("text").hidden = at("text-label").hidden = names.length > 0 || hears() || forecasts();
    at("keys").hidden = hears() || writes() || forecasts();
    document.querySelector("#ask .head").hidden = at("text").hidden && at("choice").hidden;
    forecaster.prepare(forecasts());
    at("send").hidden = writes();
    at("text").classList.toggle("long", writes());
    writer.show(writes());
    if (writes()) {
      asked = last = null;
      at("result").hidden = at("nothing").hidden = true;
      noTrouble();
    } else if (!last) at("nothing").hidden = false;
    at("recording").hidden = !hears();
    const named = translates() ? "translation" : forecasts() ? "forecast" : "answer";
    if (forecasts()) at("result").hidden = true;
    at("nothing").replaceChildren(...say(...told(`no ${named}`)));
    [at("answer").dataset.en, at("answer").dataset.zh] = told(named);
    at("answer").setAttribute("aria-label", at("answer").dataset[document.documentElement.dataset.lang]);
    const lead = forecasts() ? "forecast" : translates() ? "translation" : writes() ? "text" : hears() ? "recording" : !tags() ? "label" : model().types ? "entities" : "tags";
    at("lead").replaceChildren(...say(...told(`lead ${lead}`)));
    if (names.length) at("column-0").focus();
  };
  const meet = async () => {
    try {
      const response = await request("/v1/models");
      if (!response.ok) {
        const { status, reason } = await failure(response);
        return showTrouble(status, status === 401 ? "" : reason);
      }
      models = (await response.json()).models;
    } catch {
      return showTrouble("unreachable");
    }
    at("model").replaceChildren(...models.map(({ name }) => element("option", { value: name }, name)));
    at("choice").hidden = models.length < 2;
    showFields();
    showCard();
    ask();
  };
  showRequest();
  meet();
})();
