// From a text to ids, exactly as rnnlab does it. The rules come with the model, in model.tokenizer.json, so that nothing
// here depends on which version of Unicode this JavaScript knows.

const LINE_MARK = "\ue00a"; // stands for a line end while words are parted at spaces
const PLACEHOLDER = "\ue000"; // of private use: no letter, so that lower-casing leaves it and its neighbours alone

export class Tokenizer {
  constructor(reading) {
    if (reading.format !== 1) throw new Error(`model.tokenizer.json has format ${reading.format}; this reads 1`);
    const rules = reading.tokenizer;
    if (!rules) throw new Error(`this model (${reading.task}) reads no text: give it ${reading.input.name} of your own`);
    if (!["words", "chars", "whitespace", "bpe"].includes(rules.name)) {
      throw new Error(
        `the tokeniser '${rules.name}' needs its own dictionary, which JavaScript lacks: ` +
          "train with --tokenizer chars or words to use the model here",
      );
    }
    this.rules = rules;
    this.unknown = reading.unknown;
    this.maxLength = reading.max_length ?? Infinity;
    this.spelling = reading.spelling; // of a tagger: tokens are read as they stand there
    this.ids = new Map();
    const { learnt = Infinity, vocabulary } = reading;
    const further = (reading.ngrams ? atob(reading.ngrams.keys).length / 8 : 0) + (reading.marks?.known.length ?? 0);
    vocabulary.forEach((word, place) => {
      if (place <= reading.unknown) return; // the first two are no words
      this.ids.set(word, place < learnt ? place : place + further); // n-grams and marks are numbered between
    });
    const compile = (pattern, flags) => new RegExp(withClasses(pattern, rules.classes), flags);
    this.spaces = compile("[%space%]+", "u");
    const kinds = ["upper", "letter", "numeral"].filter((name) => name in rules.classes);
    this.classes = Object.fromEntries(kinds.map((name) => [name, compile(`[%${name}%]`, "u")]));
    if (rules.classes.assigned) this.unassigned = compile(`[^%assigned%]|${PLACEHOLDER}`, "gu");
    if (rules.name === "words") {
      this.lineBreak = compile(rules.line_break, "gu");
      this.whole = compile(rules.whole, "u");
      this.instead = new Map(Object.entries(rules.instead));
      this.runs = rules.runs.map(([pattern, one]) => [compile(pattern, "gu"), one]);
      this.pattern = compile(rules.pattern, "gu");
      this.sameLength = new Map(rules.same_length ?? []);
    }
    if (rules.name === "bpe") {
      this.pattern = compile(rules.pattern, "gu");
      this.ranks = new Map(rules.merges.map((merge, rank) => [merge, rank])); // "left right" → when it was learnt
    }
    this.standing = this.pattern ?? compile(rules.name === "chars" ? "[^%space%]" : "[^%space%]+", "gu");
  }

  /** Ids of a text, at least one and at most as many as the model was trained to see. */
  encode(text) {
    return this.read(text).ids;
  }

  /** The tokens of a text, their ids, and, of a tagger, their places in code points: [first, behind the last]. */
  read(text) {
    const places = this.spelling ? this.find(text) : null;
    let tokens = places ? places.map(({ token }) => token) : this.tokenize(text);
    tokens = tokens.slice(0, this.maxLength);
    const lookUp = (token) => this.ids.get(this.spelling?.lowercase ? this.lower(token) : token) ?? this.unknown;
    if (tokens.length) return { tokens, ids: tokens.map(lookUp), places: places?.map(({ place }) => place) };
    const end = Array.from(text).length;
    return { tokens: ["<unk>"], ids: [this.unknown], places: [[end, end]] };
  }

  /** The tokens of a text as they stand there. */
  find(text) {
    const cut = Array.from(text, (letter) => this.sameLength?.get(letter) ?? letter).join("");
    const found = [];
    let [units, points] = [0, 0]; // how far we are, in JavaScript's units and in code points
    for (const match of cut.matchAll(this.standing)) {
      const token = text.slice(match.index, match.index + match[0].length);
      const start = points + Array.from(text.slice(units, match.index)).length;
      units = match.index + token.length;
      points = start + Array.from(token).length;
      found.push({ token, place: [start, points] });
    }
    return found;
  }

  tokenize(text) {
    if (this.rules.lowercase) text = this.lower(text);
    const { verbatim } = this.rules; // of a language model: characters as they stand; of words, line ends are tokens
    if (verbatim && this.rules.name === "chars") return Array.from(text);
    if (verbatim) text = text.replaceAll("\n", ` ${LINE_MARK} `);
    else if (this.rules.name === "words") text = text.replace(this.lineBreak, " ");
    else if (this.rules.name === "bpe") text = text.replaceAll(this.rules.space, " ");
    const pieces = text.split(this.spaces).filter((piece) => piece !== "");
    if (this.rules.name === "chars") return Array.from(pieces.join(" "));
    const cut = { whitespace: (piece) => [piece], words: (piece) => this.cut(piece), bpe: (piece) => this.merge(piece) }[this.rules.name];
    return pieces.flatMap((piece) => (verbatim && piece === LINE_MARK ? ["\n"] : cut(piece)));
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

  /** The symbols of byte-pair encoding in a piece without spaces: neighbours merged in the order that was learnt. */
  merge(piece) {
    return (this.rules.space + piece).match(this.pattern).flatMap((part) => {
      let symbols = Array.from(part);
      for (;;) {
        const ranks = symbols.slice(1).map((right, at) => this.ranks.get(`${symbols[at]} ${right}`) ?? Infinity);
        const first = Math.min(...ranks);
        if (first === Infinity) return symbols; // also where one symbol is left
        const at = ranks.indexOf(first);
        symbols = mergedEverywhere(symbols, symbols[at], symbols[at + 1]);
      }
    });
  }
}

/** With each such pair as one symbol, from left to right. */
function mergedEverywhere(symbols, left, right) {
  const found = [];
  for (let at = 0; at < symbols.length; at++) {
    const pair = symbols[at] === left && symbols[at + 1] === right;
    found.push(pair ? left + right : symbols[at]);
    if (pair) at += 1;
  }
  return found;
}

/** A pattern in which %name% became the ranges of that name. */
export function withClasses(pattern, classes) {
  const point = (number) => `\\u{${number.toString(16)}}`;
  const spelled = (ranges) => ranges.map(([first, last]) => `${point(first)}-${point(last)}`).join("");
  return pattern.replace(/%([a-z]+)%/g, (_, name) => spelled(classes[name]));
}
