// One chart: a uPlot in its figure, redrawn when the theme or the width changes, with values at the pointer, by the
// arrow keys, and as a table. What is drawn is decided in kinds.js.

const root = document.documentElement;
const colour = (name) => getComputedStyle(root).getPropertyValue("--" + name).trim();
const create = (tag, className, text) => {
  const element = document.createElement(tag);
  if (className) element.className = className;
  if (text !== undefined) element.textContent = text;
  return element;
};

const tip = create("div", "tip");
tip.hidden = true;
const said = create("p", "said");
said.setAttribute("aria-live", "polite");

const AXIS_WIDTH = 62;
const AXIS_WIDTH_NARROW = 50;
const TABLE_ROWS = 60;

const axis = (values, more = {}) => ({
  stroke: colour("quiet"),
  grid: { stroke: colour("line"), width: 1 },
  ticks: { show: false },
  font: `12px ${getComputedStyle(document.body).fontFamily}`,
  values: (_, splits) => splits.map((split) => (split == null ? "" : values(split, splits))),
  ...more,
});

// Bands behind the lines: checkpoints and the like.
const drawEvents = (events) => (u) => {
  if (!events.length) return;
  const { left, top, width, height } = u.bbox;
  const context = u.ctx;
  context.save();
  context.beginPath();
  context.rect(left, top, width, height);
  context.clip();
  for (const event of events) {
    const from = u.valToPos(event.start, "x", true);
    const to = event.end == null ? left + width : u.valToPos(event.end, "x", true);
    context.fillStyle = colour(event.kind.replace(" ", "-"));
    // Lock queues may come and go all the time: they are a strip at the top, and hide nothing.
    if (event.kind !== "lock queue") {
      context.globalAlpha = 0.17;
      context.fillRect(from, top, Math.max(to - from, 2 * devicePixelRatio), height);
    }
    context.globalAlpha = 1;
    context.fillRect(from, top, Math.max(to - from, 2 * devicePixelRatio), 4 * devicePixelRatio);
  }
  context.restore();
};

const eventsAt = (events, seconds) =>
  events
    .filter((event) => event.start <= seconds && (event.end == null || seconds <= event.end))
    .map((event) => ({ label: event.kind, value: event.detail, colour: colour(event.kind.replace(" ", "-")) }));

class Chart {
  // kind: {options(theme), data, at(index, u) → {title, rows}, columns, row(index), legend()}
  constructor(figure, kind) {
    this.figure = figure;
    this.kind = kind;
    this.plot = figure.querySelector(".plot");
    this.plot.addEventListener("pointerenter", () => (Chart.active = this));
    this.plot.addEventListener("pointerleave", () => this.forget());
    this.plot.addEventListener("focus", () => (Chart.active = this));
    this.plot.addEventListener("blur", () => this.forget());
    this.plot.addEventListener("keydown", (event) => this.key(event));
    figure.querySelector("details.table").addEventListener("toggle", () => this.table());
    new ResizeObserver(() => this.resize()).observe(this.plot);
    this.draw();
  }

  size() {
    const narrow = this.plot.clientWidth < 480;
    const height = this.figure.classList.contains("low") ? 120 : narrow ? 190 : 240;
    return { width: Math.max(this.plot.clientWidth, 200), height };
  }

  draw() {
    this.u?.destroy();
    const legend = this.figure.querySelector(".legend");
    legend.replaceChildren();
    const narrow = this.plot.clientWidth < 480;
    const { series, scales, axes, hooks = {}, time = true } = this.kind.options();
    const [x, y] = axes;
    const options = {
      ...this.size(),
      legend: { show: false },
      padding: [10, 24, 0, 0],
      cursor: {
        drag: { x: time, y: false },
        points: { show: this.kind.points ?? true, size: 6 },
        ...(time ? { sync: { key: "time", setSeries: false } } : {}),
      },
      scales,
      axes: [
        { ...x, size: 30, space: narrow ? 70 : 60 },
        { ...y, size: narrow ? AXIS_WIDTH_NARROW : AXIS_WIDTH },
      ],
      series: [{}, ...series.map((line) => ({ points: { show: this.kind.data[0].length < 2 }, ...line }))],
      hooks: { ...hooks, setCursor: [(u) => this.pointed(u)] },
    };
    this.u = new uPlot(options, this.kind.data, this.plot);
    this.kind.legend?.(legend, this);
  }

