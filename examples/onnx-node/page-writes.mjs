// A language model on the page: it writes until it is done or stopped, and the text appears as it is written.

import { Writer } from "./writer.mjs";

const SHOWN_EVERY = 30; // milliseconds: between them the browser draws and hears keys, and the rest is for writing
const ids = ["writing", "prompt", "length", "temperature", "top-k", "top-p", "seed", "write", "stop", "given", "written", "state"];
const [form, prompt, length, temperature, topK, topP, seed, write, stop, given, written, state] = ids.map((id) => document.getElementById(id));

const pause = () => new Promise((resolve) => setTimeout(resolve));
const counted = (number) => Math.round(number).toLocaleString("en");

/** ``load(name)`` → the bytes of a file, ``reading`` is the content of model.tokenizer.json. */
export async function showWriting(ort, load, reading) {
  Writer.check(reading);
  const writer = await Writer.open(ort, await load("model.step.onnx"), reading);
  let stopped = false;

  async function writeOn() {
    const how = {
      length: length.valueAsNumber,
      temperature: temperature.valueAsNumber,
      topK: topK.value === "" ? Infinity : topK.valueAsNumber,
      topP: topP.valueAsNumber,
      seed: seed.valueAsNumber,
    };
    const apart = writer.tokenizer.rules.name !== "chars" && prompt.value && !/\s$/.test(prompt.value) ? " " : "";
    given.textContent = prompt.value + apart;
    const text = document.createTextNode("");
    written.replaceChildren(text);
    state.textContent = "Writing…";
    let [fresh, tokens] = ["", 0];
    const begun = performance.now();
    let shown = begun;
    for await (const piece of writer.write(prompt.value, how)) {
      fresh += piece;
      if (piece) tokens += 1;
      if (performance.now() - shown >= SHOWN_EVERY) {
        text.appendData(fresh);
        fresh = "";
        await pause();
        shown = performance.now();
      }
      if (stopped) break;
    }
    text.appendData(fresh);
    const characters = Array.from(text.data).length;
    const speed = counted((1000 * characters) / Math.max(1, performance.now() - begun));
    const why = stopped ? "Stopped" : tokens < how.length ? "The model ended the text" : "Done";
    const unknown = writer.unknownIn(prompt.value);
    const strange = unknown.length ? ` Unknown to the model: ${unknown.slice(0, 5).join(", ")}.` : "";
    state.textContent = `${why}: ${counted(characters)} characters, ${speed} per second.${strange}`;
  }

  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (write.disabled) return; // Enter in a field, while it writes
    stopped = false;
    const back = document.activeElement; // a button that is disabled loses the focus
    stop.disabled = false;
    if (back === write) stop.focus();
    write.disabled = true;
    try {
      await writeOn();
    } catch (error) {
      state.textContent = error.message;
    }
    write.disabled = false;
    if (document.activeElement === stop) write.focus();
    stop.disabled = true;
  });
  stop.addEventListener("click", () => (stopped = true));
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") stopped = true;
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit();
  });
  form.querySelector("[role=region]").before(state); // beside the buttons
  form.hidden = false;
  prompt.focus();
  state.textContent = "Ready to write.";
}
