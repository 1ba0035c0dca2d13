// How numbers are written; the same as in the report's text.
const TIE = "\u00a0";

// So many significant digits, within three after the point; thousands apart.
const digits = (value, significant) => {
  if (!Number.isFinite(value)) return "—";
  const exponent = value === 0 ? 0 : Math.floor(Math.log10(Math.abs(value)));
  const after = value === 0 ? 0 : Math.min(3, Math.max(0, significant - 1 - exponent));
  const [whole, fraction] = Math.abs(value).toFixed(after).split(".");
  const sign = value < 0 ? "−" : "";
  return sign + whole.replace(/\B(?=(\d{3})+$)/g, ",") + (fraction ? "." + fraction : "");
};

// A tick of an axis: no digits that say nothing.
const tick = (value) => digits(value, 3).replace(/(\.\d*?)0+$/, "$1").replace(/\.$/, "");

const scaled = (write) => (value, units) => {
  const [size, unit] = units.find(([least]) => Math.abs(value) >= least) ?? units[units.length - 1];
  return write(value / size) + TIE + unit;
};
const figure = scaled((value) => digits(value, 3));
const mark = scaled(tick);

const timeOf = (write) => (us) => {
  if (us == null) return "—";
  if (us >= 999500) return write(us / 1e6) + TIE + "s";
  if (us >= 999.5) return write(us / 1e3) + TIE + "ms";
  return write(us) + TIE + "µs";
};
const latency = timeOf((value) => digits(value, 3));
const latencyTick = timeOf(tick);

const BYTES = [[1e9, "GB"], [1e6, "MB"], [1e3, "kB"], [1, "B"]];
const bytes = (value) => (value == null ? "—" : figure(value, BYTES));
const bytesTick = (value) => (value === 0 ? "0" : mark(value, BYTES));

const rate = (value) => (value == null ? "—" : digits(value, 4));
const percent = (share) => (share == null ? "—" : digits(share * 100, 2) + TIE + "%");

// Seconds since measuring began: 42 s; from two minutes on 12:05.
const clock = (seconds) => {
  const whole = Math.round(Math.abs(seconds));
  const [hours, minutes] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60];
  const two = (number) => String(number).padStart(2, "0");
  const sign = seconds < 0 ? "−" : "";
  return sign + (hours > 0 ? `${hours}:${two(minutes)}:${two(whole % 60)}` : `${minutes}:${two(whole % 60)}`);
};
const LONG = 150;
const moment = (seconds) => (Math.abs(seconds) < LONG ? tick(seconds) + TIE + "s" : clock(seconds));

// 1 ÷ (1 − p) as a percentile: p99.9.
const percentile = (tail) => {
  const share = (1 - 1 / tail) * 100;
  return "p" + (share < 99 ? digits(share, 3) : String(Math.round(share * 1000) / 1000));
};
