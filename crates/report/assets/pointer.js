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
const UNITS = 1000;
const ZOOM_LEAST = 0.015;
const TIME_STEPS = [0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600];
const number = (value) => digits(value, 3);
const whole = (value) => digits(value, 1);
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
const place = (element, attributes) => Object.entries(attributes).forEach(([name, value]) => element.setAttribute(name, value));

const showTip = (title, rows) => {
  tip.replaceChildren(create("strong", "", title), ...rows.map(tipRow));
  tip.hidden = false;
  return tip.getBoundingClientRect();
};
const speak = (title, rows) => (said.textContent = `${title}: ${rows.map(({ label, value }) => `${label} ${value}`.trim()).join(", ")}`);

class Chart {
  constructor(figure) {
    this.figure = figure;
    this.values = JSON.parse(figure.querySelector("script").textContent);
    this.plot = figure.querySelector(".plot");
    this.area = this.plot.querySelector("svg.area");
    this.drawings = [...this.plot.querySelectorAll(":scope > svg")];
    this.height = Number(this.area.getAttribute("height"));
    this.isTime = this.values.x.quantity === "time";
    const { x, positions, heat } = this.values;
    this.lists = (positions ?? [heat.starts.map((start, at) => (start + heat.ends[at]) / 2)]).map((list) => ({ list, shares: list.map((value) => shareOf(x, value)) }));
    this.steps = this.union();
    this.index = -1;
    this.upward = 0.5;
    this.off = new Set();
    this.plot.tabIndex = 0;
    this.plot.setAttribute("aria-label", this.plot.getAttribute("aria-label") + " Arrow keys read out the values, + and − zoom; a table follows.");
    this.listen();
    this.prepareZoom();
    this.prepareLegend();
    const fold = create("details", "table");
    fold.append(create("summary", "", "As a table"), create("div", "scroll"));
    fold.addEventListener("toggle", () => this.table(fold.lastChild));
    figure.append(fold);
  }

  listen() {
    const on = (name, act) => this.plot.addEventListener(name, act);
    on("pointerdown", (event) => this.press(event));
    on("pointermove", (event) => this.point(event));
    on("pointerup", (event) => this.release(event));
    on("pointercancel", () => this.forget());
    // A finger that is lifted leaves the values in sight.
    on("pointerleave", (event) => event.pointerType === "touch" || this.drag || this.forget());
    on("blur", () => this.forget());
    on("keydown", (event) => this.key(event));
    on("dblclick", () => this.zoom());
  }

  // The positions of all series; those that lie as good as together are one.
  union() {
    const gaps = this.lists.flatMap(({ shares }) => shares.slice(1).map((share, at) => share - shares[at])).filter((gap) => gap > 0);
    const isEach = this.lists.length === 1 || this.values.series?.some((each) => each.scattered);
    const apart = isEach ? 1e-9 : 0.3 * gaps.reduce((least, gap) => Math.min(least, gap), 1);
    const all = this.lists.flatMap(({ list, shares }) => list.map((value, at) => ({ value, share: shares[at] }))).sort((a, b) => a.share - b.share);
    return all.filter(({ share }, at) => at === 0 || share - all[at - 1].share > apart);
  }

  nearest(shares, share) {
    return shares.reduce((best, each, at) => (Math.abs(each - share) < Math.abs(shares[best] - share) ? at : best), 0);
  }

  // The figure of a series near a position; nothing where it has no point there.
  near(series, share) {
    const { list, shares } = this.lists[series.positions];
    const at = this.nearest(shares, share);
    const apart = Math.abs(shares[at] - share) > (series.scattered ? 1e-9 : 1 / within(list.length, 2, 60));
    return apart || series.values[at] == null ? undefined : at;
  }

  // Points of a series that lie at one position.
  together({ positions, values }, at) {
    const { shares } = this.lists[positions];
    return shares.flatMap((share, other) => (Math.abs(share - shares[at]) <= 1e-9 && values[other] != null ? [other] : []));
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
    return `${x.name} ${told(x, this.steps[index].value)}`.trim();
  }

