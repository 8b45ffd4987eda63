// node translate.mjs model.onnx "How are you?" … --beam 5 --alternatives 3
// node translate.mjs model.onnx --json < texts.json    an array of texts in, an array of answers out

import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { parseArgs } from "node:util";
import * as ort from "onnxruntime-node";
import { Translator } from "./translator.mjs";

const USAGE = 'usage: node translate.mjs model.onnx "text" … [--beam K] [--alternatives N] [--json < texts.json]';
const MOST_BEAMS = 100;

/** A whole number from 1 on. */
function numberOf(value, name, most) {
  const number = Number(value);
  if (Number.isInteger(number) && number >= 1 && number <= most) return number;
  throw new Error(`--${name}: a whole number from 1 to ${most} is needed (got ${value})`);
}

try {
  const options = { beam: { type: "string" }, alternatives: { type: "string", default: "1" }, json: { type: "boolean" } };
  const { values, positionals } = parseArgs({ options, allowPositionals: true });
  const [path, ...texts] = positionals;
  if (!path || (texts.length === 0) !== Boolean(values.json)) throw new Error(USAGE);
  const reading = JSON.parse(readFileSync(path.replace(/\.onnx$/, ".tokenizer.json"), "utf-8"));
  Translator.check(reading);
  const usual = Math.max(reading.translating.beam, Number(values.alternatives) || 1); // as `rnnlab predict` has it
  const beam = numberOf(values.beam ?? usual, "beam", MOST_BEAMS);
  const alternatives = numberOf(values.alternatives, "alternatives", beam);
  const translator = await Translator.open(ort, path, join(dirname(path), reading.translating.step), reading);
  const answers = [];
  for (const text of values.json ? JSON.parse(readFileSync(0, "utf-8")) : texts) {
    const answer = await translator.translate(text, { beam, alternatives });
    if (values.json) answers.push(answer);
    else if (alternatives === 1) console.log(answer.text);
    else for (const one of answer.alternatives) console.log(`${one.text}\t${one.probability.toFixed(3)}`);
  }
  if (values.json) console.log(JSON.stringify(answers));
} catch (error) {
  console.error(`translate.mjs: ${error.message}`);
  process.exit(1);
}
