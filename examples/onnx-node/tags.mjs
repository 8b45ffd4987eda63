// From the scores of tags to tags with their probabilities, and to entities.

const LEAST = 1e-12;

/** One answer per step, {tag, share}: of rows of scores, (steps, tags), by themselves or along the best path. */
export function decode(scores, chain) {
  if (!chain) {
    return scores.map((row) => {
      const shares = softmax(row);
      const tag = row.indexOf(Math.max(...row));
      return { tag, share: shares[tag] };
    });
  }
  const shares = marginals(scores, chain);
  return bestPath(scores, chain).map((tag, step) => ({ tag, share: shares[step][tag] }));
}

/** The path of the highest score (Viterbi). chain[i][j] scores tag j after tag i; its last two rows are start and end. */
function bestPath(scores, chain) {
  const count = scores[0].length;
  let best = scores[0].map((score, tag) => score + chain[count][tag]);
  const came = scores.slice(1).map((row) => {
    const from = row.map((_, tag) => largest(best.map((score, before) => score + chain[before][tag])));
    best = row.map((score, tag) => best[from[tag]] + chain[from[tag]][tag] + score);
    return from;
  });
  const path = [largest(best.map((score, tag) => score + chain[count + 1][tag]))];
  for (const from of came.reverse()) path.unshift(from[path[0]]);
  return path;
}

/** How probable each tag of each step is, over all paths (forwards and backwards). */
function marginals(scores, chain) {
  const count = scores[0].length;
  const ahead = [scores[0].map((score, tag) => score + chain[count][tag])];
  for (const row of scores.slice(1)) {
    const before = ahead.at(-1);
    ahead.push(row.map((score, tag) => score + logSum(before.map((sum, other) => sum + chain[other][tag]))));
  }
  const back = [chain[count + 1]];
  for (let step = scores.length - 1; step > 0; step--) {
    const behind = back[0].map((sum, tag) => sum + scores[step][tag]);
    back.unshift(behind.map((_, tag) => logSum(behind.map((sum, next) => sum + chain[tag][next]))));
  }
  return ahead.map((row, step) => softmax(row.map((sum, tag) => sum + back[step][tag])));
}

/** A probability whose log odds are divided by the temperature. */
export function calibrated(share, temperature) {
  const inside = Math.min(Math.max(share, LEAST), 1 - 1e-7);
  return 1 / (1 + Math.exp(-Math.log(inside / (1 - inside)) / temperature));
}

/** Entities in a row of tags, [first, behind the last, type], as seqeval finds them in its mode "strict". */
export function spans(tags, scheme) {
  const marks = [...tags, "O"].map((tag) => {
    const [letter, type] = tag.length === 1 || "-_".includes(tag[1]) ? [tag[0], tag.slice(2)] : ["", tag];
    return letter in scheme.letters ? { letter: scheme.letters[letter], type } : { letter: "O", type: null };
  });
  const [start, inside, end] = [scheme.start, scheme.inside, scheme.end].map((pairs) => pairs.split(" "));
  const fits = (pairs, before, here) =>
    pairs.some(
      ([first, second, types]) =>
        (first === "?" || first === before.letter) &&
        (second === "?" || second === here.letter) &&
        (types === undefined || (types === "=") === (before.type === here.type)),
    );
  const found = [];
  let open = -1; // where the entity began in which we are
  for (let at = 0; at < marks.length; at++) {
    const before = at ? marks[at - 1] : { letter: "O", type: null };
    if (open >= 0 && fits(inside, before, marks[at])) continue;
    if (open >= 0 && fits(end, before, marks[at])) found.push([open, at, marks[open].type]);
    open = at < tags.length && fits(start, before, marks[at]) ? at : -1;
  }
  return found;
}

export function softmax(logits) {
  const most = Math.max(...logits);
  const shares = logits.map((logit) => Math.exp(logit - most));
  const total = shares.reduce((sum, share) => sum + share, 0);
  return shares.map((share) => share / total);
}

function logSum(logits) {
  const most = Math.max(...logits);
  return most + Math.log(logits.reduce((sum, logit) => sum + Math.exp(logit - most), 0));
}

function largest(scores) {
  return scores.indexOf(Math.max(...scores));
}
