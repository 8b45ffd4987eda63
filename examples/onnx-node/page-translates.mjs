// A model that writes a text for another one, on the page.

import { Translator } from "./translator.mjs";

const ids = ["translating", "source", "beam", "alternatives", "translate", "found", "state"];
const [form, source, beam, alternatives, translate, found, state] = ids.map((id) => document.getElementById(id));

/** ``load(name)`` → the bytes of a file, ``reading`` is the content of model.tokenizer.json. */
export async function showTranslating(ort, load, reading) {
  const translator = await Translator.open(ort, await load("model.onnx"), await load("model.step.onnx"), reading);

  async function answer() {
    const begun = performance.now();
    const how = { beam: beam.valueAsNumber, alternatives: alternatives.valueAsNumber };
    const { alternatives: told, ended } = await translator.translate(source.value, how);
    found.replaceChildren(
      ...told.map(({ text, probability }) => {
        const row = document.createElement("tr");
        for (const words of [text, probability.toFixed(6)]) row.append(Object.assign(document.createElement("td"), { textContent: words }));
        return row;
      }),
    );
    const cut = ended ? "" : " The text didn't come to an end, and was cut.";
    state.textContent = `Done in ${Math.round(performance.now() - begun).toLocaleString("en")} milliseconds.${cut}`;
  }

  function fits() {
    alternatives.max = beam.value; // no more texts than the beam is wide
  }

  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (state.textContent === "Translating…") return; // one at a time: a session doesn't take a second question
    state.textContent = "Translating…";
    try {
      await answer();
    } catch (error) {
      state.textContent = error.message;
    }
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit(translate);
  });
  beam.value = reading.translating.beam;
  beam.addEventListener("input", fits);
  fits();
  form.querySelector("table").before(state); // beside the button
  form.hidden = false;
  source.focus();
  state.textContent = "Ready to translate.";
}
