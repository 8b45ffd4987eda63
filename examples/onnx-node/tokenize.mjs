// From a text to ids, exactly as rnnlab does it. The rules come with the model, in model.tokenizer.json, so that nothing
// here depends on which version of Unicode this JavaScript knows.

const PLACEHOLDER = "\ue000"; // of private use: no letter, so that lower-casing leaves it and its neighbours alone

export class Tokenizer {
  constructor(reading) {
    if (reading.format !== 1) throw new Error(`model.tokenizer.json has format ${reading.format}; this reads 1`);
    const rules = reading.tokenizer;
    if (!rules) throw new Error(`this model (${reading.task}) reads no text: give it ${reading.input.name} of your own`);
    if (!["words", "chars", "whitespace"].includes(rules.name)) {
      throw new Error(
        `the tokeniser '${rules.name}' needs its own dictionary, which JavaScript lacks: ` +
          "train with --tokenizer chars or words to use the model here",
      );
    }
    this.rules = rules;
    this.unknown = reading.unknown;
    this.maxLength = reading.max_length ?? Infinity;
    this.ids = new Map();
    reading.vocabulary.forEach((word, id) => {
      if (id > reading.unknown) this.ids.set(word, id); // the first two are no words
    });
    const compile = (pattern, flags) => new RegExp(withClasses(pattern, rules.classes), flags);
    this.spaces = compile("[%space%]+", "u");
    if (rules.lowercase) this.unassigned = compile(`[^%assigned%]|${PLACEHOLDER}`, "gu");
    if (rules.name === "words") {
      this.lineBreak = compile(rules.line_break, "gu");
      this.whole = compile(rules.whole, "u");
      this.instead = new Map(Object.entries(rules.instead));
      this.runs = rules.runs.map(([pattern, one]) => [compile(pattern, "gu"), one]);
      this.pattern = compile(rules.pattern, "gu");
    }
  }

  /** Ids of a text, at least one and at most as many as the model was trained to see. */
  encode(text) {
    const ids = this.tokenize(text).slice(0, this.maxLength).map((token) => this.ids.get(token) ?? this.unknown);
    return ids.length ? ids : [this.unknown];
  }

  tokenize(text) {
    if (this.rules.lowercase) text = this.lower(text);
    if (this.rules.name === "words") text = text.replace(this.lineBreak, " ");
    const pieces = text.split(this.spaces).filter((piece) => piece !== "");
    if (this.rules.name === "chars") return Array.from(pieces.join(" "));
    if (this.rules.name === "whitespace") return pieces;
    return pieces.flatMap((piece) => this.cut(piece));
  }

  /** Characters that the trained model's Unicode doesn't know stay as they are, whatever this one knows of them. */
  lower(text) {
    const kept = [];
    const known = text.replace(this.unassigned, (letter) => (kept.push(letter), PLACEHOLDER));
    return known.toLowerCase().replaceAll(PLACEHOLDER, () => kept.shift());
  }

  /** The tokens of a piece without spaces. */
  cut(piece) {
    if (this.whole.test(piece)) return [piece];
    const instead = this.instead.get(piece.toLowerCase());
    if (instead !== undefined) return [instead];
    for (const [old, one] of this.rules.replace) piece = piece.replaceAll(old, () => one);
    for (const [pattern, one] of this.runs) piece = piece.replace(pattern, () => one);
    return piece.match(this.pattern) ?? [];
  }
}

/** A pattern in which %name% became the ranges of that name. */
function withClasses(pattern, classes) {
  const point = (number) => `\\u{${number.toString(16)}}`;
  const spelled = (ranges) => ranges.map(([first, last]) => `${point(first)}-${point(last)}`).join("");
  return pattern.replace(/%([a-z]+)%/g, (_, name) => spelled(classes[name]));
}
