// The cursor on the time line: steps, jumps, and play at the pace of the answer or slower. While an
// answer is live and the cursor at its end, the cursor follows it.

/** Longest pause between two beats in play, and the pause where a trace has no times. */
const LONGEST_MS = 1500;
const UNTIMED_MS = 40;
export const SPEEDS = [0.05, 0.1, 0.25, 0.5, 1, 4, 16];

export class Player {
  /** `changed()` is called whenever the cursor or the state changes. */
  constructor(changed) {
    this.changed = changed;
    this.speed = 1;
    this.open(null);
  }

  /** Begins with a trace; `live` says whether more of it is to come. */
  open(trace, live = false) {
    this.trace = trace;
    this.live = live;
    this.cursor = -1;
    this.following = true;
    this.playing = false;
    this.picked = null;
  }

  /** Called when beats were added to the trace. */
  grown() {
    if (this.following) this.#move(this.trace.next - 1);
    else this.#move(this.cursor, this.picked);
  }

  /** Called when no more beats come. */
  ended() {
    this.live = false;
    this.changed();
  }

  /** Moves by a number of beats, and pauses. */
  step(by) {
    this.go(this.cursor + by);
  }

  /** Moves to a beat, and pauses; `picked` is the piece of it that was chosen. */
  go(number, picked = null) {
    if (!this.trace?.beats.length) return;
    this.playing = false;
    this.following = false;
    this.#move(number, picked);
  }

  /** Moves to the end, and follows what is still to come. */
  follow() {
    if (!this.trace) return;
    this.playing = false;
    this.following = true;
    this.#move(this.trace.next - 1);
  }

  /** Plays from the cursor, from the beginning if it is at the end, or pauses. */
  toggle() {
    if (!this.trace?.beats.length) return;
    if (this.playing || (this.following && this.live)) {
      this.playing = false;
      this.following = false;
      this.changed();
      return;
    }
    if (this.cursor >= this.trace.next - 1 && !this.live) this.#move(this.trace.first);
    this.following = false;
    this.playing = true;
    this.#begin();
    this.changed();
  }

  /** Changes the speed by a number of places. */
  pace(by) {
    const at = SPEEDS.indexOf(this.speed);
    this.speed = SPEEDS[Math.min(SPEEDS.length - 1, Math.max(0, at + by))];
    this.changed();
  }

  #begin() {
    let last = performance.now();
    let saved = 0;
    const frame = (now) => {
      if (!this.playing) return;
      saved += (now - last) * this.speed;
      last = now;
      let number = this.cursor;
      for (let pause = this.#pause(number); number + 1 < this.trace.next && saved >= pause; pause = this.#pause(number)) {
        saved -= pause;
        number += 1;
      }
      if (number !== this.cursor) this.#move(number);
      if (number + 1 >= this.trace.next) this.#atEnd();
      else requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
  }

  #atEnd() {
    this.playing = false;
    this.following = this.live;
    this.changed();
  }

  /** Milliseconds from a beat to the next one. */
  #pause(number) {
    const from = this.trace.beat(number)?.line.ms;
    const to = this.trace.beat(number + 1)?.line.ms;
    if (typeof from !== "number" || typeof to !== "number") return UNTIMED_MS;
    return Math.min(LONGEST_MS, Math.max(0, to - from));
  }

  #move(number, picked = null) {
    this.cursor = Math.min(this.trace.next - 1, Math.max(this.trace.first, number));
    this.picked = picked;
    this.changed();
  }
}
