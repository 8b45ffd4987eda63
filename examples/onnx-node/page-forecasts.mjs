// A forecaster on the page: a table goes in, its next steps come out.

import { Forecaster, rowsOf, tableOf } from "./forecaster.mjs";

const [section, table, state, ahead] = ["forecasting", "table", "state", "ahead"].map((id) => document.getElementById(id));

/** ``load(name)`` → the bytes of a file, ``reading`` is the content of model.tokenizer.json. */
export async function showForecasts(ort, load, reading) {
  const forecaster = await Forecaster.open(ort, await load("model.onnx"), reading);
  const { channels, spacing } = reading.forecasting;
  const header = [...(spacing ? ["date"] : []), ...channels].join(",");
  const row = (cells, tag) => {
    const made = document.createElement("tr");
    for (const cell of cells) made.append(Object.assign(document.createElement(tag), { textContent: cell }));
    return made;
  };
  let asked = 0; // numbers the questions: an answer that comes too late is dropped
  async function answer() {
    const number = ++asked;
    let rows = [];
    let told = `Paste a table with the header ${header}.`;
    if (table.value.trim() !== "") {
      try {
        rows = rowsOf(await forecaster.forecast(tableOf(table.value, reading.forecasting)));
        told = `${rows.length - 1} steps ahead.`;
      } catch (error) {
        told = error.message;
      }
    }
    if (number !== asked) return;
    ahead.replaceChildren(...rows.map((cells, at) => row(cells, at ? "td" : "th")));
    state.textContent = told;
  }

  // One at a time: a session doesn't take a second question before it has answered the first.
  let last = Promise.resolve();
  table.addEventListener("input", () => (last = last.then(answer)));
  section.hidden = false;
  table.focus();
  await answer();
}
