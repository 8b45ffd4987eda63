// From a series to its next steps, with quantiles. ``ort`` is onnxruntime-node or onnxruntime-web: they look the same.

const DAY = 86_400; // seconds
const MOST_GAPS = 1_000_000; // steps that are filled in

export class Forecaster {
  /** ``source`` is what ort opens (a path or the bytes of model.onnx), ``reading`` the content of model.tokenizer.json. */
  static async open(ort, source, reading) {
    if (!reading.forecasting) throw new Error(`this model (${reading.task}) forecasts no series`);
    return new Forecaster(ort, await ort.InferenceSession.create(source), reading);
  }

  constructor(ort, session, reading) {
    Object.assign(this, { ort, session, ...reading.forecasting });
  }

  /** The next steps of one series: {dates or first_step, channels: {name: {point, quantiles}}}, as `rnnlab predict` has
   *  them. ``values`` has a list per channel, null where a value is missing; ``dates`` one text per step. */
  async forecast({ values, dates = null, series = "" }) {
    const seen = this.regular(values, dates);
    const scale = this.scaleOf(seen.columns, series);
    const features = this.features(seen, scale);
    const length = Math.min(this.lookback, features.length);
    const window = Float32Array.from(features.slice(-length).flat());
    const { forecasts } = await this.session.run({
      features: new this.ort.Tensor("float32", window, [1, length, features[0].length]),
      lengths: new this.ort.Tensor("int64", BigInt64Array.of(BigInt(length)), [1]),
    });
    const [, horizon, , numbers] = forecasts.dims;
    const value = (step, channel, number) => {
      const standardised = forecasts.data[(step * this.channels.length + channel) * numbers + number];
      return Number((standardised * scale[channel].std + scale[channel].mean).toPrecision(6));
    };
    const all = (channel, number) => Array.from({ length: horizon }, (_, step) => value(step, channel, number));
    const channels = this.channels.map((name, channel) => {
      const quantiles = this.quantiles.map((quantile, number) => [String(quantile), all(channel, number)]);
      return [name, { point: all(channel, Math.floor(numbers / 2)), quantiles: Object.fromEntries(quantiles) }];
    });
    const steps = Array.from({ length: horizon }, (_, step) => step + 1);
    const last = seen.seconds?.at(-1);
    const when = seen.seconds ? { dates: steps.map((step) => told(later(last, this.spacing, step), this.spacing)) } : { first_step: features.length + 1 };
    return { ...when, channels: Object.fromEntries(channels) };
  }

  /** Columns in the order of the model; where steps are missing between dates, without values there. */
  regular(values, dates) {
    const columns = this.channels.map((name) => {
      if (!values[name]) throw new Error(`the column ${name} is missing; this model reads ${this.channels.join(", ")}`);
      return values[name];
    });
    if (!columns[0].length) throw new Error("there are no values");
    if (!dates || !this.spacing) {
      if (this.calendar.length) throw new Error("this model reads the dates, too, and there are none");
      return { columns, seconds: null };
    }
    const given = dates.map(secondsOf);
    const filled = { columns: columns.map(() => []), seconds: [] };
    given.forEach((seconds, row) => {
      for (;;) {
        const next = filled.seconds.length ? later(given[0], this.spacing, filled.seconds.length) : seconds;
        if (next > seconds || filled.seconds.length > MOST_GAPS) throw new Error(`${dates[row]} doesn't follow ${dates[row - 1]} at the spacing of the model`);
        filled.seconds.push(next);
        filled.columns.forEach((column, channel) => column.push(next === seconds ? columns[channel][row] : null));
        if (next === seconds) return;
      }
    });
    return filled;
  }

  /** Mean and spread per channel: those of the training, if the series was there; else its own, or those of all. */
  scaleOf(columns, series) {
    const place = this.series.indexOf(series);
    if (place >= 0 || this.standardise === "global") {
      const at = Math.max(0, place);
      return this.channels.map((_, channel) => ({ mean: this.mean[at][channel], std: this.std[at][channel] }));
    }
    return columns.map((column, channel) => {
      const known = column.filter((value) => value !== null);
      if (!known.length) throw new Error(`${this.channels[channel]} has no value at all`);
      const mean = known.reduce((sum, value) => sum + value, 0) / known.length;
      const variance = known.reduce((sum, value) => sum + (value - mean) ** 2, 0) / known.length;
      return { mean, std: Math.sqrt(variance) || 1 };
    });
  }

