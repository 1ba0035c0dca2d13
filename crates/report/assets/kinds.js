// The kinds of charts: which lines of the data each draws, on which scales, and what it says of a point.

const runColour = (run) => colour(`run-${run % 8}`);
const several = (runs) => runs.length > 1;
// The last of the marks says how all of them are written.
const secondsAxis = () => axis((seconds, all) => (all[all.length - 1] < LONG ? moment(seconds) : clock(seconds)));
// All charts over time begin and end where the runs do, so that they stand exactly below each other.
const span = (runs) => [0, Math.max(...runs.map((run) => run.end))];
const timeScale = (all) => ({
  time: false,
  range: (u, min, max) => (min <= u.data[0][0] && max >= u.data[0][u.data[0].length - 1] ? span(all) : [min, max]),
});
const fromZero = { range: (_, __, max) => [0, max > 0 ? max * 1.08 : 1] };
const logarithmic = {
  distr: 3,
  range: (_, min, max) => (min > 0 && max > 0 ? [min / 1.15, max * 1.15] : [1, 10]),
};
// Of a logarithmic axis that spans several decades, only the decades; else 1, 2 and 5 as well.
const logSplits = (u, _, min, max) => {
  const steps = Math.log10(max / min) > 2.5 ? [1] : Math.log10(max / min) > 0.8 ? [1, 2, 5] : [1, 1.5, 2, 3, 4, 5, 6, 7, 8, 9];
  const splits = [];
  for (let decade = Math.floor(Math.log10(min)); decade <= Math.log10(max); decade += 1)
    splits.push(...steps.map((step) => step * 10 ** decade).filter((split) => split >= min && split <= max));
  return splits;
};
const latencyAxis = () => axis(latencyTick, { splits: logSplits, filter: (_, splits) => splits });

// Several runs have points at other times: their lines are joined on one axis of time.
const joined = (lines) => uPlot.join(lines.map(([t, values]) => [t, values]));

const lineChart = (runs, lines, { write, scale, yAxis, events, all }) => ({
  data: several(runs) ? joined(lines.map(({ t, values }) => [t, values])) : [lines[0].t, ...lines.map((line) => line.values)],
  options: () => ({
    series: lines.map((line) => ({
      stroke: line.colour(),
      width: line.width ?? 1.5,
      dash: line.dashed ? [4, 4] : undefined,
      fill: line.filled ? line.colour() + "22" : undefined,
      spanGaps: several(runs),
    })),
    scales: { x: timeScale(all ?? runs), y: scale },
    axes: [secondsAxis(), yAxis()],
    hooks: { drawClear: [drawEvents(events)] },
  }),
  at(index) {
    const seconds = this.data[0][index];
    const value = (at) => this.data[at + 1][index];
    const rows = lines.map((line, at) => ({ label: line.label, value: write(value(at)), colour: line.colour(), seen: value(at) != null }));
    return { title: moment(seconds), rows: [...rows.filter((row) => row.seen), ...eventsAt(events, seconds)] };
  },
  columns: ["time", ...lines.map((line) => line.label)],
  row(index) {
    return [moment(this.data[0][index]), ...this.data.slice(1).map((values) => write(values[index]))];
  },
  legend: lines.length > 1 ? legendOf(() => lines.map((line) => ({ ...line, colour: line.colour() }))) : undefined,
});

const eventsOf = (runs) => (several(runs) ? [] : runs[0].events);
const eachRun = (runs, values, of) =>
  runs
    .map((run, at) => ({ run, at }))
    .filter(({ run }) => values(run))
    .map(({ run, at }) => ({ label: several(runs) ? run.letter : of, t: run.time.t, values: values(run), colour: () => runColour(at) }));

const throughput = (runs) => {
  const lines = eachRun(runs, (run) => run.time.tps, "succeeded");
  if (!several(runs)) {
    lines[0].filled = true;
    if (runs[0].time.lost)
      lines.push({ label: "failed or skipped", t: runs[0].time.t, values: runs[0].time.lost, colour: () => colour("bad") });
  }
  const yAxis = () => axis(tick);
  return lineChart(runs, lines, { write: (value) => rate(value) + TIE + "tps", scale: fromZero, yAxis, events: eventsOf(runs) });
};

const QUANTILES = [["p50", "median"], ["p95", "p95"], ["p99", "p99"], ["p999", "p99.9"], ["max", "max"]];

