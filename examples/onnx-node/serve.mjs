// node serve.mjs model.onnx [port]: the page, for this machine alone. The model stays here and in the browser.

import { createReadStream, existsSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { basename, dirname, extname, join } from "node:path";
import { fileURLToPath } from "node:url";

const [model = "model.onnx", port = "8080"] = process.argv.slice(2);
const here = dirname(fileURLToPath(import.meta.url));
const runtime = dirname(createRequire(import.meta.url).resolve("onnxruntime-web"));
const tokenizer = model.replace(/\.onnx$/, ".tokenizer.json");
function ask(file) {
  if (existsSync(file)) return file;
  console.error(`serve.mjs: ${file}: no such file; write it with: rnnlab export MODEL -o ${model}`);
  process.exit(1);
}
const { writing, translating } = JSON.parse(readFileSync(ask(tokenizer), "utf-8"));
const step = (translating ?? writing)?.step; // the file of a model that writes
const pages = ["page", "page-answers", "page-forecasts", "page-translates", "page-writes"];
const scripts = [...pages, "answer", "forecaster", "join", "looks", "tags", "tokenize", "translator", "writer"];

// A list of addresses, each with its file: nothing else of this machine can be asked for.
const files = new Map([
  ["/", join(here, "index.html")],
  ...scripts.map((name) => [`/${name}.mjs`, join(here, `${name}.mjs`)]),
  ...["ort.wasm.min.mjs", "ort-wasm-simd-threaded.mjs", "ort-wasm-simd-threaded.wasm"].map((name) => [
    `/ort/${name}`,
    join(runtime, name),
  ]),
  ["/model.onnx", ask(model)],
  ...(step ? [["/model.step.onnx", ask(join(dirname(model), step))]] : []),
  ["/model.tokenizer.json", tokenizer],
]);
const types = {
  ".html": "text/html; charset=utf-8",
  ".mjs": "text/javascript; charset=utf-8",
  ".json": "application/json; charset=utf-8",
  ".wasm": "application/wasm", // a browser compiles it while it arrives, but only under this name
  ".onnx": "application/octet-stream",
};

const server = createServer((request, response) => {
  const file = files.get(request.url.split("?")[0]);
  if (!["GET", "HEAD"].includes(request.method) || !file) {
    response.writeHead(file ? 405 : 404, { "Content-Type": "text/plain" }).end("no such page\n");
    return;
  }
  response.writeHead(200, {
    "Content-Type": types[extname(file)],
    "X-Content-Type-Options": "nosniff",
    // Together these two allow threads in WebAssembly.
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Embedder-Policy": "require-corp",
    "Content-Security-Policy": "default-src 'self'; img-src data:; script-src 'self' 'wasm-unsafe-eval' blob:; worker-src 'self' blob:; style-src 'self' 'unsafe-inline'",
  });
  if (request.method === "HEAD") response.end();
  else createReadStream(file).pipe(response);
});
server.listen(Number(port), "127.0.0.1", () => {
  console.log(`${basename(model)}: http://127.0.0.1:${server.address().port}/`);
});
