// What is wrong with a page, as sentences: with its layout, or with the contrast of its words. Run in the page by the
// tests, which put "layout" or "contrast" in the place of WHAT.
(() => {
  const what = "WHAT";
  const found = [];
  const shown = (element) => element.checkVisibility({ visibilityProperty: true }) && !element.closest(".said, .meaning, .skip, noscript");
  const width = document.documentElement.clientWidth;
  const words = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const element = node.parentElement;
    if (!node.data.trim() || /^(SCRIPT|STYLE|NOSCRIPT|TITLE|OPTION)$/i.test(element.tagName) || !shown(element)) continue;
    words.push({ node, element });
  }
  if (what === "contrast") return contrast();
  if (document.documentElement.scrollWidth > width) {
    const wide = [...document.querySelectorAll("main *, header *")]
      .filter((element) => shown(element) && element.getBoundingClientRect().right > width + 0.5 && !element.closest(".scroll, .sideways, pre, svg"))
      .slice(0, 3).map((element) => `${element.tagName.toLowerCase()}.${element.getAttribute("class") ?? ""} “${element.textContent.slice(0, 30)}”`);
    found.push(`scrolls sideways: ${document.documentElement.scrollWidth} px in ${width} (${wide.join("; ")})`);
  }

  // A chart has marks besides its grid and its words.
  for (const figure of document.querySelectorAll("figure.chart:not([hidden])")) {
    if (!shown(figure)) continue;
    const marks = [...figure.querySelectorAll(".area > svg > :not(:first-child), .area .mark")];
    const drawn = marks.filter((mark) => { const box = mark.getBoundingClientRect(); return box.width + box.height > 2; });
    if (drawn.length === 0) found.push(`no marks in the chart “${figure.querySelector("h3").textContent}”`);
  }

  // Words neither touch each other nor leave the window.
  const boxes = [];
  for (const { node, element } of words) {
    if (element.closest("pre, nav, .scroll, .sideways, thead")) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    for (const box of range.getClientRects()) {
      if (box.width < 1 || box.height < 1) continue;
      // Lines of a font are higher than its letters.
      const inset = box.height * 0.2;
      boxes.push({ element, text: node.data.trim().slice(0, 40), left: box.left, right: box.right, top: box.top + inset, bottom: box.bottom - inset });
      if (box.left < -0.5 || box.right > width + 0.5) found.push(`leaves the window: “${node.data.trim().slice(0, 40)}”`);
    }
  }
  boxes.sort((a, b) => a.top - b.top);
  boxes.forEach((one, at) => {
    for (let next = at + 1; next < boxes.length && boxes[next].top < one.bottom; next += 1) {
      const other = boxes[next];
      if (one.element !== other.element && one.left + 0.5 < other.right && other.left + 0.5 < one.right) {
        found.push(`touches: “${one.text}” and “${other.text}”`);
      }
    }
  });

  return [...new Set(found)].slice(0, 12);

  // WCAG 2.2, 1.4.3: 4.5, or 3 for large text.
  function contrast() {
    const canvas = document.createElement("canvas");
    canvas.width = canvas.height = 1;
    const context = canvas.getContext("2d", { willReadFrequently: true });
    const known = new Map();
    const colour = (text) => {
      if (!known.has(text)) {
        context.clearRect(0, 0, 1, 1);
        context.fillStyle = text;
        context.fillRect(0, 0, 1, 1);
        const [r, g, b, a] = context.getImageData(0, 0, 1, 1).data;
        known.set(text, { rgb: [r, g, b], a: a / 255 });
      }
      return known.get(text);
    };
    const over = (top, share, under) => top.map((value, at) => value * share + under[at] * (1 - share));
    const luminance = (rgb) => {
      const [r, g, b] = rgb.map((value) => { const share = value / 255; return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4; });
      return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    // By element, what its parents and itself come to.
    const inherited = (ofElement, ofRoot) => {
      const found = new Map();
      const of = (element) => {
        if (!element) return ofRoot;
        if (!found.has(element)) found.set(element, ofElement(element, of(element.parentElement)));
        return found.get(element);
      };
      return of;
    };
    const opacity = inherited((element, above) => above * Number(getComputedStyle(element).opacity), 1);
    const page = colour(getComputedStyle(document.body).backgroundColor).rgb;
    const background = inherited((element, under) => {
      const { rgb, a } = colour(getComputedStyle(element).backgroundColor);
      return over(rgb, a, under);
    }, page);
    // What lies below a word of a drawing.
    const below = (element) => {
      const box = element.getBoundingClientRect();
      const [x, y] = [(box.left + box.right) / 2, (box.top + box.bottom) / 2];
      let under = background(element.closest("svg").parentElement);
      for (const shape of element.closest("svg.area").querySelectorAll("rect, path")) {
        const style = getComputedStyle(shape);
        if (style.fill === "none" || shape.closest(".mark")) continue;
        const matrix = shape.getScreenCTM();
        const point = matrix && new DOMPoint(x, y).matrixTransform(matrix.inverse());
        if (point && shape.isPointInFill(point)) under = over(colour(style.fill).rgb, Number(style.fillOpacity) * Number(style.opacity), under);
      }
      return under;
    };
    const poor = new Map();
    for (const { node, element } of words) {
      const style = getComputedStyle(element);
      const isDrawn = element instanceof SVGTextElement;
      const under = isDrawn && element.closest("svg.area") ? below(element) : background(element);
      const ink = colour(isDrawn ? style.fill : style.color);
      const rgb = over(ink.rgb, ink.a * opacity(element), under);
      const [light, dark] = [luminance(rgb), luminance(under)].sort((a, b) => b - a);
      const ratio = (light + 0.05) / (dark + 0.05);
      const size = parseFloat(style.fontSize);
      const isLarge = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
      if (ratio < (isLarge ? 3 : 4.5) - 0.01) {
        const of = `${element.tagName.toLowerCase()}.${element.getAttribute("class") ?? ""}`;
        if (!poor.has(of)) poor.set(of, `contrast ${ratio.toFixed(1)}: ${of} “${node.data.trim().slice(0, 30)}”`);
      }
  }
  return [...poor.values()].slice(0, 12);
  }
})()