  rows(index) {
    const { y, heat, series = [], stacked, bands = [] } = this.values;
    const { value, share } = this.steps[index];
    const events = bands
      .filter((band) => band.start <= value && (band.end == null || value <= band.end))
      .map((band) => ({ label: band.kind, value: band.detail, colour: band.colour }));
    if (heat) return [...this.cell(index, valueAt(y, this.upward)), ...events];
    const seen = series
      .map((each, number) => ({ each, number, at: this.near(each, share) }))
      .filter(({ each, number, at }) => at !== undefined && !this.off.has(number) && !(stacked && each.values[at] === 0));
    const told = ({ each, at }) => this.together(each, at).map((one) => ({ label: each.label || y.name, value: this.written(each, one), colour: each.colour }));
    return [...seen.flatMap(told), ...events];
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
      { label: `${told(y, edges[row])} to ${told(y, edges[row + 1])}`, value: `${whole(count)} of ${whole(all)}` },
      { label: "share of the transactions then", value: all ? percent(count / all) : "—" },
    ];
  }

  shareAt(event) {
    const box = this.area.getBoundingClientRect();
    const [from, to] = this.window;
    return within(from + ((event.clientX - box.left) / box.width) * (to - from), from, to);
  }

  point(event) {
    const box = this.area.getBoundingClientRect();
    const share = this.shareAt(event);
    this.upward = within(1 - (event.clientY - box.top) / this.height, 0, 1);
    if (this.drag !== undefined) this.select(share);
    this.show(this.nearest(this.steps.map((step) => step.share), share));
  }

  press(event) {
    if (event.pointerType === "mouse" && event.button === 0) {
      this.drag = this.shareAt(event);
      this.plot.setPointerCapture(event.pointerId);
    }
    this.point(event);
  }

  release(event) {
    const [from, to] = [this.drag, this.shareAt(event)].sort((a, b) => a - b);
    const width = this.window[1] - this.window[0];
    const isDrag = this.drag !== undefined && to - from > ZOOM_LEAST * width;
    this.drag = undefined;
    this.select();
    if (isDrag) this.zoom([from, to]);
  }

  // The part that is being chosen.
  select(share) {
    this.area.querySelector(".chosen")?.remove();
    if (share === undefined) return;
    const [from, to] = [this.drag, share].sort((a, b) => a - b).map((each) => this.across(each) * 100);
    place(drawn(this.area, "rect", "chosen"), { x: `${from}%`, width: `${to - from}%`, y: 0, height: this.height });
  }

  prepareZoom() {
    this.window = [0, 1];
    this.views = this.drawings.map(({ firstElementChild }) => ({ inner: firstElementChild, box: firstElementChild.getAttribute("viewBox").split(" ") }));
    this.fixed = this.drawings.flatMap((drawing) => [...drawing.querySelectorAll("[x$='%']")]).map((element) => ({ element, share: parseFloat(element.getAttribute("x")) / 100 }));
    this.back = create("button", "back", "Whole axis");
    this.back.type = "button";
    this.back.hidden = true;
    this.back.addEventListener("click", () => this.zoom());
    this.figure.querySelector("figcaption").append(this.back);
  }

  // Charts over time are zoomed together, by time; without a window, back to the whole axis.
  zoom(window = [0, 1]) {
    const ends = window.map((share) => valueAt(this.values.x, share));
    const isWhole = window[0] <= 0 && window[1] >= 1;
    const others = this.isTime ? charts.filter((chart) => chart.isTime) : [this];
    others.forEach((chart) => chart.look(isWhole ? [0, 1] : ends.map((value) => within(shareOf(chart.values.x, value), 0, 1)), isWhole));
  }

  look([from, to], isWhole) {
    if (!(to > from)) return;
    this.window = [from, to];
    this.back.hidden = isWhole;
    this.forget();
    this.views.forEach(({ inner, box }) => inner.setAttribute("viewBox", [from * UNITS, box[1], (to - from) * UNITS, box[3]].join(" ")));
    const isTick = (element) => this.isTime && element.getAttribute("text-anchor") === "middle" && Number(element.getAttribute("y")) > this.height;
    this.fixed.forEach(({ element, share }) => {
      element.setAttribute("x", `${this.across(share) * 100}%`);
      const isName = element.getAttribute("text-anchor") === "end" && Number(element.getAttribute("y")) > this.height;
      if (isName) element.setAttribute("x", "100%");
      const isOutside = share < from - 1e-6 || share > to + 1e-6;
      element.classList.toggle("outside", !isWhole && !isName && (isTick(element) || isOutside));
    });
    this.area.querySelector(".upright").classList.toggle("outside", !isWhole && this.isTime);
    this.area.querySelectorAll(".zoomed").forEach((mark) => mark.remove());
    if (!isWhole && this.isTime) this.ticks();
  }

  ticks() {
    const [first, last] = this.window.map((share) => valueAt(this.values.x, share));
    const most = this.area.getBoundingClientRect().width < 500 ? 4 : 9;
    const step = TIME_STEPS.find((each) => each >= (last - first) / most) ?? last - first;
    for (let at = Math.ceil(first / step); at * step <= last; at += 1) {
      const x = `${this.across(shareOf(this.values.x, at * step)) * 100}%`;
      place(drawn(this.area, "line", "zoomed"), { x1: x, x2: x, y1: 0, y2: this.height });
      const text = drawn(this.area, "text", "zoomed");
      place(text, { x, y: this.height + 17, "text-anchor": "middle" });
      text.textContent = moment(at * step);
    }
  }

  // From a share of the axis to a share of what is in sight.
  across(share) {
    const [from, to] = this.window;
    return (share - from) / (to - from);
  }

  prepareLegend() {
    const items = [...this.figure.querySelectorAll(".legend [data-s]")];
    if (items.length < 2) return;
    items.forEach((item) => {
      const button = create("button", "item");
      button.type = "button";
      button.title = "Show or hide";
      button.setAttribute("aria-pressed", "true");
      button.append(...item.childNodes);
      button.addEventListener("click", () => this.toggle(Number(item.dataset.s), button));
      item.replaceWith(button);
    });
  }

  toggle(number, button) {
    const isOff = !this.off.has(number);
    this.off[isOff ? "add" : "delete"](number);
    button.setAttribute("aria-pressed", String(!isOff));
    this.area.querySelectorAll(`g[data-s="${number}"]`).forEach((part) => part.classList.toggle("outside", isOff));
    if (this.values.stacked) this.restack();
    this.figure.querySelector("details.table > .scroll").replaceChildren();
    this.figure.querySelector("details.table").open = false;
    this.forget();
  }

  // The layers that are left, one on the other; their names are where all layers have them.
  restack() {
    const { series, y } = this.values;
    const sums = [];
    let below;
    series.forEach((each, number) => {
      const parts = [...this.area.querySelectorAll(`g[data-s="${number}"]`)];
      parts.flatMap((part) => [...part.querySelectorAll("text")]).forEach((text) => text.classList.toggle("outside", this.off.size > 0));
      if (this.off.has(number)) return;
      const { shares } = this.lists[each.positions];
      const upper = shares.map((share, at) => {
        sums[at] = (sums[at] ?? 0) + (each.values[at] ?? 0);
        return [share * UNITS, this.height * (1 - within(shareOf(y, sums[at]), 0, 1))];
      });
      const lower = below ?? upper.map(([x]) => [x, this.height]);
      const line = (points) => points.map((point) => point.join(" ")).join(" ");
      const [area, edge] = parts.flatMap((part) => [...part.querySelectorAll("path")]);
      area?.setAttribute("d", `M${line(upper)} ${line([...lower].reverse())}Z`);
      edge?.setAttribute("d", `M${line(upper)}`);
      below = upper;
    });
  }

  show(index) {
    this.index = index;
    const { value, share } = this.steps[index];
    charts.forEach((chart) => chart.mark(chart === this || (this.isTime && chart.isTime) ? value : undefined, chart === this));
    const rows = this.rows(index);
    const { width, height } = showTip(this.title(index), rows);
    const box = this.area.getBoundingClientRect();
    const right = box.left + box.width * this.across(share) + 16;
    const places = [right, right - width - 32].filter((left) => left >= 8 && left + width <= innerWidth - 8);
    const left = places[0] ?? within(right - width / 2, 8, Math.max(8, innerWidth - width - 8));
    // Where there is no room beside the pointer, above or below the chart.
    const above = box.top - height - 8;
    const top = places.length ? box.top + this.height * (1 - this.upward) - height / 2 : above > 8 ? above : box.bottom + 28;
    tip.style.left = `${left}px`;
    tip.style.top = `${within(top, 8, Math.max(8, innerHeight - height - 8))}px`;
    return rows;
  }

  // The line at a value of the axis; charts that only follow another one's pointer have no dots.
  mark(value, hasDots) {
    this.area.querySelectorAll(".cursor").forEach((mark) => mark.remove());
    if (value === undefined) return;
    const share = shareOf(this.values.x, value);
    const across = this.across(share);
    if (!(across >= 0 && across <= 1)) return;
    place(drawn(this.area, "line", "cursor"), { x1: `${across * 100}%`, x2: `${across * 100}%`, y1: 0, y2: this.height });
    const { series = [], stacked, y } = this.values;
    if (!hasDots || stacked) return;
    series.forEach((each, number) => {
      const at = this.near(each, share);
      if (at === undefined || this.off.has(number)) return;
      const up = within(shareOf(y, each.values[at]), 0, 1);
      const cx = `${this.across(this.lists[each.positions].shares[at]) * 100}%`;
      place(drawn(this.area, "circle", "cursor"), { cx, cy: this.height * (1 - up), r: 3.5, fill: `var(--${each.colour})` });
    });
  }

  forget() {
    this.index = -1;
    this.drag = undefined;
    this.select();
    tip.hidden = true;
    charts.forEach((chart) => chart.mark());
  }

  key(event) {
    const [from, to] = this.window;
    const isInSight = ({ share }) => share >= from - 1e-9 && share <= to + 1e-9;
    const [first, last] = [this.steps.findIndex(isInSight), this.steps.findLastIndex(isInSight)];
    const step = event.shiftKey ? 10 : 1;
    const moves = { ArrowLeft: this.index < 0 ? last : this.index - step, ArrowRight: this.index < 0 ? first : this.index + step, Home: first, End: last };
    const upward = { ArrowUp: 0.04, ArrowDown: -0.04 }[event.key];
    const narrower = { "+": 0.5, "-": 2 }[event.key];
    if (event.key === "Escape") return this.index < 0 ? this.zoom() : this.forget();
    if (narrower) {
      const width = within((to - from) * narrower, 0.02, 1);
      const middle = within(this.steps[this.index]?.share ?? (from + to) / 2, width / 2, 1 - width / 2);
      return this.zoom([middle - width / 2, middle + width / 2]);
    }
    if (first < 0 || (!(event.key in moves) && !(upward && this.values.heat))) return;
    event.preventDefault();
    this.upward = within(this.upward + (upward ?? 0), 0, 1);
    const index = within(moves[event.key] ?? this.index, first, last);
    speak(this.title(index), this.show(index));
  }

  // Made when it is opened, since it repeats the values.
  table(where) {
    if (where.childElementCount) return;
    const { x, y, heat, series } = this.values;
    const table = create("table", "figures");
    const labels = heat ? ["transactions", "most of them took"] : this.visible().map((each) => each.label || y.name || "value");
    const head = table.createTHead().insertRow();
    [x.name || { time: "time", percentile: "percentile" }[x.quantity] || "", ...labels].forEach((label) => head.append(create("th", "", label)));
    const body = table.createTBody();
    const every = Math.ceil(this.steps.length / TABLE_ROWS);
    for (let index = 0; index < this.steps.length; index += every) {
      const line = body.insertRow();
      const position = told(x, heat ? heat.starts[index] : this.steps[index].value);
      line.append(create("th", "", position), ...this.cells(index).map((cell) => create("td", "", cell)));
    }
    where.append(table);
    if (every > 1) where.append(create("p", "how", `Every ${every}th point is listed; the record has all.`));
  }

  visible() {
    return this.values.series.filter((each, number) => !this.off.has(number));
  }

  cells(index) {
    const { y, heat } = this.values;
    if (!heat) {
      return this.visible().map((each) => {
        const at = this.near(each, this.steps[index].share);
        return at === undefined ? "—" : this.written(each, at);
      });
    }
    const counts = this.counts(index);
    const [most] = [...counts].sort((a, b) => b[1] - a[1]);
    const range = most ? `${told(y, heat.edges[most[0]])} to ${told(y, heat.edges[most[0] + 1])}` : "—";
    return [whole(counts.reduce((sum, [, count]) => sum + count, 0)), range];
  }
}

