// The theme, and folded parts that a link leads to or that are printed.

const root = document.documentElement;

// Where pages may keep nothing, the choice lasts as long as the page.
const store = {
  get: () => { try { return localStorage.getItem("pgmeter-theme"); } catch { return null; } },
  set: (theme) => { try { localStorage.setItem("pgmeter-theme", theme); } catch { /* it is not kept */ } },
};
const THEMES = ["system", "light", "dark"];
const button = document.getElementById("theme");
let theme = THEMES.includes(store.get()) ? store.get() : "system";
const apply = (name) => {
  if (name === "system") delete root.dataset.theme;
  else root.dataset.theme = name;
  button.textContent = `Theme: ${name}`;
};
button.hidden = false;
button.addEventListener("click", () => {
  theme = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length];
  store.set(theme);
  apply(theme);
});
if (theme !== "system") apply(theme);

// A link to a folded part opens it.
const unfold = () => {
  const part = location.hash && document.getElementById(location.hash.slice(1));
  if (part instanceof HTMLDetailsElement) part.open = true;
};
addEventListener("hashchange", unfold);
unfold();
// Paper cannot unfold; afterwards the page is as it was.
let unfolded = [];
addEventListener("beforeprint", () => {
  unfolded = [...document.querySelectorAll("details:not([open], .table)")];
  for (const part of unfolded) part.open = true;
});
addEventListener("afterprint", () => {
  for (const part of unfolded) part.open = false;
});
root.dataset.ready = "";
