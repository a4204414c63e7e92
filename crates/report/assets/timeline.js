// Draws timelines: a metric at a time, zoomed by mouse and keys, with the values under the cursor.
"use strict";
const timelines = (() => {
  const { quantity } = dbdyno;
  const all = (root, selector) => [...root.querySelectorAll(selector)];
  const make = (name, attributes, text) => {
    const element = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    if (text !== undefined) element.textContent = text;
    return element;
  };

  async function inflated(base64) {
    const bytes = Uint8Array.from(atob(base64.trim()), (character) => character.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
    return new Uint8Array(await new Response(stream).arrayBuffer());
  }

  // The reverse of pack.rs: [metric][line][point], NaN where there is none.
  function unpacked(bytes, metrics, lines) {
    let at = 0;
    const number = () => {
      let value = 0;
      for (let unit = 1; ; unit *= 128) {
        const byte = bytes[at++];
        if (byte === undefined) throw new Error("the points end early");
        value += (byte & 127) * unit;
        if (byte < 128) return value;
      }
    };
    const line = () => {
      const values = new Float64Array(number());
      let last = 0;
      for (let index = 0; index < values.length; index += 1) {
        const token = number();
        const folded = token - 1;
        if (token > 0) last += folded % 2 === 0 ? folded / 2 : -(folded + 1) / 2;
        values[index] = token > 0 ? last : NaN;
      }
      return values;
    };
    return Array.from({ length: metrics }, () => Array.from({ length: lines }, line));
  }

  const HEIGHT = 260;
  const EDGE = { left: 62, right: 10, top: 10, bottom: 24 };
  const FEWEST_POINTS = 4;
  const SECONDS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 28800, 86400];

  function niceStep(rough) {
    const power = 10 ** Math.floor(Math.log10(rough));
    return [1, 2, 5, 10].find((factor) => factor * power >= rough * 0.999) * power;
  }

  function ticks(low, high, log) {
    const found = [];
    if (log && high / low >= 8) {
      for (let power = 10 ** Math.floor(Math.log10(low)); power <= high; power *= 10) {
        for (const factor of high / low > 1000 ? [1] : [1, 2, 5]) found.push(factor * power);
      }
    } else {
      const step = niceStep((high - low) / 4);
      // Multiples, not sums: a sum of tenths is not the number that it looks like.
      for (let index = Math.ceil(low / step); index * step <= high * (1 + 1e-12); index += 1) found.push(index * step);
    }
    return found.filter((tick) => tick >= low && tick <= high * (1 + 1e-12));
  }

  // What becomes of a line: each column of pixels shows the least and the largest of its points.
  function outline(values, view, columns, toX, toY) {
    const parts = [];
    let down = false;
    const go = (x, y) => {
      parts.push(`${down ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`);
      if (!down) parts.push("h0");
      down = true;
    };
    // One more at each end: the line goes on beyond the edge, where it is cut.
    const first = Math.max(0, Math.floor(view.from) - 1);
    const end = Math.min(values.length, Math.ceil(view.to) + 1);
    const perColumn = (view.to - view.from) / columns;
    if (perColumn <= 2) {
      for (let index = first; index < end; index += 1) {
        if (Number.isNaN(values[index])) down = false;
        else go(toX(index + 0.5), toY(values[index]));
      }
      return parts.join("");
    }
    for (let column = 0; column < columns; column += 1) {
      let [least, largest] = [Infinity, -Infinity];
      const to = Math.min(end, Math.floor(view.from + (column + 1) * perColumn));
      for (let index = Math.max(first, Math.floor(view.from + column * perColumn)); index < to; index += 1) {
        if (values[index] < least) least = values[index];
        if (values[index] > largest) largest = values[index];
      }
      if (least > largest) { down = false; continue; }
      const x = EDGE.left + column + 0.5;
      go(x, toY(least));
      if (largest > least) go(x, toY(largest));
    }
    return parts.join("");
  }

  class Timeline {
    constructor(figure, points) {
      this.figure = figure;
      this.points = points;
      this.stage = figure.querySelector(".stage");
      this.lines = all(figure, ".lines li");
      this.boxes = this.lines.map((line) => line.querySelector("input"));
      this.outputs = this.lines.map((line) => line.querySelector("output"));
      this.looks = this.lines.map((line) => line.querySelector(".key").className.replace("key ", ""));
      this.metric = figure.querySelector("select.metric");
      this.scale = figure.querySelector("select.scale");
      this.at = figure.querySelector("output.at");
      this.x = figure.dataset.x;
      this.stride = Number(figure.dataset.stride);
      this.count = Math.max(1, ...points.flat().map((values) => values.length));
      this.view = { from: 0, to: this.count };
      this.cursor = null;
      this.pressed = null;
      this.svg = make("svg", { tabindex: "0", role: "group", "aria-label": figure.querySelector("figcaption").textContent });
      this.listen();
      this.stage.replaceChildren(this.svg);
      new ResizeObserver(() => this.draw()).observe(this.stage);
      this.draw();
      figure.dataset.drawn = "";
    }

    listen() {
      const { svg, figure } = this;
      for (const control of [this.metric, this.scale, ...this.boxes]) control.addEventListener("input", () => this.draw());
      this.lines.forEach((line, index) => line.addEventListener("click", (event) => {
        if (!event.shiftKey) return;
        event.preventDefault();
        // The browser puts the box back after this event; ours comes then.
        setTimeout(() => this.alone(index));
      }));
      const button = (name, action) => figure.querySelector(`button.${name}`).addEventListener("click", action);
      button("closer", () => this.zoom(0.5));
      button("wider", () => this.zoom(2));
      button("all", () => this.show(0, this.count));
      svg.addEventListener("pointerdown", (event) => this.press(event));
      svg.addEventListener("pointermove", (event) => this.move(event));
      svg.addEventListener("pointerup", (event) => this.release(event));
      svg.addEventListener("pointercancel", () => { this.pressed = null; this.draw(); });
      svg.addEventListener("pointerleave", () => { if (this.pressed === null) this.point(null); });
      svg.addEventListener("dblclick", () => this.show(0, this.count));
      svg.addEventListener("keydown", (event) => this.key(event));
      svg.addEventListener("blur", () => this.point(null));
      svg.addEventListener("wheel", (event) => {
        // A page with many charts must still scroll: a chart takes the wheel after a click on it.
        if (document.activeElement !== svg && !event.ctrlKey) return;
        event.preventDefault();
        this.zoom(event.deltaY < 0 ? 0.8 : 1.25, this.indexAt(event));
      }, { passive: false });
    }

    alone(index) {
      const isAlone = this.boxes.every((box, other) => box.checked === (other === index));
      this.boxes.forEach((box, other) => { box.checked = isAlone || other === index; });
      this.draw();
    }

    get plotWidth() { return Math.max(80, this.stage.clientWidth - EDGE.left - EDGE.right); }

    indexAt(event) {
      const x = event.clientX - this.svg.getBoundingClientRect().left - EDGE.left;
      const share = Math.min(1, Math.max(0, x / this.plotWidth));
      return this.view.from + share * (this.view.to - this.view.from);
    }

    // Shows points from `from` to before `to`, as far as there are any.
    show(from, to) {
      const width = Math.min(this.count, Math.max(Math.min(FEWEST_POINTS, this.count), to - from));
      const start = Math.min(this.count - width, Math.max(0, from));
      this.view = { from: start, to: start + width };
      this.draw();
    }

    zoom(factor, around = (this.view.from + this.view.to) / 2) {
      const { from, to } = this.view;
      const width = Math.max(FEWEST_POINTS, (to - from) * factor);
      const share = (around - from) / (to - from);
      this.show(around - share * width, around + (1 - share) * width);
    }

    press(event) {
      if (event.button !== 0) return;
      this.svg.setPointerCapture(event.pointerId);
      this.pressed = { x: event.clientX, index: this.indexAt(event) };
    }

    move(event) {
      const index = this.indexAt(event);
      if (this.pressed !== null) this.chosen(this.pressed.index, index);
      this.point(Math.floor(index));
    }

    release(event) {
      const { pressed } = this;
      this.pressed = null;
      if (pressed === null) return;
      const index = this.indexAt(event);
      this.chosen(index, index);
      // Less is a click with an unsteady hand.
      if (Math.abs(event.clientX - pressed.x) < 5) return;
      this.show(Math.min(index, pressed.index), Math.max(index, pressed.index));
    }

    key(event) {
      const { from, to } = this.view;
      const width = to - from;
      const sign = event.key === "ArrowLeft" ? -1 : 1;
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.key === "+" || event.key === "=") this.zoom(0.5, this.cursor ?? undefined);
      else if (event.key === "-" || event.key === "_") this.zoom(2, this.cursor ?? undefined);
      else if (event.key === "0") this.show(0, this.count);
      else if (event.key === "Escape") this.point(null);
      else if (event.key === "ArrowLeft" || event.key === "ArrowRight") {
        if (event.shiftKey) {
          const next = this.cursor === null ? Math.floor((from + to) / 2) : this.cursor + sign;
          const index = Math.min(this.count - 1, Math.max(0, next));
          if (index < from) this.show(index, index + width);
          if (index + 1 > to) this.show(index + 1 - width, index + 1);
          this.point(index);
        } else this.show(from + sign * width / 10, to + sign * width / 10);
      } else return;
      event.preventDefault();
    }

    // The point under the cursor, with the values of all lines.
    point(index) {
      this.cursor = index === null ? null : Math.min(this.count - 1, Math.max(0, index));
      const { scale, digits } = this.metric.selectedOptions[0].dataset;
      this.outputs.forEach((output, line) => {
        const value = this.cursor === null ? undefined : this.points[this.metric.selectedIndex][line][this.cursor];
        output.textContent = this.cursor === null ? "" : quantity((value ?? NaN) / Number(scale), Number(digits ?? Infinity));
      });
      this.at.textContent = this.cursor === null ? "" : this.named(this.cursor);
      this.place();
    }

    named(index) {
      const first = index * this.stride;
      return this.stride === 1 ? `${this.x} ${first}` : `${this.x}s ${first} to ${first + this.stride - 1}`;
    }

    place() {
      this.svg.querySelector(".cursor")?.remove();
      if (this.cursor === null || this.toX === undefined) return;
      const x = this.toX(this.cursor + 0.5);
      if (x < EDGE.left || x > EDGE.left + this.plotWidth) return;
      this.svg.append(make("line", { class: "cursor", x1: x, x2: x, y1: EDGE.top, y2: HEIGHT - EDGE.bottom }));
    }

    chosen(from, to) {
      this.svg.querySelector(".chosen")?.remove();
      const [left, right] = [this.toX(Math.min(from, to)), this.toX(Math.max(from, to))];
      if (right - left < 1) return;
      const size = { x: left, y: EDGE.top, width: right - left, height: HEIGHT - EDGE.top - EDGE.bottom };
      this.svg.append(make("rect", { class: "chosen", ...size }));
    }

    // The least and the largest value of what is shown.
    range(values) {
      let [low, high] = [Infinity, -Infinity];
      for (const line of values) {
        const end = Math.min(line.length, Math.ceil(this.view.to));
        for (let index = Math.floor(this.view.from); index < end; index += 1) {
          if (line[index] < low) low = line[index];
          if (line[index] > high) high = line[index];
        }
      }
      return [low, high];
    }

    draw() {
      const { view, svg } = this;
      const width = this.plotWidth;
      const unit = Number(this.metric.selectedOptions[0].dataset.scale);
      const shown = this.boxes.flatMap((box, index) => (box.checked ? [index] : []));
      const values = this.points[this.metric.selectedIndex];
      let [low, high] = this.range(shown.map((index) => values[index])).map((value) => value / unit);
      this.toX = (index) => EDGE.left + (index - view.from) / (view.to - view.from) * width;
      svg.setAttribute("viewBox", `0 0 ${width + EDGE.left + EDGE.right} ${HEIGHT}`);
      svg.replaceChildren();
      const isEmpty = low > high;
      const log = this.scale.value === "log" && high > 0;
      if (isEmpty) [low, high] = [0, 1];
      if (log && low <= 0) low = Math.min(high / 10, 1);
      if (this.scale.value === "zero" || (this.scale.value === "log" && !log)) low = Math.min(0, low);
      if (high <= low) high = low === 0 ? 1 : low + Math.abs(low) * 0.1;
      const share = log
        ? (value) => Math.log(Math.max(value, low) / low) / Math.log(high / low)
        : (value) => (value - low) / (high - low);
      const bottom = HEIGHT - EDGE.bottom;
      const toY = (value) => bottom - share(value) * (bottom - EDGE.top);
      for (const tick of ticks(low, high, log)) {
        const y = toY(tick);
        svg.append(make("line", { class: "rule", x1: EDGE.left, x2: EDGE.left + width, y1: y, y2: y }));
        svg.append(make("text", { x: EDGE.left - 6, y: y + 4, "text-anchor": "end" }, quantity(tick)));
      }
      this.drawAcross(width, bottom);
      const plot = { x: EDGE.left, y: EDGE.top - 2, width, height: bottom - EDGE.top + 4 };
      const lines = make("svg", { ...plot, viewBox: `${plot.x} ${plot.y} ${plot.width} ${plot.height}` });
      svg.append(lines);
      for (const index of shown) {
        const path = outline(values[index], view, Math.floor(width), this.toX, (value) => toY(value / unit));
        lines.append(make("path", { class: this.looks[index], d: path }));
      }
      if (isEmpty) svg.append(make("text", { x: EDGE.left + 12, y: EDGE.top + 20 }, "no values here"));
      svg.append(make("line", { class: "frame", x1: EDGE.left, x2: EDGE.left + width, y1: bottom, y2: bottom }));
      this.figure.dataset.shown = `${Math.floor(view.from)} ${Math.ceil(view.to)}`;
      this.point(this.cursor);
    }

    drawAcross(width, bottom) {
      const [from, to] = [this.view.from * this.stride, this.view.to * this.stride];
      const rough = (to - from) / Math.max(2, width / 110);
      const ofTime = this.x === "second" ? SECONDS.find((seconds) => seconds >= rough) : undefined;
      const step = ofTime ?? Math.max(1, niceStep(rough));
      for (let tick = Math.ceil(from / step) * step; tick < to; tick += step) {
        const x = this.toX((tick + 0.5) / this.stride);
        if (x > EDGE.left + width) break;
        this.svg.append(make("line", { class: "frame", x1: x, x2: x, y1: bottom, y2: bottom + 4 }));
        const label = quantity(tick).replace(/\.0+$/, "");
        const edge = EDGE.left + width + EDGE.right;
        // A digit is 7.5 pixels wide at most.
        const reaches = x + (7.5 * label.length) / 2 > edge;
        const place = reaches ? { x: edge, "text-anchor": "end" } : { x, "text-anchor": "middle" };
        this.svg.append(make("text", { ...place, y: bottom + 17 }, label));
      }
      this.svg.append(make("text", { x: EDGE.left - 6, y: bottom + 17, "text-anchor": "end" }, this.x));
    }
  }

  // The picture for readers without a script: also for those whose browser cannot unpack, and for paper.
  function still(figure) {
    const picture = new DOMParser().parseFromString(figure.querySelector("noscript").textContent, "text/html");
    const stage = figure.querySelector(".stage");
    stage.replaceChildren(...[...picture.body.childNodes].map((node) => document.adoptNode(node)));
  }

  async function start(figure) {
    try {
      const bytes = await inflated(figure.querySelector("script.points").textContent);
      const metrics = figure.querySelector("select.metric").options.length;
      new Timeline(figure, unpacked(bytes, metrics, figure.querySelectorAll(".lines li").length));
    } catch (error) {
      still(figure);
      figure.dataset.failed = String(error);
    }
  }

  // Draws each when it is about to be seen.
  function watch(figures) {
    const near = new IntersectionObserver((entries) => {
      for (const entry of entries.filter((one) => one.isIntersecting)) {
        near.unobserve(entry.target);
        start(entry.target);
      }
    }, { rootMargin: "400px" });
    for (const figure of figures) near.observe(figure);
  }

  return Object.freeze({ watch, still });
})();