// Bars have their figures beside them; what their parts are is told at the pointer and by the keys.
class Bars {
  constructor(figure) {
    this.list = figure.querySelector(".bar-list");
    this.bars = [...this.list.querySelectorAll("li:not(.axis) .bar-row")];
    const { y, bars } = JSON.parse(figure.querySelector("script").textContent);
    Object.assign(this, { y, told: bars, index: -1 });
    this.list.tabIndex = 0;
    this.list.setAttribute("aria-label", `${figure.querySelector("h3").textContent}. Arrow keys read out the bars.`);
    this.bars.forEach((bar, index) => {
      bar.addEventListener("pointermove", () => this.show(index));
      bar.addEventListener("pointerdown", () => this.show(index));
    });
    this.list.addEventListener("pointerleave", (event) => event.pointerType === "touch" || this.forget());
    this.list.addEventListener("blur", () => this.forget());
    this.list.addEventListener("keydown", (event) => this.key(event));
  }

  rows(index) {
    const { parts, interval } = this.told[index];
    const whole = parts.map(([label, colour, value]) => ({ label, colour, value: told(this.y, value) }));
    return interval ? [...whole, { label: "95 % interval", value: `${told(this.y, interval[0])} … ${told(this.y, interval[1])}` }] : whole;
  }

  show(index) {
    this.index = index;
    this.bars.forEach((bar, at) => bar.classList.toggle("chosen", at === index));
    const rows = this.rows(index);
    const { height } = showTip(`${this.told[index].name} ${this.told[index].shown}`.trim(), rows);
    const box = this.bars[index].getBoundingClientRect();
    tip.style.left = `${within(box.left + box.width * 0.3, 8, Math.max(8, innerWidth - tip.offsetWidth - 8))}px`;
    tip.style.top = `${box.bottom + 6 + height < innerHeight ? box.bottom + 6 : Math.max(8, box.top - height - 6)}px`;
    return rows;
  }

