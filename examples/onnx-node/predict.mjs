// node predict.mjs model.onnx "a lovely film" …      a label and its probability for each text; of a tagger, what it found
// node predict.mjs model.onnx --json < texts.json    an array of texts in, an array of answers out

import { readFileSync } from "node:fs";
import * as ort from "onnxruntime-node";
import { Model } from "./answer.mjs";

/** Entities with their types; of other tags, each behind its token. */
function told({ label, tags, entities }) {
  if (entities) return entities.map(({ text, type }) => `${text}/${type}`).join("  ") || "–";
  return tags ? tags.map((tag) => `${tag.token}/${tag.label}`).join(" ") : label;
}

const [path, ...texts] = process.argv.slice(2);
if (!path || texts.length === 0) {
  console.error('usage: node predict.mjs model.onnx "text" …   or: node predict.mjs model.onnx --json < texts.json');
  process.exit(2);
}
try {
  const reading = JSON.parse(readFileSync(path.replace(/\.onnx$/, ".tokenizer.json"), "utf-8"));
  const model = await Model.open(ort, path, reading);
  if (texts.length === 1 && texts[0] === "--json") {
    console.log(JSON.stringify(await model.predict(JSON.parse(readFileSync(0, "utf-8")))));
  } else {
    const answers = await model.predict(texts);
    answers.forEach((answer, at) => console.log(`${told(answer)}\t${answer.probability.toFixed(3)}\t${texts[at]}`));
  }
} catch (error) {
  console.error(`predict.mjs: ${error.message}`);
  process.exit(1);
}
