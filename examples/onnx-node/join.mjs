// From tokens to the text that a person would read, by the rules in model.tokenizer.json.

import { withClasses } from "./tokenize.mjs";

export class Joiner {
  /** ``rules``: the tokeniser of what is written. */
  constructor(rules) {
    const compile = (pattern) => new RegExp(withClasses(pattern, rules.classes), "gu");
    this.name = rules.name;
    this.space = rules.space; // of byte-pair encoding: how a space is written inside a token
    this.beside = (rules.beside ?? []).map(compile); // signs stand beside their words
    if (rules.quoted) this.quoted = compile(rules.quoted);
    if (rules.between) this.between = compile(rules.between); // two words of jieba that a space parts
  }

  join(tokens) {
    if (this.name === "chars") return tokens.join("");
    if (this.name === "bpe") return tokens.join("").replaceAll(this.space, " ").replace(/^ +| +$/g, "");
    if (this.name === "jieba") return tokens.join("\0").replace(this.between, " ").replaceAll("\0", "");
    let text = tokens.join(" ");
    for (const pattern of this.beside) text = text.replace(pattern, "$1");
    if (this.quoted) text = text.replace(this.quoted, '"$1"');
    return text.replaceAll(" \n", "\n").replaceAll("\n ", "\n");
  }

  /** A function that takes the tokens of a text one by one, and gives what each adds to the text. */
  joining() {
    let last = "";
    return (token) => {
      const piece = last === "" ? token : this.join([last, token]).slice(last.length); // neighbours alone decide
      last = token;
      return piece;
    };
  }
}
