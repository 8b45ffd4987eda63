// A language model writes: one token after the other, its state carried from step to step (model.step.onnx). What is
// drawn is what `rnnlab generate` draws with the same seed. ``ort`` is onnxruntime-node or onnxruntime-web.

import { Joiner } from "./join.mjs";
import { Tokenizer } from "./tokenize.mjs";

const MASK = (1n << 64n) - 1n;
const GOLDEN = 0x9e3779b97f4a7c15n;

export class Writer {
  /** ``source`` is what ort opens (a path or the bytes of model.step.onnx), ``reading`` the content of
   *  model.tokenizer.json. */
  static async open(ort, source, reading) {
    Writer.check(reading);
    const tokenizer = new Tokenizer(reading);
    return new Writer(ort, await ort.InferenceSession.create(source), reading, tokenizer);
  }

  /** Throws where a model can't write here: before its file is looked for. */
  static check(reading) {
    if (!reading.writing) throw new Error(`this model (${reading.task}) is no language model, and only those write`);
    if (!reading.writing.states) throw new Error("this model was exported without a file for one token at a time");
  }

  constructor(ort, session, reading, tokenizer) {
    Object.assign(this, { ort, session, reading, tokenizer });
  }

  /** What follows the prompt, piece by piece: one per token. While the prompt is read, pieces are empty, so that
   *  whoever asked can stop there, too. */
  async *write(prompt, { length = 200, temperature = 1, topK = Infinity, topP = 1, seed = 0 } = {}) {
    const { begin, end, never, states } = this.reading.writing;
    const uniform = await uniforms(seed);
    let state = Object.fromEntries(states.map(({ name, start }) => [name, Float32Array.from(start)]));
    let logits;
    for (const id of [begin, ...(prompt ? this.tokenizer.encode(prompt) : [])]) {
      [logits, state] = await this.step(id, state);
      yield "";
    }
    const joined = new Joiner(this.tokenizer.rules).joining();
    for (let step = 0; step < length; step++) {
      for (const id of never) logits[id] = -Infinity;
      const id = choose(logits, { temperature, topK, topP }, uniform(step));
      if (id === end) return;
      yield joined(this.reading.vocabulary[id]);
      if (step + 1 < length) [logits, state] = await this.step(id, state);
    }
  }

  /** Tokens of a text that the model doesn't know, each once. */
  unknownIn(text) {
    if (!text) return [];
    const { tokens, ids } = this.tokenizer.read(text);
    return [...new Set(tokens.filter((_, at) => ids[at] === this.reading.unknown))];
  }

  /** One more token: the logits of what comes next, and the state after it. */
  async step(id, state) {
    const feeds = { ids: new this.ort.Tensor("int64", BigInt64Array.of(BigInt(id)), [1, 1]) };
    for (const [name, values] of Object.entries(state)) feeds[name] = new this.ort.Tensor("float32", values, [1, values.length]);
    const found = await this.session.run(feeds);
    const after = Object.fromEntries(Object.keys(state).map((name) => [name, found[`${name}_next`].data]));
    return [found.logits.data.slice(), after];
  }
}

/** A token: logits (a Float32Array) divided by the temperature (0: the highest), of the topK most likely ones, and of
 *  these the fewest that have topP together. */
export function choose(logits, { temperature, topK, topP }, uniform) {
  const highest = logits.reduce((one, other) => Math.max(one, other), -Infinity);
  if (temperature === 0) return logits.indexOf(highest);
  const shares = logits.map((logit) => Math.exp((logit - highest) / temperature));
  if (topK < shares.length || topP < 1) keepMostLikely(shares, topK, topP);
  const wanted = uniform * sum(shares);
  let below = 0;
  for (const [id, share] of shares.entries()) if ((below += share) > wanted) return id;
  return shares.findLastIndex((share) => share > 0);
}

/** The others have no share any more. Of equals, those with lower ids come first. */
function keepMostLikely(shares, topK, topP) {
  const order = Array.from(shares.keys()).sort((one, other) => shares[other] - shares[one] || one - other);
  for (const id of order.slice(topK)) shares[id] = 0;
  if (topP === 1) return;
  const wanted = topP * sum(shares);
  let kept = 0;
  for (const id of order) {
    const enough = kept >= wanted;
    kept += shares[id];
    if (enough) shares[id] = 0;
  }
}

function sum(values) {
  return values.reduce((all, value) => all + value, 0);
}

/** ``step`` → a number from 0 to 1: that of rnnlab's first sample with this seed, by counting (splitmix64). */
async function uniforms(seed) {
  const { subtle } = globalThis.crypto ?? (await import("node:crypto")).webcrypto;
  const digest = new DataView(await subtle.digest("SHA-256", new TextEncoder().encode(`sampling:${seed}`)));
  const row = mixed(((digest.getBigUint64(0, true) >> 1n) + GOLDEN) & MASK);
  return (step) => Number(mixed((row + GOLDEN * BigInt(step + 1)) & MASK) >> 11n) * 2 ** -53;
}

function mixed(x) {
  x = ((x ^ (x >> 30n)) * 0xbf58476d1ce4e5b9n) & MASK;
  x = ((x ^ (x >> 27n)) * 0x94d049bb133111ebn) & MASK;
  return x ^ (x >> 31n);
}
