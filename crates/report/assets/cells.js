// The charts of an experiment along numbers: a line through the cells of each series, with the intervals of their
// figures, and the best of each line marked.

const WRITERS = {
  rate: [rate, tick],
  latency: [latency, latencyTick],
  share: [percent, percent],
  bytes: [bytes, bytesTick],
};
const SIGNS = { "▲": [[0, -1], [1, 0.8], [-1, 0.8]], "▼": [[0, 1], [1, -0.8], [-1, -0.8]], "◆": [[0, -1], [1, 0], [0, 1], [-1, 0]] };

const drawCells = (lines) => (u) => {
  const context = u.ctx;
  const pixel = devicePixelRatio;
  const { left, top, width, height } = u.bbox;
  const inside = (y) => Math.min(top + height, Math.max(top, y));
  context.save();
  context.lineWidth = 1.3 * pixel;
  for (const { colour: paint, values, low, high, marks } of lines) {
    const ink = paint();
    [context.strokeStyle, context.fillStyle] = [ink, ink];
    u.data[0].forEach((position, at) => {
      if (values[at] == null) return;
      const x = u.valToPos(position, "x", true);
      if (low[at] != null && high[at] != null) {
        const [from, to] = [high[at], low[at]].map((value) => inside(u.valToPos(Math.max(value, Number.MIN_VALUE), "y", true)));
        context.beginPath();
        context.moveTo(x, from);
        context.lineTo(x, to);
        for (const y of [from, to]) {
          context.moveTo(x - 3.5 * pixel, y);
          context.lineTo(x + 3.5 * pixel, y);
        }
        context.stroke();
      }
      const upper = inside(u.valToPos(high[at] ?? values[at], "y", true));
      const room = upper - top > 18 * pixel;
      const lower = inside(u.valToPos(low[at] ?? values[at], "y", true));
      const y = room ? upper - 9 * pixel : lower + 9 * pixel;
      [...marks[at]].forEach((sign, which, all) => {
        const middle = Math.min(left + width - 6 * pixel, Math.max(left + 6 * pixel, x + (which - (all.length - 1) / 2) * 11 * pixel));
        context.beginPath();
        for (const [across, down] of SIGNS[sign]) context.lineTo(middle + across * 4.6 * pixel, y + down * 4.6 * pixel);
        context.closePath();
        context.fill();
      });
    });
  }
  context.restore();
};

// Labels that would touch the one before are left out.
const apart = (labels) => (u, splits) => {
  let taken = -Infinity;
  return splits.map((split, at) => {
    const half = (labels[at].length * 7) / 2;
    const middle = u.valToPos(split, "x");
    if (middle - half < taken) return null;
    taken = middle + half + 8;
    return split;
  });
};

KINDS.cells = (panels, at) => {
  const { x, y, lines: given } = panels[at];
  const [write, writeTick] = WRITERS[y.quantity];
  const lines = given.map((line) => ({ ...line, label: line.label || y.name, colour: () => runColour(line.colour) }));
  const ends = (of) => lines.flatMap((line) => of(line)).filter((value) => value > 0);
  const highest = Math.max(0, ...ends(({ values, high }) => [...values, ...high]));
  const lowest = Math.min(highest, ...ends(({ values, low }) => [...values, ...low]));
  const [first, last] = [x.positions[0], x.positions[x.positions.length - 1]];
  const beside = x.log ? (last / first) ** 0.03 || 1.1 : (last - first) * 0.03 || 1;
  const name = (position) => x.labels[x.positions.indexOf(position)] ?? "";
  const told = ({ values, low, high, marks }, index) => {
    if (values[index] == null) return "—";
    const sure = low[index] == null ? "" : ` (${write(low[index])} … ${write(high[index])})`;
    return write(values[index]) + sure + (marks[index] ? ` ${marks[index]}` : "");
  };
  return {
    data: [x.positions, ...lines.map((line) => line.values)],
    options: () => ({
      time: false,
      series: lines.map((line) => ({
        stroke: line.colour(),
        width: 1.8,
        spanGaps: true,
        points: { show: true, size: 7, fill: line.colour(), stroke: line.colour() },
      })),
      scales: {
        x: { time: false, distr: x.log ? 3 : 1, range: () => (x.log ? [first / beside, last * beside] : [first - beside, last + beside]) },
        y: y.log ? { distr: 3, range: () => [lowest / 1.2, highest * 1.25] } : { range: () => [0, highest * 1.12 || 1] },
      },
      axes: [
        axis(name, { splits: () => x.positions, filter: apart(x.labels) }),
        axis(writeTick, y.log ? { splits: logSplits, filter: (_, splits) => splits } : {}),
      ],
      hooks: { draw: [drawCells(lines)] },
    }),
    at: (index) => ({
      title: `${x.name} ${x.labels[index]}`,
      rows: lines.filter((line) => line.values[index] != null).map((line) => ({ label: line.label, value: told(line, index), colour: line.colour() })),
    }),
    columns: [x.name, ...lines.map((line) => line.label)],
    row: (index) => [x.labels[index], ...lines.map((line) => told(line, index))],
    legend: given.length > 1 ? legendOf(() => lines.map((line) => ({ ...line, colour: line.colour() }))) : undefined,
  };
};
