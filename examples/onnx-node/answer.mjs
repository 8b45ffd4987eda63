// From texts to labels with calibrated probabilities. ``ort`` is onnxruntime-node or onnxruntime-web: they look the same.

import { Tokenizer } from "./tokenize.mjs";

export class Model {
  /** ``source`` is what ort opens (a path or the bytes of model.onnx), ``reading`` the content of model.tokenizer.json. */
  static async open(ort, source, reading) {
    if (reading.per_step) throw new Error(`this model (${reading.task}) answers every step; here is one label a text`);
    if (reading.ngrams) throw new Error("this model reads n-grams too (task.ngrams), which this example doesn't make");
    if (reading.text_columns) throw new Error(`this model reads the columns ${reading.text_columns}, which this example doesn't join`);
    const tokenizer = new Tokenizer(reading);
    return new Model(ort, await ort.InferenceSession.create(source), reading, tokenizer);
  }

  constructor(ort, session, reading, tokenizer) {
    Object.assign(this, { ort, session, reading, tokenizer });
  }

  /** One answer a text: {label, probability, probabilities, ids}. All texts are one batch. Where a text may have several
   *  labels, {labels, …}, and label has all of them in one text. */
  async predict(texts) {
    if (texts.length === 0) return [];
    const rows = texts.map((text) => this.tokenizer.encode(text));
    const length = Math.max(...rows.map((ids) => ids.length));
    const ids = new BigInt64Array(rows.length * length).fill(BigInt(this.reading.padding));
    rows.forEach((row, number) => row.forEach((id, step) => (ids[number * length + step] = BigInt(id))));
    const lengths = BigInt64Array.from(rows, (row) => BigInt(row.length));
    const { logits } = await this.session.run({
      ids: new this.ort.Tensor("int64", ids, [rows.length, length]),
      lengths: new this.ort.Tensor("int64", lengths, [rows.length]),
    });
    const { labels, temperature, thresholds } = this.reading;
    return rows.map((row, number) => {
      const start = number * labels.length;
      const calibrated = Array.from(logits.data.slice(start, start + labels.length), (logit) => logit / temperature);
      const shares = thresholds ? calibrated.map(sigmoid) : softmax(calibrated);
      const best = shares.indexOf(Math.max(...shares));
      const probabilities = Object.fromEntries(labels.map((label, at) => [label, shares[at]]));
      if (thresholds) {
        const given = labels.filter((_, at) => shares[at] >= thresholds[at]);
        return { label: given.join(";"), labels: given, probability: shares[best], probabilities, ids: row };
      }
      return { label: labels[best], probability: shares[best], probabilities, ids: row };
    });
  }
}

function sigmoid(logit) {
  return 1 / (1 + Math.exp(-logit));
}

function softmax(logits) {
  const most = Math.max(...logits);
  const shares = logits.map((logit) => Math.exp(logit - most));
  const total = shares.reduce((sum, share) => sum + share, 0);
  return shares.map((share) => share / total);
}
