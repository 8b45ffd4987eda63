// A text for a text: model.onnx reads one, model.step.onnx writes the other, token by token. What is found is what
// `rnnlab predict --beam K` finds. ``ort`` is onnxruntime-node or onnxruntime-web.

import { Joiner } from "./join.mjs";
import { Tokenizer } from "./tokenize.mjs";

export class Translator {
  /** ``reads`` and ``writes`` are what ort opens (paths or the bytes of model.onnx and model.step.onnx), ``reading`` is
   *  the content of model.tokenizer.json. */
  static async open(ort, reads, writes, reading) {
    Translator.check(reading);
    const tokenizer = new Tokenizer(reading);
    const [encoder, decoder] = [await ort.InferenceSession.create(reads), await ort.InferenceSession.create(writes)];
    return new Translator(ort, encoder, decoder, reading, tokenizer);
  }

  /** Throws where a model writes no text for another one: before its files are looked for. */
  static check(reading) {
    if (!reading.translating) throw new Error(`this model (${reading.task}) writes no text for another one`);
  }

  constructor(ort, encoder, decoder, reading, tokenizer) {
    Object.assign(this, { ort, encoder, decoder, reading, tokenizer, joiner: new Joiner(reading.translating.tokenizer) });
  }

  /** {text, probability, ended, alternatives}: the best text, and as many of the best ones as are asked for, {text,
   *  probability} each. ``ended`` is false where the text was cut. With a ``beam`` of 1, the choice is greedy. */
  async translate(text, { beam = this.reading.translating.beam, alternatives = 1 } = {}) {
    const found = await this.search(await this.read(text), beam);
    const told = found.slice(0, alternatives).map((one) => ({ ...one, text: this.spelled(one.ids) }));
    const shares = new Map();
    for (const one of told) shares.set(one.text, (shares.get(one.text) ?? 0) + Math.exp(one.score)); // cut in several ways
    const [{ text: best, ended }] = told;
    return { text: best, probability: shares.get(best), ended, alternatives: Array.from(shares, ([one, probability]) => ({ text: one, probability })) };
  }

  spelled(ids) {
    return this.joiner.join(ids.map((id) => this.reading.translating.vocabulary[id]));
  }

  /** What the encoder tells of a text: one row of each part. */
  async read(text) {
    const ids = BigInt64Array.from(this.tokenizer.encode(text), BigInt);
    const told = await this.encoder.run({
      ids: new this.ort.Tensor("int64", ids, [1, ids.length]),
      lengths: new this.ort.Tensor("int64", BigInt64Array.of(BigInt(ids.length)), [1]),
    });
    const { memory, states } = this.reading.translating;
    const named = (names) => Object.fromEntries(names.map((name) => [name, told[name]]));
    return { memory: named(memory), state: named(states) };
  }

  /** The texts that were found, {ids, score, ended}, the best one first. ``score`` is a log probability. */
  async search({ memory, state }, beam) {
    const { begin, end, longest, length_penalty: penalty } = this.reading.translating;
    const rank = ({ ids, score, ended }) => score / Math.max(1, ids.length + (ended ? 1 : 0)) ** penalty;
    let beginnings = [{ ids: [], score: 0 }];
    let repeated = memory; // a row for each of the beginnings
    const found = [];
    for (let written = 0; written < longest && found.length < beam && beginnings.length; written++) {
      const last = beginnings.map(({ ids }) => ids.at(-1) ?? begin);
      const [logits, after] = await this.step(last, repeated, state);
      const best = beginnings
        .flatMap(({ score }, origin) => this.continuations(logits[origin], beam + 1).map(({ id, share }) => ({ id, origin, score: score + share })))
        .sort((one, other) => other.score - one.score)
        .slice(0, 2 * beam);
      for (const { id, origin, score } of best.slice(0, beam)) {
        if (id === end && found.length < beam) found.push({ ids: beginnings[origin].ids, score, ended: true });
      }
      const going = best.filter(({ id }) => id !== end).slice(0, beam);
      state = this.rows(after, going.map(({ origin }) => origin));
      if (going.length !== beginnings.length) repeated = this.rows(memory, going.map(() => 0));
      beginnings = going.map(({ id, origin, score }) => ({ ids: [...beginnings[origin].ids, id], score }));
    }
    const texts = found.length ? found : beginnings.map((one) => ({ ...one, ended: false })); // what never ended is cut
    return texts.sort((one, other) => rank(other) - rank(one)).slice(0, beam);
  }

  /** The most probable next tokens, {id, share}, the best one first. Shares are log probabilities. */
  continuations(logits, count) {
    for (const id of this.reading.translating.never) logits[id] = -Infinity;
    const highest = logits.reduce((one, other) => Math.max(one, other), -Infinity);
    const total = logits.reduce((sum, logit) => sum + Math.exp(logit - highest), 0);
    const best = []; // ids, in order
    for (let id = 0; id < logits.length; id++) {
      if (logits[id] === -Infinity || (best.length === count && logits[id] <= logits[best.at(-1)])) continue;
      const place = best.findIndex((other) => logits[other] < logits[id]);
      best.splice(place < 0 ? best.length : place, 0, id);
      best.length = Math.min(best.length, count);
    }
    return best.map((id) => ({ id, share: logits[id] - highest - Math.log(total) }));
  }

  /** One more token of each beginning: the logits of what comes next, row by row, and the state after it. */
  async step(ids, memory, state) {
    const given = new this.ort.Tensor("int64", BigInt64Array.from(ids, BigInt), [ids.length, 1]);
    const found = await this.decoder.run({ ids: given, ...memory, ...state });
    const words = found.logits.dims[1];
    const logits = ids.map((_, row) => found.logits.data.slice(row * words, (row + 1) * words));
    return [logits, Object.fromEntries(Object.keys(state).map((name) => [name, found[`${name}_next`]]))];
  }

  /** Tensors with these rows of others, in this order. */
  rows(tensors, chosen) {
    const pick = (tensor) => {
      const width = tensor.data.length / tensor.dims[0];
      const data = new Float32Array(chosen.length * width);
      chosen.forEach((row, at) => data.set(tensor.data.subarray(row * width, (row + 1) * width), at * width));
      return new this.ort.Tensor("float32", data, [chosen.length, ...tensor.dims.slice(1)]);
    };
    return Object.fromEntries(Object.entries(tensors).map(([name, tensor]) => [name, pick(tensor)]));
  }
}
