// The values of charts at the pointer, by the arrow keys and as tables, from the numbers beside each chart. The charts
// themselves are drawings of the page.

const create = (tag, className, text) => {
  const element = document.createElement(tag);
  if (className) element.className = className;
  if (text !== undefined) element.textContent = text;
  return element;
};
const drawn = (parent, tag, className) => {
  const element = parent.appendChild(document.createElementNS("http://www.w3.org/2000/svg", tag));
  element.setAttribute("class", className);
  return element;
};

const tip = create("div", "tip");
tip.hidden = true;
const said = create("p", "said");
said.setAttribute("aria-live", "polite");
document.body.append(tip, said);

const TABLE_ROWS = 60;
const number = (value) => digits(value, 3);
const WRITERS = { rate, latency, share: percent, bytes, number, time: moment, percentile };
const told = (axis, value) => {
  if (value == null) return "—";
  const mark = axis.marks?.find(([position]) => position === value);
  return mark ? mark[1] : WRITERS[axis.quantity](value) + axis.suffix;
};

// Where a value lies between the ends of its axis, from 0 to 1, and back.
const shareOf = ({ low, high, log }, value) =>
  log ? Math.log(value / low) / Math.log(high / low) : (value - low) / (high - low);
const valueAt = ({ low, high, log }, share) => (log ? low * (high / low) ** share : low + (high - low) * share);
const within = (value, least, most) => Math.min(most, Math.max(least, value));

class Chart {
  constructor(figure) {
    this.figure = figure;
    this.values = JSON.parse(figure.querySelector("script").textContent);
    this.plot = figure.querySelector(".plot");
    this.area = this.plot.querySelector("svg");
    this.height = Number(this.area.getAttribute("height"));
    const { x, positions, heat } = this.values;
    this.lists = (positions ?? [heat.starts.map((start, at) => (start + heat.ends[at]) / 2)]).map((list) => ({ list, shares: list.map((value) => shareOf(x, value)) }));
    this.longest = this.lists.reduce((most, each) => (each.list.length > most.list.length ? each : most));
    this.index = -1;
    this.upward = 0.5;
    this.plot.tabIndex = 0;
    this.plot.setAttribute("aria-label", this.plot.getAttribute("aria-label") + " Arrow keys read out the values; a table follows.");
    this.plot.addEventListener("pointermove", (event) => this.point(event));
    this.plot.addEventListener("pointerleave", () => this.forget());
    this.plot.addEventListener("blur", () => this.forget());
    this.plot.addEventListener("keydown", (event) => this.key(event));
    const fold = create("details", "table");
    fold.append(create("summary", "", "As a table"), create("div", "scroll"));
    fold.addEventListener("toggle", () => this.table(fold.lastChild));
    figure.append(fold);
  }

  nearest({ shares }, share) {
    return shares.reduce((best, each, at) => (Math.abs(each - share) < Math.abs(shares[best] - share) ? at : best), 0);
  }

  // The figure of a series near a position; nothing where it has no point there.
  near(series, share) {
    const list = this.lists[series.positions];
    const at = this.nearest(list, share);
    const apart = Math.abs(list.shares[at] - share) > 1 / within(list.list.length, 2, 60);
    return apart || series.values[at] == null ? undefined : at;
  }

  written(series, at) {
    const { y } = this.values;
    const interval = series.intervals?.[at];
    const sure = interval ? ` (${told(y, interval[0])} … ${told(y, interval[1])})` : "";
    const signs = series.signs?.[at] ? ` ${series.signs[at]}` : "";
    return told(y, series.values[at]) + sure + signs;
  }

  title(index) {
    const { x, heat } = this.values;
    if (heat) return `${told(x, heat.starts[index])} to ${told(x, heat.ends[index])}`;
    return `${x.name} ${told(x, this.longest.list[index])}`.trim();
  }

