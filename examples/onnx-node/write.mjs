// node write.mjs model.onnx "To be" --length 200 --temperature 0.8 --top-k 40 --top-p 0.9 --seed 1

import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { parseArgs } from "node:util";
import * as ort from "onnxruntime-node";
import { Writer } from "./writer.mjs";

const DEFAULTS = { length: "200", temperature: "1", "top-k": "all", "top-p": "1", seed: "0" };

function numberOf(values, name, fits, wanted) {
  const number = Number(values[name]);
  if (values[name].trim() === "" || !fits(number)) throw new Error(`--${name}: ${wanted} is needed (got ${values[name]})`);
  return number;
}

try {
  const options = Object.fromEntries(Object.entries(DEFAULTS).map(([name, value]) => [name, { type: "string", default: value }]));
  const { values, positionals } = parseArgs({ options, allowPositionals: true });
  const [path, prompt = ""] = positionals;
  if (!path) throw new Error('usage: node write.mjs model.onnx "prompt" [--length N] [--temperature T] [--top-k K] [--top-p P] [--seed N]');
  const how = {
    length: numberOf(values, "length", (n) => Number.isInteger(n) && n > 0, "a whole number from 1 on"),
    temperature: numberOf(values, "temperature", (t) => Number.isFinite(t) && t >= 0, "a number from 0 on"),
    topK: values["top-k"] === "all" ? Infinity : numberOf(values, "top-k", (n) => Number.isInteger(n) && n > 0, "a whole number from 1 on"),
    topP: numberOf(values, "top-p", (p) => p > 0 && p <= 1, "a number above 0, at most 1,"),
    seed: numberOf(values, "seed", (n) => Number.isSafeInteger(n) && n >= 0, "a whole number from 0 on"),
  };
  const reading = JSON.parse(readFileSync(path.replace(/\.onnx$/, ".tokenizer.json"), "utf-8"));
  const writer = await Writer.open(ort, join(dirname(path), reading.writing?.step ?? ""), reading);
  process.stdout.write(prompt);
  for await (const piece of writer.write(prompt, how)) process.stdout.write(piece);
  process.stdout.write("\n");
} catch (error) {
  console.error(`write.mjs: ${error.message}`);
  process.exit(1);
}