  forget() {
    this.index = -1;
    tip.hidden = true;
    this.bars.forEach((bar) => bar.classList.remove("chosen"));
  }

  key(event) {
    const last = this.bars.length - 1;
    const moves = { ArrowDown: this.index + 1, ArrowUp: this.index < 0 ? last : this.index - 1, Home: 0, End: last };
    if (event.key === "Escape") return this.forget();
    if (!(event.key in moves)) return;
    event.preventDefault();
    const index = within(moves[event.key], 0, last);
    this.bars[index].scrollIntoView({ block: "nearest" });
    speak(`${this.told[index].name} ${this.told[index].shown}`.trim(), this.show(index));
  }
}

// Of charts that are alternatives, each lets the reader choose another one.
const offer = (figure) => {
  const others = [];
  for (let first = figure; first; first = first.dataset.first === undefined ? first.previousElementSibling : null) others.unshift(first);
  for (let next = figure.nextElementSibling; next?.dataset.choice && next.dataset.first === undefined; next = next.nextElementSibling) others.push(next);
  const label = create("label", "item", `${figure.dataset.of} `);
  const select = label.appendChild(create("select"));
  for (const { dataset } of others) select.add(new Option(dataset.choice, dataset.choice, false, dataset.choice === figure.dataset.choice));
  select.addEventListener("change", () => {
    others.forEach((other) => (other.hidden = other.dataset.choice !== select.value));
    select.value = figure.dataset.choice;
    others.find((other) => !other.hidden).querySelector("select").focus();
  });
  (figure.querySelector(".legend") ?? figure.querySelector("figcaption").appendChild(create("span", "legend"))).append(label);
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

const charts = [...document.querySelectorAll("figure.chart")].filter((figure) => figure.querySelector(".plot")).map((figure) => new Chart(figure));
document.querySelectorAll("figure.bars").forEach((figure) => figure.querySelector("script") && new Bars(figure));
document.querySelectorAll("figure[data-choice]").forEach(offer);
addEventListener("scroll", () => (tip.hidden = true), { passive: true });
// A finger elsewhere ends what one at a chart began.
addEventListener("pointerdown", (event) => event.target.closest?.(".plot, .bar-list") || (tip.hidden = true));
