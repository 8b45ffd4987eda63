// node forecast.mjs model.onnx recent.csv             the next steps as a table, like rnnlab predict --file recent.csv -o
// node forecast.mjs model.onnx --json < series.json   an array of {values, dates, series} in, an array of forecasts out

import { readFileSync } from "node:fs";
import * as ort from "onnxruntime-node";
import { Forecaster, rowsOf, tableOf } from "./forecaster.mjs";

const [path, file] = process.argv.slice(2);
if (!path || !file) {
  console.error("usage: node forecast.mjs model.onnx recent.csv   or: node forecast.mjs model.onnx --json < series.json");
  process.exit(2);
}
try {
  const reading = JSON.parse(readFileSync(path.replace(/\.onnx$/, ".tokenizer.json"), "utf-8"));
  const forecaster = await Forecaster.open(ort, path, reading);
  if (file === "--json") {
    const found = [];
    for (const series of JSON.parse(readFileSync(0, "utf-8"))) found.push(await forecaster.forecast(series));
    console.log(JSON.stringify(found));
  } else {
    const found = await forecaster.forecast(tableOf(readFileSync(file, "utf-8"), reading.forecasting));
    for (const row of rowsOf(found)) console.log(row.join(","));
  }
} catch (error) {
  console.error(`forecast.mjs: ${error.message}`);
  process.exit(1);
}
