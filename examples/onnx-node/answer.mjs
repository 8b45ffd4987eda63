// From texts to labels, or to tags and entities, with calibrated probabilities. ``ort`` is onnxruntime-node or
// onnxruntime-web: they look the same.

import { Looks } from "./looks.mjs";
import { calibrated, decode, softmax, spans } from "./tags.mjs";
import { Tokenizer } from "./tokenize.mjs";

export class Model {
  /** ``source`` is what ort opens (a path or the bytes of model.onnx), ``reading`` the content of model.tokenizer.json. */
  static async open(ort, source, reading) {
    if (reading.translating) throw new Error(`this model (${reading.task}) writes a text for another one: node translate.mjs`);
    if (reading.forecasting) throw new Error(`this model (${reading.task}) continues series: node forecast.mjs`);
    if (reading.per_step && !reading.spelling) {
      throw new Error(`this model (${reading.task}) answers every step of what isn't a text`);
    }
    if (reading.text_columns) throw new Error(`this model reads the columns ${reading.text_columns}, which this example doesn't join`);
    const tokenizer = new Tokenizer(reading);
    const looks = new Looks(reading, tokenizer);
    return new Model(ort, await ort.InferenceSession.create(source), reading, tokenizer, looks);
  }

  constructor(ort, session, reading, tokenizer, looks) {
    Object.assign(this, { ort, session, reading, tokenizer, looks });
  }

  /** One answer per text: {label, probability, probabilities, ids}. All texts are one batch. Where a text may have
   *  several labels, {labels, …}, and label has all of them in one text. Of a tagger, {label, probability, tags,
   *  entities, ids}: tags have token, label, probability and known; entities start and end in code points. */
  async predict(texts) {
    if (texts.length === 0) return [];
    const read = texts.map((text) => this.tokenizer.read(text));
    const rows = read.map(({ tokens, ids }) => this.looks.steps(tokens, ids));
    const logits = await this.logits(rows);
    const answer = (row) => (this.reading.spelling ? this.tagged(texts[row], read[row], logits[row]) : this.labelled(logits[row][0]));
    const each = this.reading.input.each;
    return rows.map((steps, row) => ({ ...answer(row), ids: each > 1 ? steps : steps.flat() }));
  }

  /** Per row, the logits of its steps; of the whole row, if there is one answer. */
  async logits(rows) {
    const { each } = this.reading.input;
    const length = Math.max(...rows.map((steps) => steps.length));
    const ids = new BigInt64Array(rows.length * length * each).fill(BigInt(this.reading.padding));
    rows.forEach((steps, row) => steps.flat().forEach((id, at) => (ids[row * length * each + at] = BigInt(id))));
    const lengths = BigInt64Array.from(rows, (steps) => BigInt(steps.length));
    const { logits } = await this.session.run({
      ids: new this.ort.Tensor("int64", ids, [rows.length, length, ...(each > 1 ? [each] : [])]),
      lengths: new this.ort.Tensor("int64", lengths, [rows.length]),
    });
    const width = logits.dims.at(-1);
    const perRow = logits.data.length / rows.length;
    return rows.map((steps, row) => {
      const answers = perRow === width ? 1 : steps.length; // the others are padding
      const first = row * perRow;
      return Array.from({ length: answers }, (_, at) => Array.from(logits.data.slice(first + at * width, first + (at + 1) * width)));
    });
  }

  labelled(logits) {
    const { labels, temperature, thresholds } = this.reading;
    const divided = logits.map((logit) => logit / temperature);
    const shares = thresholds ? divided.map(sigmoid) : softmax(divided);
    const best = shares.indexOf(Math.max(...shares));
    const probabilities = Object.fromEntries(labels.map((label, at) => [label, shares[at]]));
    if (thresholds) {
      const given = labels.filter((_, at) => shares[at] >= thresholds[at]);
      return { label: given.join(";"), labels: given, probability: shares[best], probabilities };
    }
    return { label: labels[best], probability: shares[best], probabilities };
  }

  tagged(text, { tokens, ids, places }, scores) {
    const { labels, temperature, chain, scheme, unknown } = this.reading;
    const tags = decode(scores, chain).map(({ tag, share }, at) => ({
      token: tokens[at],
      label: labels[tag],
      probability: calibrated(share, temperature),
      known: ids[at] !== unknown,
    }));
    const label = tags.map((tag) => tag.label).join(" ");
    const probability = tags.reduce((product, tag) => product * tag.probability, 1);
    if (!scheme) return { label, probability, tags };
    const points = Array.from(text);
    const entities = spans(tags.map((tag) => tag.label), scheme).map(([first, end, type]) => {
      const [start, stop] = [places[first][0], places[end - 1][1]];
      const least = Math.min(...tags.slice(first, end).map((tag) => tag.probability));
      return { type, start, end: stop, text: points.slice(start, stop).join(""), probability: least };
    });
    return { label, probability, tags, entities };
  }
}

function sigmoid(logit) {
  return 1 / (1 + Math.exp(-logit));
}
