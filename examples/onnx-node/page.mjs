// The page: loads the runtime and the model, then answers as one types, translates, forecasts or, with a language model,
// writes.

import * as ort from "./ort/ort.wasm.min.mjs";
import { showAnswers } from "./page-answers.mjs";
import { showForecasts } from "./page-forecasts.mjs";
import { showTranslating } from "./page-translates.mjs";
import { showWriting } from "./page-writes.mjs";

ort.env.wasm.wasmPaths = new URL("./ort/", import.meta.url).href;
ort.env.wasm.numThreads = 1; // one text is too little work to share

async function fetched(name) {
  const response = await fetch(name);
  if (!response.ok) throw new Error(`${name} can't be loaded (${response.status})`);
  return response;
}

try {
  const reading = await fetched("model.tokenizer.json").then((response) => response.json());
  const load = async (name) => new Uint8Array(await fetched(name).then((response) => response.arrayBuffer()));
  const { translating, writing, forecasting } = reading;
  const show = translating ? showTranslating : writing ? showWriting : forecasting ? showForecasts : showAnswers;
  await show(ort, load, reading);
} catch (error) {
  document.getElementById("state").textContent = error.message;
}
