// Whether what is written on a page can be read.

/** Runs in the page: texts whose colour is too near to what is behind them (WCAG 2, 4.5 to 1). */
export function poorContrast() {
  const pen = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const over = (colours) => {
    for (const colour of colours) {
      pen.fillStyle = colour;
      pen.fillRect(0, 0, 1, 1);
    }
    return [...pen.getImageData(0, 0, 1, 1).data].slice(0, 3);
  };
  const light = (rgb) => rgb.map((each) => each / 255).map((each) => (each <= 0.04045 ? each / 12.92 : ((each + 0.055) / 1.055) ** 2.4))
    .reduce((sum, each, index) => sum + each * [0.2126, 0.7152, 0.0722][index], 0);
  const found = [];
  for (const element of document.querySelectorAll("body *")) {
    const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
    if (!own || !element.checkVisibility() || element.closest(".ahead, .unseen")) continue;
    const behind = [];
    for (let each = element; each; each = each.parentElement) behind.unshift(getComputedStyle(each).backgroundColor);
    const back = over(["white", ...behind]);
    const fore = over([`rgb(${back})`, getComputedStyle(element).color]);
    const [one, other] = [light(back), light(fore)].sort((one, other) => other - one);
    const ratio = (one + 0.05) / (other + 0.05);
    if (ratio < 4.5) found.push(`${element.className || element.tagName}: ${ratio.toFixed(2)}`);
  }
  return [...new Set(found)];
}