  rows(index) {
    const { x, y, heat, series = [], stacked, bands = [] } = this.values;
    const [position, share] = [this.longest.list[index], this.longest.shares[index]];
    const events = bands
      .filter((band) => band.start <= position && (band.end == null || position <= band.end))
      .map((band) => ({ label: band.kind, value: band.detail, colour: band.colour }));
    if (heat) return [...this.cell(index, valueAt(y, this.upward)), ...events];
    const seen = series
      .map((each) => ({ each, at: this.near(each, share) }))
      .filter(({ each, at }) => at !== undefined && !(stacked && each.values[at] === 0));
    return [...seen.map(({ each, at }) => ({ label: each.label || y.name, value: this.written(each, at), colour: each.colour })), ...events];
  }

  counts(index) {
    const cells = this.values.heat.cells[index];
    return cells.flatMap((row, at) => (at % 2 ? [] : [[row, cells[at + 1]]]));
  }

  cell(index, value) {
    const { y, heat } = this.values;
    const { edges } = heat;
    const row = within(edges.findIndex((edge) => edge > value) - 1, 0, edges.length - 2);
    const counts = this.counts(index);
    const all = counts.reduce((sum, [, count]) => sum + count, 0);
    const count = counts.find(([which]) => which === row)?.[1] ?? 0;
    return [
      { label: `${told(y, edges[row])} to ${told(y, edges[row + 1])}`, value: digits(count, 9) },
      { label: "of the transactions then", value: all ? percent(count / all) : "—" },
    ];
  }

  point(event) {
    const box = this.area.getBoundingClientRect();
    this.upward = within(1 - (event.clientY - box.top) / this.height, 0, 1);
    this.show(this.nearest(this.longest, (event.clientX - box.left) / box.width));
  }

  show(index) {
    this.index = index;
    const share = this.longest.shares[index];
    const isTime = this.values.x.quantity === "time";
    charts.forEach((chart) => chart.mark(chart === this || (isTime && chart.values.x.quantity === "time") ? share : undefined, chart === this));
    const rows = this.rows(index);
    tip.replaceChildren(create("strong", "", this.title(index)), ...rows.map(tipRow));
    tip.hidden = false;
    const box = this.area.getBoundingClientRect();
    const { width, height } = tip.getBoundingClientRect();
    const right = box.left + box.width * share + 16;
    const places = [right, right - width - 32].filter((left) => left >= 8 && left + width <= innerWidth - 8);
    const left = places[0] ?? within(right - width / 2, 8, Math.max(8, innerWidth - width - 8));
    // Where there is no room beside the pointer, above or below the chart.
    const above = box.top - height - 8;
    const top = places.length ? box.top + this.height * (1 - this.upward) - height / 2 : above > 8 ? above : box.bottom + 28;
    tip.style.left = `${left}px`;
    tip.style.top = `${within(top, 8, Math.max(8, innerHeight - height - 8))}px`;
    return rows;
  }

  // The line at the pointer; charts that only follow another one's pointer have no dots.
  mark(share, hasDots) {
    this.area.querySelectorAll(".cursor").forEach((mark) => mark.remove());
    if (share === undefined || share < 0 || share > 1) return;
    const line = drawn(this.area, "line", "cursor");
    for (const [name, value] of Object.entries({ x1: `${share * 100}%`, x2: `${share * 100}%`, y1: 0, y2: this.height })) line.setAttribute(name, value);
    const { series = [], stacked, y } = this.values;
    if (!hasDots || stacked) return;
    for (const each of series) {
      const at = this.near(each, share);
      if (at === undefined) continue;
      const dot = drawn(this.area, "circle", "cursor");
      const up = within(shareOf(y, each.values[at]), 0, 1);
      const places = { cx: `${this.lists[each.positions].shares[at] * 100}%`, cy: this.height * (1 - up), r: 3.5, fill: `var(--${each.colour})` };
      for (const [name, value] of Object.entries(places)) dot.setAttribute(name, value);
    }
  }

