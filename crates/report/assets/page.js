// Sets the page going: the theme, and a chart in each place that waits for one.

const data = JSON.parse(document.getElementById("data").textContent);
document.body.append(tip, said);

const charts = [...document.querySelectorAll("figure[data-chart]")].map((figure) => {
  const { chart, run } = figure.dataset;
  return new Chart(figure, KINDS[chart](data.runs ?? data.panels, run === "" ? undefined : Number(run)));
});
const redraw = () => {
  tip.hidden = true;
  charts.forEach((chart) => chart.draw());
};

// Where pages may keep nothing, the choice lasts as long as the page.
const store = {
  get: () => { try { return localStorage.getItem("pgmeter-theme"); } catch { return null; } },
  set: (theme) => { try { localStorage.setItem("pgmeter-theme", theme); } catch { /* it is not kept */ } },
};
const THEMES = ["system", "light", "dark"];
const button = document.getElementById("theme");
let theme = THEMES.includes(store.get()) ? store.get() : "system";
const wear = (name) => {
  if (name === "system") delete root.dataset.theme;
  else root.dataset.theme = name;
  button.textContent = `Theme: ${name}`;
  redraw();
};
button.hidden = false;
button.addEventListener("click", () => {
  theme = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length];
  store.set(theme);
  wear(theme);
});
if (theme !== "system") wear(theme);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
addEventListener("scroll", () => (tip.hidden = true), { passive: true });

// Paper is light, and folded parts are unfolded on it.
addEventListener("beforeprint", () => wear("light"));
addEventListener("afterprint", () => wear(theme));

// A link to a folded part opens it.
const unfold = () => {
  const part = location.hash && document.getElementById(location.hash.slice(1));
  if (part instanceof HTMLDetailsElement) part.open = true;
};
addEventListener("hashchange", unfold);
unfold();
root.dataset.ready = "";