// Of one run all percentiles, of several one, which the reader chooses.
const percentilesOverTime = (runs, chosen = "p99") => {
  const drawing = { write: latency, scale: logarithmic, yAxis: latencyAxis, events: eventsOf(runs) };
  if (!several(runs)) {
    const line = ([name, label]) => ({
      label,
      t: runs[0].time.t,
      values: runs[0].time[name],
      colour: () => colour(name),
      dashed: name === "max",
      width: name === "max" ? 1 : 1.5,
    });
    return lineChart(runs, QUANTILES.map(line), drawing);
  }
  const kind = lineChart(runs, eachRun(runs, (run) => run.time[chosen], ""), drawing);
  const legend = kind.legend;
  kind.legend = (place, chart) => {
    legend(place);
    const label = create("label", "item", "percentile ");
    const select = label.appendChild(create("select"));
    for (const [name, text] of QUANTILES) select.add(new Option(text, name, false, name === chosen));
    select.addEventListener("change", () => {
      chart.kind = percentilesOverTime(runs, select.value);
      chart.figure.querySelector("details.table .scroll").replaceChildren();
      chart.draw();
      chart.figure.querySelector("select").focus();
    });
    place.append(label);
  };
  return kind;
};

const wal = (runs) => {
  const lines = eachRun(runs, (run) => run.server?.wal, "written");
  lines.forEach((line) => (line.t = runs.find((run) => run.server?.wal === line.values).server.t));
  const yAxis = () => axis(bytesTick);
  return lineChart(runs, lines, { write: (value) => bytes(value) + "/s", scale: fromZero, yAxis, events: eventsOf(runs) });
};

const host = (runs, at) => {
  const server = runs[at].server;
  const names = [["busy", "busy", "run-0"], ["iowait", "waiting for disks", "run-1"], ["steal", "stolen by the hypervisor", "bad"]];
  const lines = names
    .filter(([name]) => server[name])
    .map(([name, label, paint]) => ({ label, t: server.t, values: server[name], colour: () => colour(paint) }));
  const scale = { range: () => [0, 1] };
  const yAxis = () => axis(percent);
  return lineChart([runs[at]], lines, { write: percent, scale, yAxis, events: runs[at].events, all: runs });
};

const percentiles = (runs) => {
  const curves = [];
  runs.forEach((run, at) => {
    const name = several(runs) ? `${run.letter} ` : "";
    const response = run.service ? "response" : several(runs) ? "" : "response time";
    curves.push({ ...run.response, label: (name + response).trim(), colour: () => runColour(at) });
    if (run.service) curves.push({ ...run.service, label: `${name}service`, colour: () => runColour(at), dashed: true });
  });
  const shown = curves.filter((curve) => curve.tail.length);
  const marks = [2, 4, 10, 20, 100, 1000, 10000];
  return {
    data: joined(shown.map((curve) => [curve.tail, curve.us])),
    options: () => ({
      time: false,
      series: shown.map((curve) => ({
        stroke: curve.colour(),
        width: 2,
        dash: curve.dashed ? [5, 4] : undefined,
        spanGaps: true,
      })),
      scales: { x: { time: false, distr: 3, range: () => [1, 10000] }, y: logarithmic },
      axes: [
        axis(percentile, {
          splits: () => marks,
          filter: (u, splits) => splits.map((split) => (u.width < 480 && (split === 4 || split === 20) ? null : split)),
        }),
        latencyAxis(),
      ],
    }),
    at(index) {
      const rows = shown.map((curve, at) => ({ label: curve.label, value: this.data[at + 1][index], colour: curve.colour() }));
      const seen = rows.filter((row) => row.value != null).map((row) => ({ ...row, value: latency(row.value) }));
      return { title: percentile(this.data[0][index]), rows: seen };
    },
    columns: ["percentile", ...shown.map((curve) => curve.label || "response time")],
    row(index) {
      return [percentile(this.data[0][index]), ...this.data.slice(1).map((values) => latency(values[index]))];
    },
    legend: shown.length > 1 ? legendOf(() => shown.map((curve) => ({ ...curve, colour: curve.colour() }))) : undefined,
  };
};