  /** A list per step: standardised values, where one is missing the last that is known; which are missing; the dates. */
  features({ columns, seconds }, scale) {
    const last = this.channels.map(() => 0);
    return columns[0].map((_, step) => {
      const missing = columns.map((column) => Number(column[step] === null));
      columns.forEach((column, channel) => {
        const { mean, std } = scale[channel];
        if (!missing[channel]) last[channel] = (column[step] - mean) / std;
      });
      const turns = this.calendar.map((turn) => 2 * Math.PI * turned(seconds[step], turn));
      return [...last, ...(this.marks ? missing : []), ...turns.flatMap((angle) => [Math.sin(angle), Math.cos(angle)])];
    });
  }
}

/** How much of a day, week or year is over. */
function turned(seconds, turn) {
  const days = Math.floor(seconds / DAY);
  if (turn === "day") return seconds / DAY - days;
  if (turn === "week") return (((days + 3) % 7) + 7) % 7 / 7; // 1 January 1970 was a Thursday
  const begun = Date.UTC(new Date(1000 * seconds).getUTCFullYear(), 0) / 1000;
  return (days - begun / DAY) / 365.25;
}

/** ``2024-01``, ``2024-01-31``, ``2024-01-31 13:00`` or ``2024-01-31T13:00:00`` → seconds since 1970. */
function secondsOf(date) {
  const found = /^(\d{4})-(\d\d?)(?:-(\d\d?)(?:[T ](\d\d?):(\d\d)(?::(\d\d))?)?)?$/.exec(date.trim());
  if (!found) throw new Error(`${date} is no date like 2024-01-31 13:00`);
  const [year, month, day = 1, hour = 0, minute = 0, second = 0] = found.slice(1).map((part) => part && Number(part));
  return Date.UTC(year, month - 1, day, hour, minute, second) / 1000;
}

/** A date so many steps later. The last day of a month stays one. */
function later(seconds, { seconds: each, months }, steps) {
  if (!months) return seconds + steps * each;
  const date = new Date(1000 * seconds);
  const [year, month, day] = [date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate()];
  const days = (ahead) => new Date(Date.UTC(year, month + ahead + 1, 0)).getUTCDate(); // of a month
  const same = day === days(0) ? days(steps * months) : Math.min(day, days(steps * months));
  return Date.UTC(year, month + steps * months, same) / 1000 + (seconds % DAY);
}

/** A day where steps are days or more; else with the time. */
function told(seconds, spacing) {
  const text = new Date(1000 * seconds).toISOString();
  const day = (spacing.months || spacing.seconds % DAY === 0) && seconds % DAY === 0;
  return day ? text.slice(0, 10) : `${text.slice(0, 10)} ${text.slice(11, 19)}`;
}

/** A plain table of commas or tabs, without quotes → {dates, values}, of which the model takes its columns; the first
 *  column that it doesn't forecast has the dates. */
export function tableOf(text, { channels, spacing }) {
  const [header, ...lines] = text.replace(/^\ufeff/, "").trim().split(/\r?\n/);
  const sign = header.includes("\t") ? "\t" : ",";
  const names = header.split(sign).map((name) => name.trim());
  const rows = lines.map((line, row) => {
    const cells = line.split(sign).map((cell) => cell.trim());
    if (cells.length !== names.length) throw new Error(`line ${row + 2}: ${cells.length} fields, and the header has ${names.length}`);
    return cells;
  });
  const number = (cell, row) => {
    if (cell === "") return null;
    if (!Number.isFinite(Number(cell))) throw new Error(`line ${row + 2}: ${cell} is no number`);
    return Number(cell);
  };
  const column = (name) => rows.map((cells, row) => number(cells[names.indexOf(name)], row));
  const values = Object.fromEntries(channels.filter((name) => names.includes(name)).map((name) => [name, column(name)]));
  const dated = spacing ? names.findIndex((name) => !channels.includes(name)) : -1;
  return { values, dates: dated < 0 ? null : rows.map((cells) => cells[dated]) };
}

/** Rows of a table: the date or step, and of each channel the point and then the other quantiles. */
export function rowsOf({ dates, first_step: first, channels }) {
  const named = (quantile) => `p${Number((100 * quantile).toPrecision(6))}`;
  const columns = Object.entries(channels).flatMap(([name, { point, quantiles }]) => [
    [name, point],
    ...Object.entries(quantiles).filter(([quantile]) => Number(quantile) !== 0.5).map(([quantile, values]) => [`${name} ${named(quantile)}`, values]),
  ]);
  const steps = columns[0][1].map((_, step) => [dates ? dates[step] : first + step, ...columns.map(([, values]) => values[step])]);
  return [[dates ? "date" : "step", ...columns.map(([name]) => name)], ...steps];
}
