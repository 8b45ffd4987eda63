// What is seen of a token besides the token itself, as further ids of its step: the n-grams that end there, how it
// begins, ends and looks, and its letters. All lengths are in code points, as Python counts them.

const FACTOR = 0x9e3779b97f4a7c15n;
const MIX = 0xbf58476d1ce4e5b9n;
const wrapped = (number) => BigInt.asUintN(64, number);

export class Looks {
  constructor(reading, tokenizer) {
    const { ngrams, marks, spelling, learnt } = reading;
    if (marks?.kinds.includes("segments")) {
      throw new Error(
        "this model reads where characters stand in the words of jieba's dictionary (task.marks), which JavaScript " +
          "lacks: train with task.marks = [] to use the model here",
      );
    }
    Object.assign(this, { marks, spelling, learnt, tokenizer });
    if (ngrams) {
      const bytes = Uint8Array.from(atob(ngrams.keys), (letter) => letter.charCodeAt(0));
      const view = new DataView(bytes.buffer);
      this.sizes = ngrams.sizes;
      this.grams = new Map();
      for (let at = 0; at < bytes.length; at += 8) this.grams.set(view.getBigUint64(at, true), learnt + at / 8);
    }
    if (marks) this.known = new Map(marks.known.map((mark, number) => [mark, marks.first + number]));
    if (spelling) this.letters = new Map(spelling.letters.map((letter, number) => [letter, number]).slice(2)); // two are none
  }

  /** The ids of each step of one text: an array per token, its own id first. */
  steps(tokens, ids) {
    return tokens.map((token, at) => [ids[at], ...this.ngramsAt(ids, at), ...this.marksOf(token), ...this.lettersOf(token)]);
  }

  ngramsAt(ids, at) {
    return (this.sizes ?? []).map((size) => {
      const gram = ids.slice(Math.max(0, at - size + 1), at + 1);
      if (gram.length < size || gram.some((id) => id < 2 || id >= this.learnt)) return 0; // of unknown words there is none
      let key = BigInt(size);
      for (const id of gram) {
        key = wrapped((key ^ BigInt(id)) * FACTOR);
        key = wrapped((key ^ (key >> 29n)) * MIX);
      }
      return this.grams.get(key) ?? 0;
    });
  }

  marksOf(token) {
    const letters = Array.from(token);
    const lower = (some) => this.tokenizer.lower(some.join(""));
    const seen = {
      prefix: () => lower(letters.slice(0, 3)),
      suffix: () => lower(letters.slice(-3)),
      ending: () => lower(letters.slice(-2)),
      shape: () => this.shape(letters),
    };
    return (this.marks?.kinds ?? []).map((kind) => this.known.get(`${kind} ${seen[kind]()}`) ?? 0);
  }

  /** Capitals are X, other letters x, digits 9, each run at most two long: McDonald's is XxXxx'x. */
  shape(letters) {
    const { upper, letter, numeral } = this.tokenizer.classes;
    const kinds = letters.map((one) => (upper.test(one) ? "X" : letter.test(one) ? "x" : numeral.test(one) ? "9" : one));
    return Array.from(kinds.join("").replace(/([^\n])\1{2,}/gu, "$1$1")).slice(0, 10).join("");
  }

  lettersOf(token) {
    const length = this.spelling?.length ?? 0;
    let letters = length ? Array.from(token) : [];
    const half = Math.floor(length / 2);
    if (letters.length > length) letters = [...letters.slice(0, half), ...letters.slice(half - length)];
    return Array.from({ length }, (_, at) => (at < letters.length ? (this.letters.get(letters[at]) ?? 1) : 0));
  }
}
