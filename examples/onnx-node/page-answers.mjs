// A model of labels or tags on the page: it answers as one types.

import { Model } from "./answer.mjs";

const [section, text, state, answers] = ["answering", "text", "state", "answers"].map((id) => document.getElementById(id));

/** Entities with their types, tags, or the label. */
function told({ label, entities }) {
  return entities ? entities.map(({ text: words, type }) => `${words} ${type}`).join(" · ") || "No entity" : label;
}

/** ``load(name)`` → the bytes of a file, ``reading`` is the content of model.tokenizer.json. */
export async function showAnswers(ort, load, reading) {
  const model = await Model.open(ort, await load("model.onnx"), reading);
  let asked = 0; // numbers the questions: an answer that comes too late is dropped
  async function answer() {
    const number = ++asked;
    const [found] = await model.predict([text.value]);
    if (number !== asked) return;
    const shares = found.tags // of a tagger, every token with its tag; else the labels, the most probable first
      ? found.tags.map(({ token, label, probability }) => [`${token} ${label}`, probability])
      : Object.entries(found.probabilities).sort((one, other) => other[1] - one[1]);
    answers.replaceChildren(
      ...shares.map(([label, share]) => {
        const row = document.createElement("tr");
        for (const words of [label, share.toFixed(6)]) row.append(Object.assign(document.createElement("td"), { textContent: words }));
        return row;
      }),
    );
    state.textContent = text.value === "" ? "Type something." : told(found);
    state.dataset.answered = text.value;
  }

  // One at a time: a session doesn't take a second question before it has answered the first.
  let last = Promise.resolve();
  text.addEventListener("input", () => (last = last.then(answer)));
  section.hidden = text.disabled = false;
  text.focus();
  await answer();
}