  forget() {
    this.index = -1;
    tip.hidden = true;
    charts.forEach((chart) => chart.mark());
  }

  key(event) {
    const last = this.longest.list.length - 1;
    const step = event.shiftKey ? 10 : 1;
    const moves = { ArrowLeft: this.index < 0 ? last : this.index - step, ArrowRight: this.index + step, Home: 0, End: last };
    const upward = { ArrowUp: 0.04, ArrowDown: -0.04 }[event.key];
    if (event.key === "Escape") return this.forget();
    if (!(event.key in moves) && !(upward && this.values.heat)) return;
    event.preventDefault();
    this.upward = within(this.upward + (upward ?? 0), 0, 1);
    const index = within(moves[event.key] ?? this.index, 0, last);
    const rows = this.show(index);
    said.textContent = `${this.title(index)}: ${rows.map(({ label, value }) => `${label} ${value}`).join(", ")}`;
  }

  // Made when it is opened, since it repeats the values.
  table(place) {
    if (place.childElementCount) return;
    const { x, y, heat, series } = this.values;
    const table = create("table", "figures");
    const labels = heat ? ["transactions", "most of them took"] : series.map((each) => each.label || y.name || "value");
    const head = table.createTHead().insertRow();
    [x.name || { time: "time", percentile: "percentile" }[x.quantity] || "", ...labels].forEach((label) => head.append(create("th", "", label)));
    const body = table.createTBody();
    const every = Math.ceil(this.longest.list.length / TABLE_ROWS);
    for (let index = 0; index < this.longest.list.length; index += every) {
      const line = body.insertRow();
      const position = told(x, heat ? heat.starts[index] : this.longest.list[index]);
      line.append(create("th", "", position), ...this.cells(index).map((cell) => create("td", "", cell)));
    }
    place.append(table);
    if (every > 1) place.append(create("p", "how", `Every ${every}th point is listed; the record has all.`));
  }

  cells(index) {
    const { y, heat, series } = this.values;
    if (!heat) {
      const at = series.map((each) => this.near(each, this.longest.shares[index]));
      return series.map((each, which) => (at[which] === undefined ? "—" : this.written(each, at[which])));
    }
    const counts = this.counts(index);
    const [most] = [...counts].sort((a, b) => b[1] - a[1]);
    const range = most ? `${told(y, heat.edges[most[0]])} to ${told(y, heat.edges[most[0] + 1])}` : "—";
    return [digits(counts.reduce((sum, [, count]) => sum + count, 0), 9), range];
  }
}

// Of charts that are alternatives, each lets the reader choose another one.
const offer = (figure) => {
  const others = [];
  for (let first = figure; first; first = first.dataset.first === undefined ? first.previousElementSibling : null) others.unshift(first);
  for (let next = figure.nextElementSibling; next?.dataset.choice && next.dataset.first === undefined; next = next.nextElementSibling) others.push(next);
  const label = create("label", "item", "percentile ");
  const select = label.appendChild(create("select"));
  for (const { dataset } of others) select.add(new Option(dataset.choice, dataset.choice, false, dataset.choice === figure.dataset.choice));
  select.addEventListener("change", () => {
    others.forEach((other) => (other.hidden = other.dataset.choice !== select.value));
    select.value = figure.dataset.choice;
    others.find((other) => !other.hidden).querySelector("select").focus();
  });
  figure.querySelector(".legend").append(label);
};

const tipRow = ({ label, value, colour }) => {
  const line = create("div");
  if (colour) {
    const swatch = line.appendChild(create("i", "swatch"));
    swatch.style.setProperty("--c", `var(--${colour})`);
  }
  line.append(create("span", "", label), create("b", "", value));
  return line;
};

const charts = [...document.querySelectorAll("figure.chart")].map((figure) => new Chart(figure));
document.querySelectorAll("figure[data-choice]").forEach(offer);
addEventListener("scroll", () => (tip.hidden = true), { passive: true });