  resize() {
    const { width, height } = this.size();
    if (width !== this.u.width || height !== this.u.height) this.u.setSize({ width, height });
  }

  // A chart that only follows another one's pointer shows its line and no values.
  pointed(u) {
    if (Chart.active !== this || this.u !== u) return;
    const { idx, left, top } = u.cursor;
    if (idx == null || left < 0) return void (tip.hidden = true);
    const { title, rows } = this.kind.at(idx, u);
    tip.replaceChildren(create("strong", "", title), ...rows.map(tipRow));
    tip.hidden = false;
    const box = u.over.getBoundingClientRect();
    const { width, height } = tip.getBoundingClientRect();
    const right = box.left + left + 16;
    const beside = right + width < innerWidth - 8 ? right : Math.max(8, box.left + left - width - 16);
    tip.style.left = `${beside}px`;
    tip.style.top = `${Math.min(Math.max(8, box.top + top - height / 2), innerHeight - height - 8)}px`;
  }

  forget() {
    tip.hidden = true;
    if (Chart.active === this) Chart.active = undefined;
  }

  key(event) {
    const last = this.kind.data[0].length - 1;
    const here = this.u.cursor.left >= 0 ? this.u.cursor.idx ?? -1 : -1;
    const step = event.shiftKey ? 10 : 1;
    const moves = { ArrowLeft: here < 0 ? last : here - step, ArrowRight: here + step, Home: 0, End: last };
    const vertical = { ArrowUp: -8, ArrowDown: 8 }[event.key];
    if (event.key === "Escape") return this.forget();
    if (!(event.key in moves) && !(vertical && this.kind.vertical)) return;
    event.preventDefault();
    Chart.active = this;
    const index = Math.min(last, Math.max(0, moves[event.key] ?? here));
    const middle = this.u.over.clientHeight / 2;
    const top = this.u.cursor.top >= 0 && here >= 0 ? this.u.cursor.top : middle;
    const within = Math.min(this.u.over.clientHeight - 1, Math.max(0, top + (vertical ?? 0)));
    this.u.setCursor({ left: this.u.valToPos(this.kind.data[0][index], "x"), top: within });
    const { title, rows } = this.kind.at(index, this.u);
    said.textContent = `${title}: ${rows.map(({ label, value }) => `${label} ${value}`).join(", ")}`;
  }

  // Made when somebody opens it, since it says the same again.
  table() {
    const place = this.figure.querySelector("details.table .scroll");
    if (place.childElementCount) return;
    const { columns, data } = this.kind;
    const table = create("table", "figures");
    const head = table.createTHead().insertRow();
    columns.forEach((column) => head.append(create("th", "", column)));
    const body = table.createTBody();
    const every = Math.ceil(data[0].length / TABLE_ROWS);
    for (let index = 0; index < data[0].length; index += every) {
      const line = body.insertRow();
      this.kind.row(index).forEach((cell, at) => line.append(create(at === 0 ? "th" : "td", "", cell)));
    }
    place.append(table);
    if (every > 1) place.append(create("p", "how", `Every ${every}th point is listed; the record has all.`));
  }
}

const swatch = (name, dashed) => {
  const mark = create("i", dashed ? "swatch dashed" : "swatch");
  mark.style.setProperty("--c", name);
  return mark;
};

const tipRow = ({ label, value, colour }) => {
  const line = create("div");
  if (colour) line.append(swatch(colour));
  line.append(create("span", "", label), create("b", "", value));
  return line;
};

const legendOf = (lines) => (place) =>
  place.append(
    ...lines().map(({ label, colour, dashed }) => {
      const item = create("span", "item");
      item.append(swatch(colour, dashed), label);
      return item;
    }),
  );
