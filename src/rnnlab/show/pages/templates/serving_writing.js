"use strict";
// For a language model: the text goes on as the server streams it, and belongs to whoever types in it.
const servedWriter = ({ at, say, told, request, failure, showTrouble, noTrouble, model, typed }) => {
  const KNOBS = ["temperature", "top-p"];
  let going = null; // what stops it
  let before = null; // the text before what was written last

  const field = at("text");
  const showKnobs = () => {
    for (const id of KNOBS) document.querySelector(`output[for="${id}"]`).value = Number(at(id).value).toFixed(2);
  };
  const body = () => ({
    prompt: typed(field),
    length: Number(at("length").value),
    temperature: Number(at("temperature").value),
    top_p: Number(at("top-p").value),
    seed: Number(at("seed").value),
    stream: true,
  });
  const busy = (is) => {
    field.readOnly = is;
    at("write").disabled = is;
    at("stop").disabled = !is;
    at("back").disabled = is || before === null;
    at("answer").setAttribute("aria-busy", String(is));
  };
  const add = (piece) => {
    const atEnd = field.scrollTop + field.clientHeight >= field.scrollHeight - 40;
    field.value += piece;
    if (atEnd) field.scrollTop = field.scrollHeight;
  };
  // Events of a stream, as they come: [name, data].
  async function* events(response) {
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      const blocks = (rest + value).split("\n\n");
      rest = blocks.pop();
      for (const block of blocks) {
        const lines = block.split("\n");
        const name = lines.find((line) => line.startsWith("event: "))?.slice(7) ?? "";
        yield [name, JSON.parse(lines.find((line) => line.startsWith("data: ")).slice(6))];
      }
    }
  }
  const sum = ({ samples, unknown }) => {
    const [{ tokens, nats_per_token: nats, ended }] = samples;
    const parts = [...say(...told("wrote", { count: tokens, nats: nats.toFixed(2) })), " ", ...say(...told(`ended ${ended}`))];
    if (unknown.length) parts.push(" ", ...say(...told("unknown tokens")), ` ${unknown.slice(0, 8).join(" ")}`);
    at("wrote").replaceChildren(...parts);
  };
  const write = async () => {
    if (going) return;
    const mine = (going = new AbortController());
    before = field.value;
    noTrouble();
    at("wrote").replaceChildren(...say(...told("writes")));
    busy(true);
    try {
      const sent = JSON.stringify({ model: model().name, ...body() });
      const response = await request("/v1/generate", { method: "POST", body: sent, signal: mine.signal });
      if (!response.ok) {
        const { status, reason } = await failure(response);
        at("wrote").replaceChildren();
        showTrouble(status, reason);
      } else {
        for await (const [name, data] of events(response)) {
          if (name === "done") sum(data);
          else if (name === "error") throw new Error(data.error.reason);
          else add(data.text);
        }
      }
    } catch (error) {
      at("wrote").replaceChildren(...(mine.signal.aborted ? say(...told("stopped")) : []));
      if (!mine.signal.aborted) showTrouble("unreachable", error instanceof TypeError ? "" : error.message);
    }
    going = null;
    busy(false);
    field.focus();
    field.setSelectionRange(field.value.length, field.value.length);
  };
  const stop = () => going?.abort();
  at("stop").addEventListener("click", stop);
  at("back").addEventListener("click", () => {
    field.value = before;
    before = null;
    at("wrote").replaceChildren();
    busy(false);
    field.focus();
  });
  for (const id of KNOBS) at(id).addEventListener("input", showKnobs);
  at("ask").addEventListener("keydown", (event) => {
    if (at("writing").hidden) return;
    if (event.key === "Escape") stop();
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && at("ask").reportValidity()) write();
  });
  const show = (writes) => {
    if (!writes) stop();
    at("writing").hidden = at("writing-keys").hidden = !writes;
    for (const input of at("writing").querySelectorAll("input")) input.disabled = !writes;
    showKnobs();
  };
  show(false);
  return { show, write, body };
};
