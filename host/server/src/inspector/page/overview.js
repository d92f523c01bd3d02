// The whole answer in one strip: each beat in the colour of its item, faults in red, the window of
// the lanes, the cursor. A click or a drag moves there.

import { itemClass } from "./beat_view.js";
import { eachFrame } from "./dom.js";

export class Overview {
  /** `go(number)` is called with the beat to move to. */
  constructor(canvas, lanes, go) {
    this.canvas = canvas;
    this.lanes = lanes;
    this.trace = null;
    this.cursor = -1;
    this.draw = eachFrame(() => this.#draw());
    new ResizeObserver(() => this.draw()).observe(canvas);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
    const move = (event) => {
      if (!this.trace?.beats.length) return;
      const box = canvas.getBoundingClientRect();
      const part = Math.min(1, Math.max(0, (event.clientX - box.left) / box.width));
      go(this.trace.at(part * this.trace.left[this.trace.beats.length]));
    };
    canvas.addEventListener("pointerdown", (event) => {
      canvas.setPointerCapture(event.pointerId);
      move(event);
    });
    canvas.addEventListener("pointermove", (event) => event.buttons && move(event));
  }

  show(trace) {
    this.trace = trace;
    this.draw();
  }

  point(number) {
    this.cursor = number;
    this.draw();
  }

  #draw() {
    const { canvas, trace } = this;
    const scale = window.devicePixelRatio || 1;
    const width = Math.round(canvas.clientWidth * scale);
    const height = Math.round(canvas.clientHeight * scale);
    if (canvas.width !== width) canvas.width = width;
    if (canvas.height !== height) canvas.height = height;
    const pen = canvas.getContext("2d");
    pen.clearRect(0, 0, width, height);
    if (!trace?.beats.length || !width) return;
    const all = trace.left[trace.beats.length];
    const colours = readColours(canvas);
    this.#bars(pen, colours, width, height, all);
    const at = (cell) => (cell / all) * width;
    const seen = this.lanes.window();
    pen.strokeStyle = colours.ink;
    pen.lineWidth = scale;
    const left = at(seen.from);
    pen.globalAlpha = 0.5;
    pen.strokeRect(left + scale / 2, scale / 2, Math.max(4 * scale, Math.min(width, at(seen.to)) - left) - scale, height - scale);
    pen.globalAlpha = 1;
    const index = this.cursor - trace.first;
    pen.fillStyle = colours.accent;
    if (index >= 0 && index < trace.beats.length) pen.fillRect(at(trace.left[index + 1]) - scale, 0, 2 * scale, height);
    this.#say();
  }

  /** Draws a bar for each pixel's beat; a fault is never overdrawn. */
  #bars(pen, colours, width, height, all) {
    const { trace } = this;
    const faults = new Set(trace.checks.findings.filter(({ fault }) => fault).map(({ beat }) => beat));
    const step = Math.max(1, trace.beats.length / width);
    for (let place = 0; place < trace.beats.length; place += step) {
      const index = Math.floor(place);
      const beat = trace.beats[index];
      const next = Math.min(trace.beats.length, Math.floor(place + step) || 1);
      const item = beat.spans[beat.spans.length - 1]?.item ?? beat.carried;
      const left = Math.floor((trace.left[index] / all) * width);
      const right = Math.ceil((trace.left[Math.max(next, index + 1)] / all) * width);
      pen.fillStyle = item ? colours[itemClass(item.head)] : colours.faint;
      const tall = beat.spans.length ? height * 0.56 : height * 0.2;
      pen.fillRect(left, (height - tall) / 2, Math.max(1, right - left), tall);
    }
    pen.fillStyle = colours.fault;
    for (const number of faults) {
      const index = number - trace.first;
      if (index < 0 || index >= trace.beats.length) continue;
      pen.fillRect((trace.left[index] / all) * width, 0, Math.max(3, ((trace.left[index + 1] - trace.left[index]) / all) * width), height);
    }
  }

  #say() {
    const { canvas, trace } = this;
    canvas.setAttribute("aria-valuemin", String(trace.first));
    canvas.setAttribute("aria-valuemax", String(trace.next - 1));
    canvas.setAttribute("aria-valuenow", String(Math.max(trace.first, this.cursor)));
  }
}

function readColours(canvas) {
  const style = getComputedStyle(canvas);
  const read = (name) => style.getPropertyValue(`--${name}`).trim();
  return Object.fromEntries(["reasoning", "message", "call", "other", "faint", "fault", "ink", "accent"].map((name) => [name, read(name)]));
}