// Backends stacked: each area is drawn over the one of all that are above it.
const waits = (runs, at) => {
  const { t, series } = runs[at].waits;
  const sums = [];
  series.forEach(({ backends }, index) => sums.push(backends.map((value, time) => value + (sums[index - 1]?.[time] ?? 0))));
  const perKind = {};
  const paints = series.map(({ kind }) => {
    const shade = (perKind[kind] = (perKind[kind] ?? -1) + 1);
    const known = ["CPU", "IO", "Lock", "LWLock", "Client", "IPC"].includes(kind);
    return `wait-${known ? kind.toLowerCase() : "other"}-${Math.min(shade, 2)}`;
  });
  const order = series.map((_, index) => index).reverse();
  const label = ({ kind, event }) => (kind && kind !== "CPU" ? `${kind}: ${event}` : event);
  const lines = () => series.map((line, index) => ({ label: label(line), colour: colour(paints[index]) }));
  return {
    data: [t, ...order.map((index) => sums[index])],
    points: false,
    options: () => ({
      series: order.map((index) => ({ stroke: colour("page"), width: 0.5, fill: colour(paints[index]) })),
      scales: { x: timeScale(runs), y: fromZero },
      axes: [secondsAxis(), axis(tick)],
      hooks: { draw: [drawEvents(runs[at].events)] },
    }),
    at(index) {
      const rows = series.map((line, which) => ({ label: label(line), value: digits(line.backends[index], 2), colour: colour(paints[which]), seen: line.backends[index] > 0 }));
      return { title: moment(t[index]), rows: [...rows.filter((row) => row.seen), ...eventsAt(runs[at].events, t[index])] };
    },
    columns: ["time", ...series.map(label)],
    row: (index) => [moment(t[index]), ...series.map((line) => digits(line.backends[index], 2))],
    legend: legendOf(lines),
  };
};

// The heat map: cells of a column of time and a row of latency.
const heat = (runs, at) => {
  const { start, end, edges, cells, max } = runs[at].heat;
  const middles = start.map((from, index) => (from + end[index]) / 2);
  const [bottom, top] = [edges[0], edges[edges.length - 1]];
  const paint = (count, ramp) => ramp[Math.min(ramp.length - 1, Math.floor((Math.log1p(count) / Math.log1p(max)) * ramp.length))];
  const drawCells = (u) => {
    const ramp = colour("heat").split(" ");
    const { left, top: upper, width, height } = u.bbox;
    const context = u.ctx;
    context.save();
    context.beginPath();
    context.rect(left, upper, width, height);
    context.clip();
    const rows = edges.map((edge) => Math.round(u.valToPos(edge, "y", true)));
    cells.forEach((column, index) => {
      const from = Math.round(u.valToPos(start[index], "x", true));
      const to = Math.max(Math.round(u.valToPos(end[index], "x", true)), from + 1);
      for (let cell = 0; cell < column.length; cell += 2) {
        const row = column[cell];
        context.fillStyle = paint(column[cell + 1], ramp);
        context.fillRect(from, rows[row + 1], to - from, rows[row] - rows[row + 1]);
      }
    });
    context.restore();
  };
  const countsOf = (index) => new Map(cells[index].flatMap((row, cell, all) => (cell % 2 ? [] : [[row, all[cell + 1]]])));
  const sumOf = (index) => cells[index].reduce((sum, count, cell) => (cell % 2 ? sum + count : sum), 0);
  return {
    data: [middles, middles.map(() => null)],
    points: false,
    vertical: true,
    options: () => ({
      series: [{}],
      scales: { x: timeScale(runs), y: { distr: 3, range: () => [bottom, top] } },
      axes: [secondsAxis(), latencyAxis()],
      hooks: { drawClear: [], draw: [drawCells] },
    }),
    at(index, u) {
      const us = u.posToVal(u.cursor.top, "y");
      const row = edges.findIndex((edge, which) => edge <= us && us < edges[which + 1]);
      const count = countsOf(index).get(row) ?? 0;
      const rows = [{ label: `${latency(edges[row] ?? bottom)} to ${latency(edges[row + 1] ?? top)}`, value: digits(count, 9) }];
      rows.push({ label: "of the transactions then", value: percent(count / sumOf(index)) });
      return { title: `${moment(start[index])} to ${moment(end[index])}`, rows };
    },
    columns: ["time", "transactions", "most of them took"],
    row(index) {
      const [most] = [...countsOf(index)].sort((a, b) => b[1] - a[1]);
      return [moment(start[index]), digits(sumOf(index), 9), most ? `${latency(edges[most[0]])} to ${latency(edges[most[0] + 1])}` : "—"];
    },
  };
};

const KINDS = { throughput, "percentiles-over-time": percentilesOverTime, percentiles, waits, heat, wal, host };
