"use strict";
// For a forecaster: a table is pasted or dropped, and the next steps of its series are drawn as a fan.
const servedForecaster = ({ at, element, say, told, model, typed, ask }) => {
  const [WIDTH, HEIGHT] = [640, 340]; // of the drawing, in its own units
  const EDGE = { left: 74, right: 12, top: 14, bottom: 34 };
  const ROOM = 0.6; // of what the server takes: the text is longer in JSON
  const field = at("table");
  let found = []; // forecasts, one per series

  // ── The table that is sent ─────────────────────────────────────────────────────────────────────────────────────
  const decoded = (bytes) => {
    if (bytes[0] === 0xff && bytes[1] === 0xfe) return new TextDecoder("utf-16le").decode(bytes);
    if (bytes[0] === 0xfe && bytes[1] === 0xff) return new TextDecoder("utf-16be").decode(bytes);
    try {
      return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    } catch {
      return new TextDecoder("gb18030").decode(bytes); // as spreadsheets in China save it
    }
  };
  // Of a long table the header and the last lines: a model reads no others.
  const shortened = (text) => {
    const room = ROOM * Number(at("ask").dataset.body);
    at("shortened").hidden = text.length <= room;
    if (text.length <= room) return text;
    const [header, ...lines] = text.trimEnd().split(/\r?\n/);
    let first = lines.length;
    for (let size = header.length; first > 0 && size + lines[first - 1].length + 1 < room; ) size += lines[--first].length + 1;
    const counts = { count: (lines.length - first).toLocaleString("en-GB"), all: lines.length.toLocaleString("en-GB") };
    at("shortened").replaceChildren(...say(...told("shortened", counts)));
    return [header, ...lines.slice(first), ""].join("\n");
  };
  const read = async (file) => {
    if (!file) return;
    field.value = shortened(decoded(new Uint8Array(await file.arrayBuffer())));
    ask();
  };
  at("series-file").addEventListener("change", () => read(at("series-file").files[0]));
  field.addEventListener("input", () => (at("shortened").hidden = true));
  for (const kind of ["dragenter", "dragover", "dragleave", "drop"])
    document.addEventListener(kind, (event) => {
      if (at("series").hidden || !event.dataTransfer?.types.includes("Files")) return;
      event.preventDefault(); // a browser would leave the page for the file
      at("series").classList.toggle("over", kind === "dragenter" || kind === "dragover");
      if (kind === "drop") read(event.dataTransfer.files[0]);
    });

  // ── The fan ────────────────────────────────────────────────────────────────────────────────────────────────────
  const drawn = (tag, attributes = {}, ...children) => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    made.append(...children);
    return made;
  };
  const figure = (value) => (value === null ? "–" : String(Number(value.toPrecision(6))));
  const short = (date) => date.replace(/:00$/, ""); // seconds that are none
  const named = (quantile) => `p${Number((100 * quantile).toPrecision(6))}`;
  const whole = () => {
    const one = found[Number(at("of-series").value)] ?? found[0];
    const channel = one.channels[at("of-channel").value] ?? Object.values(one.channels)[0];
    const name = Object.keys(one.channels).find((key) => one.channels[key] === channel);
    const history = one.history.channels[name];
    const quantiles = Object.keys(channel.quantiles).map(Number).sort((a, b) => a - b);
    const before = one.history.dates ?? history.map((_, step) => String(one.history.first_step + step));
    const after = one.dates ?? channel.point.map((_, step) => String(one.first_step + step));
    const of = (quantile) => channel.quantiles[quantile] ?? channel.quantiles[quantile.toFixed(1)];
    return { one, name, history, quantiles, of, point: channel.point, when: [...before, ...after].map(short), begins: history.length };
  };
  // Steps at which an axis is marked: 1, 2 or 5 times a power of ten.
  const marks = (low, high) => {
    const rough = (high - low) / 5;
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = power * ([1, 2, 5, 10].find((times) => times * power >= rough) ?? 10);
    const made = [];
    for (let mark = Math.ceil(low / step) * step; mark <= high + step / 1e6; mark += step) made.push(Number(mark.toPrecision(12)));
    return made;
  };
  const line = (points) => {
    let path = "";
    let open = false;
    for (const [x, y] of points) {
      if (y === null) open = false;
      else {
        path += `${open ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`;
        open = true;
      }
    }
    return path;
  };
  const draw = () => {
    const { name, history, quantiles, of, point, when, begins } = whole();
    const all = [...history, ...point, ...quantiles.flatMap(of)].filter((value) => value !== null);
    let [low, high] = [Math.min(...all), Math.max(...all)];
    if (low === high) [low, high] = [low - 1, high + 1];
    const margin = (high - low) * 0.04;
    [low, high] = [low - margin, high + margin];
    const x = (step) => EDGE.left + (step / Math.max(1, when.length - 1)) * (WIDTH - EDGE.left - EDGE.right);
    const y = (value) => (value === null ? null : HEIGHT - EDGE.bottom - ((value - low) / (high - low)) * (HEIGHT - EDGE.top - EDGE.bottom));
    const last = history.at(-1) ?? null;
    const ahead = (values) => [[x(begins - 1), y(last)], ...values.map((value, step) => [x(begins + step), y(value)])];
    const parts = marks(low, high).flatMap((mark) => [
      drawn("line", { class: "grid", x1: EDGE.left, x2: WIDTH - EDGE.right, y1: y(mark), y2: y(mark) }),
      drawn("text", { class: "mark", x: EDGE.left - 8, y: y(mark) + 5, "text-anchor": "end" }, figure(mark)),
    ]);
    for (let pair = 0; pair < Math.floor(quantiles.length / 2); pair++) {
      const [below, above] = [of(quantiles[pair]), of(quantiles.at(-1 - pair))].map((values) => ahead(values).filter(([, place]) => place !== null));
      parts.push(drawn("path", { class: "band", d: `${line(above)}${line(below.reverse()).replace("M", "L")}Z` }));
    }
    parts.push(drawn("line", { class: "origin", x1: x(begins - 1), x2: x(begins - 1), y1: EDGE.top, y2: HEIGHT - EDGE.bottom }));
    parts.push(drawn("path", { class: "history", d: line(history.map((value, step) => [x(step), y(value)])) }));
    parts.push(drawn("path", { class: "point", d: line(ahead(point)) }));
    const ends = [[0, "start"], [when.length - 1, "end"]];
    parts.push(...ends.map(([step, anchor]) => drawn("text", { class: "mark", x: x(step), y: HEIGHT - 8, "text-anchor": anchor }, when[step])));
    parts.push(drawn("line", { id: "pointed", class: "origin", y1: EDGE.top, y2: HEIGHT - EDGE.bottom, visibility: "hidden" }));
    at("fan").replaceChildren(...parts);
    at("fan").setAttribute("viewBox", `0 0 ${WIDTH} ${HEIGHT}`);
    [at("fan").dataset.en, at("fan").dataset.zh] = told("fan", { name, steps: point.length });
    at("fan").setAttribute("aria-label", at("fan").dataset[document.documentElement.dataset.lang]);
    at("pointed-at").replaceChildren(...say(...told("hint fan")));
    fillTable();
  };
  let pointed = 0;
  const point = (step) => {
    const { history, quantiles, of, point: points, when, begins } = whole();
    pointed = Math.min(Math.max(0, step), when.length - 1);
    const place = EDGE.left + (pointed / Math.max(1, when.length - 1)) * (WIDTH - EDGE.left - EDGE.right);
    for (const side of ["x1", "x2"]) at("pointed").setAttribute(side, place);
    at("pointed").setAttribute("visibility", "visible");
    const ahead = pointed - begins;
    const value = ahead < 0 ? history[pointed] : points[ahead];
    const [low, high] = [quantiles[0], quantiles.at(-1)];
    const range = ahead < 0 || quantiles.length < 2 ? "" : ` (${named(low)}–${named(high)}: ${figure(of(low)[ahead])} – ${figure(of(high)[ahead])})`;
    at("pointed-at").replaceChildren(`${when[pointed]} `, element("strong", {}, figure(value)), range);
  };
  at("fan").addEventListener("pointermove", (event) => {
    if (!found.length) return;
    const box = at("fan").getBoundingClientRect();
    const share = (((event.clientX - box.left) / box.width) * WIDTH - EDGE.left) / (WIDTH - EDGE.left - EDGE.right);
    point(Math.round(share * (whole().when.length - 1)));
  });
  at("fan").addEventListener("focus", () => found.length && point(whole().begins));
  at("fan").addEventListener("keydown", (event) => {
    const steps = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!steps || !found.length) return;
    event.preventDefault();
    point(pointed + steps);
  });

  // ── The figures ────────────────────────────────────────────────────────────────────────────────────────────────
  const others = (quantiles) => quantiles.filter((quantile) => quantile !== 0.5);
  const fillTable = () => {
    const { one, name, quantiles, of, point: points, when, begins } = whole();
    const heads = [name, ...others(quantiles).map(named)];
    const first = element("th", { scope: "col" }, ...say(...told(one.dates ? "date" : "step")));
    const head = element("tr", {}, first, ...heads.map((text) => element("th", { scope: "col", class: "number" }, text)));
    const rows = points.map((value, step) => {
      const figures = [value, ...others(quantiles).map((quantile) => of(quantile)[step])];
      const cells = figures.map((cell) => element("td", { class: "number" }, figure(cell)));
      return element("tr", {}, element("th", { scope: "row" }, when[begins + step]), ...cells);
    });
    at("figures").querySelector("thead").replaceChildren(head);
    at("figures").querySelector("tbody").replaceChildren(...rows);
  };
  // All series and channels, as `rnnlab predict -o` writes them.
  const asCsv = () => {
    const cell = (text) => (/[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
    const rows = [];
    for (const one of found) {
      const channels = Object.entries(one.channels);
      const quantiles = others(model().quantiles);
      const key = (channel, quantile) => channel.quantiles[quantile] ?? channel.quantiles[quantile.toFixed(1)];
      const name = one.series === undefined ? [] : [one.series];
      if (!rows.length) {
        const heads = channels.flatMap(([channel]) => [channel, ...quantiles.map((quantile) => `${channel} ${named(quantile)}`)]);
        rows.push([...(name.length ? ["series"] : []), one.dates ? "date" : "step", ...heads]);
      }
      for (let step = 0; step < channels[0][1].point.length; step++) {
        const figures = channels.flatMap(([, channel]) => [channel.point[step], ...quantiles.map((quantile) => key(channel, quantile)[step])]);
        rows.push([...name, one.dates?.[step] ?? String(one.first_step + step), ...figures.map(String)]);
      }
    }
    return rows.map((row) => `${row.map(cell).join(",")}\n`).join("");
  };
  at("download").addEventListener("click", () => {
    const address = URL.createObjectURL(new Blob([asCsv()], { type: "text/csv" }));
    element("a", { href: address, download: "forecast.csv" }).click();
    setTimeout(() => URL.revokeObjectURL(address), 1000);
  });

  // ── Choosing, showing ──────────────────────────────────────────────────────────────────────────────────────────
  const options = (id, names) => {
    const before = at(id).value;
    at(id).replaceChildren(...names.map(([value, text]) => element("option", { value }, text)));
    if (names.some(([value]) => value === before)) at(id).value = before;
    at(id).closest("label").hidden = names.length < 2;
  };
  for (const id of ["of-series", "of-channel"]) at(id).addEventListener("change", draw);
  const show = (forecasts) => {
    found = forecasts;
    options("of-series", found.map((one, number) => [String(number), one.series ?? String(number + 1)]));
    options("of-channel", Object.keys(found[0].channels).map((name) => [name, name]));
    at("forecast").hidden = at("figures").hidden = false;
    draw();
  };
  const hide = () => (at("forecast").hidden = at("figures").hidden = true);
  // The server says it in English; how others say it is known of two of them.
  const apart = (spacing) => {
    const [, count, unit] = spacing.match(/^(.+) (\w+?)s?$/);
    return [spacing, told(`2 ${unit}`)[1].replace("2", count)];
  };
  const meet = () => {
    const { channels, lookback, horizon, spacing, reads_dates: dates } = model();
    const columns = [...(dates ? ["date"] : []), ...channels].join(", ");
    const gaps = { columns, lookback, horizon };
    const words = spacing ? [0, 1].map((place) => told("needs dated", { ...gaps, spacing: apart(spacing)[place] })[place]) : told("needs", gaps);
    at("needs").replaceChildren(...say(...words));
    field.placeholder = `${[...(spacing ? ["date"] : []), ...channels].join(",")}\n…`;
  };
  const prepare = (forecasts) => {
    at("series").hidden = !forecasts;
    hide();
    if (forecasts) meet();
  };
  return { show, hide, prepare, apart, text: () => typed(field) };
};
