// Curves that can be read, zoomed and hidden: drawn as SVG, without any library.
//
//   const chart = curves.chart(place, {label: "training loss", percent: false});
//   chart.show([{name: "mean", colour: "#0072B2", dark: "#3B8FF0", dash: [5, 2],
//                x: [1, 2], y: [2.3, 1.9], low: [...], high: [...]}]);
//
// A value that is null leaves a gap. However many points a line has, at most four are drawn
// per pixel: the first, the lowest, the highest and the last one of each column.
const curves = (() => {
  "use strict";
  const SVG = "http://www.w3.org/2000/svg";
  const EDGE = {top: 10, right: 14, bottom: 26, left: 54};
  const HEIGHT = 230, WIDTH = 1.8, LEAST_DRAG = 6, STEP = 1.3;
  let count = 0;

  const make = (parent, name, attributes = {}) => {
    const found = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) found.setAttribute(key, value);
    parent.append(found);
    return found;
  };
  const element = (parent, name, kind = "", text = "") => {
    const found = document.createElement(name);
    if (kind) found.className = kind;
    if (text) found.textContent = text;
    parent.append(found);
    return found;
  };
  // A colour on a white and on a dark ground; the style decides which one is seen.
  const tint = (node, line) => {
    node.classList.add("curves-hue");
    node.style.setProperty("--light", line.colour);
    node.style.setProperty("--dark", line.dark || line.colour);
    if (line.dash && line.dash.length && node.classList.contains("curves-line"))
      node.setAttribute("stroke-dasharray", line.dash.map(one => (WIDTH * one).toFixed(1)).join(" "));
    return node;
  };
  const known = value => value !== null && value !== undefined && Number.isFinite(value);

  // ---------------------------------------------------------------- numbers for people
  const places = (value, digits) => {
    const size = Math.abs(value);
    if (size !== 0 && (size < 1e-3 || size >= 1e7)) return value.toExponential(2);
    return Number(value.toPrecision(digits)).toLocaleString("en-US", {maximumFractionDigits: 8});
  };
  const number = (value, percent = false) => {
    if (!known(value)) return "–";
    return percent ? `${(100 * value).toFixed(2)}%` : places(value, 4);
  };
  const large = value => {
    const units = [["T", 1e12], ["G", 1e9], ["M", 1e6], ["k", 1e3]];
    const [name, size] = units.find(([, one]) => Math.abs(value) >= one) || ["", 1];
    return `${Number((value / size).toPrecision(3))}${name}`;
  };
  const tick = (value, percent, step) => {
    if (percent) return `${Number((100 * value).toFixed(Math.max(0, -Math.floor(Math.log10(100 * step)))))}%`;
    if (Math.abs(value) >= 1e4) return large(value);
    if (value !== 0 && Math.abs(value) < 1e-3) return value.toExponential(0);
    return String(Number(value.toPrecision(6)));
  };

  // ---------------------------------------------------------------- axes
  const ticks = (low, high, wanted) => {
    const raw = (high - low) / Math.max(1, wanted), size = 10 ** Math.floor(Math.log10(raw));
    const step = [1, 2, 5, 10].map(k => k * size).find(one => one >= raw) || 10 * size;
    const found = [];
    for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; k += 1)
      found.push(k * step || 0);
    return {found, step};
  };
  const powers = (low, high) => {
    const found = [];
    for (let k = Math.floor(Math.log10(low)); k <= Math.ceil(Math.log10(high)); k += 1)
      for (const m of high / low > 100 ? [1] : [1, 2, 5]) {
        const value = m * 10 ** k;
        if (value >= low * 0.999 && value <= high * 1.001) found.push(value);
      }
    return found;
  };

  // The first place whose x is at least `wanted`; x ascends.
  const place = (x, wanted) => {
    let low = 0, high = x.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (x[middle] < wanted) low = middle + 1; else high = middle;
    }
    return low;
  };
  const nearest = (x, wanted) => {
    const k = place(x, wanted);
    if (k === 0) return 0;
    if (k === x.length) return k - 1;
    return wanted - x[k - 1] <= x[k] - wanted ? k - 1 : k;
  };

  // First, lowest, highest and last value of every column of pixels, in order of x.
  const thinned = (x, y, from, to, column) => {
    const kept = [];
    let k = from;
    while (k < to) {
      const at = column(x[k]);
      let first = -1, last = -1, low = -1, high = -1;
      for (; k < to && column(x[k]) === at; k += 1) {
        if (!known(y[k])) continue;
        if (first < 0) first = low = high = k;
        if (y[k] < y[low]) low = k;
        if (y[k] > y[high]) high = k;
        last = k;
      }
      if (first < 0) { kept.push(-1); continue; }
      kept.push(...[...new Set([first, low, high, last])].sort((a, b) => a - b));
    }
    return kept;
  };

  // ---------------------------------------------------------------- a chart
  class Chart {
    constructor(parent, options) {
      this.options = options;
      this.lines = [];
      this.hidden = new Set();
      this.range = null;          // of x, if zoomed
      this.log = Boolean(options.log);
      this.at = null;             // x under the pointer, or chosen by keys
      this.points = 0;            // drawn last time
      this.group = options.group || null;
      if (this.group) this.group.push(this);
      this.pointers = new Map();
      this.box = element(parent, "div", "curves");
      this.plot = element(this.box, "div", "curves-plot");
      this.plot.tabIndex = 0;
      this.plot.setAttribute("role", "application");
      this.plot.setAttribute("aria-roledescription", "chart");
      this.svg = make(this.plot, "svg", {"aria-hidden": "true"});
      this.tip = element(this.plot, "div", "curves-tip");
      this.tip.hidden = true;
      this.said = element(this.box, "p", "curves-said");
      this.said.setAttribute("aria-live", "polite");
      this.below = element(this.box, "div", "curves-below");
      this.legend = element(this.below, "ul", "curves-legend");
      this.tools = element(this.below, "div", "curves-tools");
      this.button("log", "Logarithmic scale", () => this.setLog(!this.log), this.log);
      this.reset = this.button("reset zoom", "Show all rounds again", () => this.zoom(null));
      this.reset.hidden = true;
      this.clip = `curves-clip-${count += 1}`;
      this.listen();
      new ResizeObserver(() => this.draw()).observe(this.plot);
    }

    button(text, title, act, pressed) {
      const found = element(this.tools, "button", "", text);
      found.type = "button";
      found.title = title;
      if (pressed !== undefined) found.setAttribute("aria-pressed", String(pressed));
      found.addEventListener("click", act);
      return found;
    }

    // What is drawn from now on; hidden lines stay hidden by their names.
    show(lines, facts = {}) {
      Object.assign(this.options, facts);
      this.lines = lines;
      this.drawLegend();
      this.draw();
    }

    get seen() {
      return this.lines.filter(line => !this.hidden.has(line.name) && line.x.length);
    }

    setLog(log) {
      this.log = log;
      this.tools.firstChild.setAttribute("aria-pressed", String(log));
      this.draw();
    }

    // Charts of one group share a range.
    zoom(range) {
      const all = this.extent();
      if (range && all) {
        let [low, high] = range;
        low = Math.max(low, all[0]);
        high = Math.min(high, all[1]);
        range = high - low < 1e-9 || (low <= all[0] && high >= all[1]) ? null : [low, high];
      }
      for (const chart of this.group || [this]) {
        chart.range = range;
        chart.reset.hidden = !range;
        chart.draw();
      }
    }

    extent() {
      let low = Infinity, high = -Infinity;
      for (const line of this.lines) {
        if (!line.x.length) continue;
        low = Math.min(low, line.x[0]);
        high = Math.max(high, line.x[line.x.length - 1]);
      }
      const {ends} = this.options;
      if (ends) { low = Math.min(low, ends[0]); high = Math.max(high, ends[1]); }
      return low <= high ? [low, high] : null;
    }

    // ------------------------------------------------------------ what people do
    listen() {
      const {plot} = this;
      plot.addEventListener("pointermove", event => this.moved(event));
      plot.addEventListener("pointerdown", event => this.pressed(event));
      for (const end of ["pointerup", "pointercancel"])
        plot.addEventListener(end, event => this.released(event));
      plot.addEventListener("pointerleave", () => { if (!this.pointers.size) this.point(null); });
      plot.addEventListener("dblclick", () => this.zoom(null));
      plot.addEventListener("keydown", event => this.key(event));
      plot.addEventListener("blur", () => this.point(null));
      plot.addEventListener("wheel", event => {
        if (!event.ctrlKey && document.activeElement !== plot) return;
        event.preventDefault();
        this.scale(event.deltaY > 0 ? STEP : 1 / STEP, this.value(this.across(event)));
      }, {passive: false});
    }

    across(event) {
      return event.clientX - this.plot.getBoundingClientRect().left;
    }

    value(pixel) {
      const [low, high] = this.shown, share = (pixel - EDGE.left) / this.inner;
      return low + Math.min(1, Math.max(0, share)) * (high - low);
    }

    moved(event) {
      if (!this.shown) return;
      const at = this.across(event);
      if (this.pointers.has(event.pointerId)) this.pointers.set(event.pointerId, at);
      if (this.pinch && this.pointers.size === 2) { this.pinched(); return; }
      if (this.drag !== undefined && event.pointerType === "mouse") this.mark(this.drag, at);
      this.point(this.value(at));
    }

    pressed(event) {
      if (!this.shown || event.button > 0) return;
      this.pointers.set(event.pointerId, this.across(event));
      if (this.pointers.size === 2) {
        const [a, b] = [...this.pointers.values()].sort((one, two) => one - two);
        this.pinch = [this.value(a), this.value(b)];
      } else if (event.pointerType === "mouse") {
        this.drag = this.across(event);
        this.plot.setPointerCapture(event.pointerId);
      }
      this.point(this.value(this.across(event)));
    }

    released(event) {
      this.pointers.delete(event.pointerId);
      if (this.pointers.size < 2) this.pinch = null;
      if (this.drag === undefined) return;
      const from = this.drag, to = this.across(event);
      this.drag = undefined;
      this.mark(0, 0);
      if (event.type === "pointerup" && Math.abs(to - from) >= LEAST_DRAG)
        this.zoom([this.value(Math.min(from, to)), this.value(Math.max(from, to))]);
    }

    // The two values under the fingers stay under them.
    pinched() {
      const [a, b] = [...this.pointers.values()].sort((one, two) => one - two);
      const [left, right] = this.pinch;
      if (b - a < LEAST_DRAG || right <= left) return;
      const unit = (right - left) / (b - a), low = left - (a - EDGE.left) * unit;
      this.zoom([low, low + unit * this.inner]);
    }

    scale(factor, around) {
      if (!this.shown) return;
      const [low, high] = this.shown;
      this.zoom([around - factor * (around - low), around + factor * (high - around)]);
    }

    key(event) {
      const every = this.rounds();
      if (!every.length) return;
      const now = this.at === null ? every.length - 1 : nearest(every, this.at);
      const far = Math.max(1, Math.round(every.length / 20));
      const moves = {
        ArrowLeft: this.at === null ? 0 : -1, ArrowRight: this.at === null ? 0 : 1,
        PageDown: -far, PageUp: far, Home: -Infinity, End: Infinity,
      };
      if (event.key in moves) {
        const next = Math.min(every.length - 1, Math.max(0, now + moves[event.key]));
        this.point(every[next]);
        this.said.textContent = this.sentence();
      } else if (event.key === "+" || event.key === "=") this.scale(1 / STEP, every[now]);
      else if (event.key === "-") this.scale(STEP, every[now]);
      else if (event.key === "Escape" || event.key === "0") this.zoom(null);
      else return;
      event.preventDefault();
    }

    // All x that the visible lines have in the shown range.
    rounds() {
      if (!this.shown) return [];
      const [low, high] = this.shown, found = new Set();
      for (const {x} of this.seen)
        for (let k = place(x, low); k < x.length && x[k] <= high; k += 1) found.add(x[k]);
      return [...found].sort((a, b) => a - b);
    }

    mark(from, to) {
      const low = Math.max(EDGE.left, Math.min(from, to));
      const high = Math.min(EDGE.left + this.inner, Math.max(from, to));
      this.chosen.setAttribute("x", low);
      this.chosen.setAttribute("width", Math.max(0, high - low));
    }

    // ------------------------------------------------------------ values under the pointer
    point(x) {
      for (const chart of this.group || [this]) {
        chart.at = x;
        chart.drawPoint(chart === this);
      }
    }

    found() {
      if (this.at === null) return null;
      let best = null;
      for (const {x} of this.seen) {
        const one = x[nearest(x, this.at)];
        if (best === null || Math.abs(one - this.at) < Math.abs(best - this.at)) best = one;
      }
      if (best === null) return null;
      // A line without a value there gives the nearest one, and says where, but not beyond its ends.
      const inside = this.seen.filter(({x}) => x[0] <= best && best <= x[x.length - 1]);
      const rows = inside.map(line => {
        const k = nearest(line.x, best);
        return {line, k, y: line.y[k], at: line.x[k] === best ? "" : ` at ${number(line.x[k])}`};
      });
      return {x: best, rows: rows.filter(row => known(row.y))};
    }

    drawPoint(whole) {
      if (!this.shown) return;
      const found = this.found(), [low, high] = this.shown;
      const off = !found || found.x < low || found.x > high;
      this.cross.setAttribute("visibility", off ? "hidden" : "visible");
      this.dots.replaceChildren();
      this.tip.hidden = off || !whole;
      if (off) return;
      const px = this.px(found.x);
      this.cross.setAttribute("x1", px);
      this.cross.setAttribute("x2", px);
      for (const {line, k, y} of found.rows) {
        const at = {cx: this.px(line.x[k]), cy: this.py(y), r: 3.5, class: "curves-dot"};
        tint(make(this.dots, "circle", at), line);
      }
      if (whole) this.drawTip(found, px);
    }

    drawTip(found, px) {
      const {tip} = this, {percent, unit, x} = this.options;
      tip.replaceChildren();
      element(tip, "b", "", `${x || "round"} ${number(found.x)}`);
      const rows = [...found.rows].sort((a, b) => b.y - a.y);
      for (const {line, k, y, at} of rows.slice(0, 12)) {
        const row = element(tip, "span", "curves-row");
        this.swatch(row, line);
        element(row, "span", "", line.name);
        const ends = line.low && known(line.low[k]) && known(line.high[k])
          ? ` (${number(line.low[k], percent)} to ${number(line.high[k], percent)})` : "";
        element(row, "strong", "", `${number(y, percent)}${unit ? ` ${unit}` : ""}${ends}${at}`);
      }
      if (rows.length > 12) element(tip, "span", "", `and ${rows.length - 12} more`);
      // Beside the pointer, or below the chart where neither side has room for it.
      const wide = tip.offsetWidth, right = px + 12, left = px - 12 - wide;
      const there = right + wide <= this.width ? right : left;
      tip.style.left = `${Math.max(0, there)}px`;
      tip.style.top = there < 0 ? `${HEIGHT}px` : "8px";
    }

    sentence() {
      const found = this.found();
      if (!found) return "";
      const {percent, x} = this.options;
      const each = found.rows.map(({line, y, at}) => `${line.name} ${number(y, percent)}${at}`);
      return `${x || "round"} ${number(found.x)}: ${each.join(", ")}`;
    }

    // ------------------------------------------------------------ drawing
    swatch(parent, line) {
      const svg = make(parent, "svg", {width: 22, height: 10, "aria-hidden": "true"});
      if (line.low)
        tint(make(svg, "rect", {x: 0, y: 0, width: 22, height: 10, class: "curves-band"}), line);
      tint(make(svg, "line", {x1: 0, x2: 22, y1: 5, y2: 5, class: "curves-line"}), line);
    }

    // Buttons are kept while their lines are, so that focus stays where it is.
    drawLegend() {
      const key = JSON.stringify(this.lines.map(one => [one.name, one.colour, one.dash, !!one.low]));
      if (key === this.legendKey) return;
      this.legendKey = key;
      this.legend.replaceChildren();
      for (const line of this.lines) {
        const button = element(element(this.legend, "li"), "button");
        button.type = "button";
        button.title = `Hide or show ${line.name}`;
        button.setAttribute("aria-pressed", String(!this.hidden.has(line.name)));
        this.swatch(button, line);
        element(button, "span", "", line.name);
        button.addEventListener("click", () => {
          const away = !this.hidden.has(line.name);
          if (away) this.hidden.add(line.name); else this.hidden.delete(line.name);
          button.setAttribute("aria-pressed", String(!away));
          this.draw();
        });
      }
    }

    draw() {
      if (this.waiting) return;
      this.waiting = true;
      requestAnimationFrame(() => { this.waiting = false; this.drawNow(); });
    }

    drawNow() {
      const {svg} = this;
      this.width = this.plot.clientWidth;
      if (!this.width) return;
      svg.setAttribute("viewBox", `0 0 ${this.width} ${HEIGHT}`);
      svg.setAttribute("width", this.width);
      svg.setAttribute("height", HEIGHT);
      svg.replaceChildren();
      this.points = 0;
      this.inner = Math.max(10, this.width - EDGE.left - EDGE.right);
      const all = this.extent();
      this.shown = all && (this.range || (all[0] < all[1] ? all : [all[0] - 1, all[1] + 1]));
      const ends = this.shown && this.heights();
      this.plot.setAttribute("aria-label", this.described());
      if (!ends) { this.empty(); return; }
      this.scales(ends);
      this.drawAxes(ends);
      const clip = make(make(svg, "defs"), "clipPath", {id: this.clip});
      make(clip, "rect", {
        x: EDGE.left, y: EDGE.top - 2, width: this.inner, height: HEIGHT - EDGE.top - EDGE.bottom + 4,
      });
      this.drawPresent();
      const group = make(svg, "g", {"clip-path": `url(#${this.clip})`, class: "curves-lines"});
      for (const line of this.seen) if (line.low) this.drawBand(group, line);
      for (const line of this.seen) this.drawLine(group, line);
      this.chosen = make(svg, "rect", {
        class: "curves-chosen", y: EDGE.top, height: HEIGHT - EDGE.top - EDGE.bottom, width: 0,
      });
      this.cross = make(svg, "line", {
        class: "curves-cross", y1: EDGE.top, y2: HEIGHT - EDGE.bottom, visibility: "hidden",
      });
      this.dots = make(svg, "g", {class: "curves-lines"});
      svg.dataset.points = this.points;
      this.drawPoint(!this.tip.hidden);
    }

    empty() {
      this.shown = null;
      this.tip.hidden = true;
      const words = make(this.svg, "text", {x: this.width / 2, y: HEIGHT / 2, class: "curves-none"});
      words.textContent = this.lines.some(line => line.x.length) ? "all hidden" : "not measured";
      this.svg.dataset.points = 0;
    }

    described() {
      const {label} = this.options, {seen} = this;
      const each = seen.slice(0, 6).map(line => {
        const k = line.y.findLastIndex(known);
        return k < 0 ? line.name : `${line.name} ${number(line.y[k], this.options.percent)}`;
      });
      const last = each.length ? ` Last values: ${each.join(", ")}.` : " Nothing was measured.";
      return `${label}, curves.${last} Arrow keys read values, plus and minus zoom, Escape resets.`;
    }

    // The lowest and highest value in the shown range.
    heights() {
      let low = Infinity, high = -Infinity;
      const [from, to] = this.shown;
      for (const line of this.seen) {
        const {x} = line, start = Math.max(0, place(x, from) - 1);
        const stop = Math.min(x.length, place(x, to) + 1);
        for (const values of [line.y, line.low, line.high]) {
          if (!values) continue;
          for (let k = start; k < stop; k += 1) {
            const value = values[k];
            if (!known(value) || (this.log && value <= 0)) continue;
            if (value < low) low = value;
            if (value > high) high = value;
          }
        }
      }
      if (low > high) return null;
      if (this.log) return low === high ? [low / 2, high * 2] : [low / 1.08, high * 1.08];
      if (this.options.zero && low > 0 && !this.range) low = 0;
      const room = high > low ? 0.05 * (high - low) : Math.abs(high) * 0.1 || 1;
      const floor = low >= 0 && low - room < 0 ? 0 : low - room;
      const ceiling = this.options.percent && high <= 1 ? Math.min(1.02, high + room) : high + room;
      return [floor, ceiling];
    }

    scales([low, high]) {
      const tall = HEIGHT - EDGE.top - EDGE.bottom, [left, right] = this.shown;
      this.px = x => EDGE.left + (this.inner * (x - left)) / (right - left);
      const share = this.log
        ? y => Math.log(Math.max(y, low / 10) / low) / Math.log(high / low)
        : y => (y - low) / (high - low);
      this.py = y => HEIGHT - EDGE.bottom - tall * share(y);
    }

    drawAxes([low, high]) {
      const {svg} = this, {percent} = this.options, bottom = HEIGHT - EDGE.bottom;
      const up = this.log ? {found: powers(low, high), step: low} : ticks(low, high, 6);
      for (const value of up.found) {
        const y = this.py(value);
        make(svg, "line", {class: "curves-grid", x1: EDGE.left, x2: EDGE.left + this.inner, y1: y, y2: y});
        const text = make(svg, "text", {class: "curves-tick", x: EDGE.left - 7, y: y + 4, "text-anchor": "end"});
        text.textContent = tick(value, percent, up.step);
      }
      const [from, to] = this.shown;
      for (const value of ticks(from, to, Math.max(3, Math.floor(this.inner / 75))).found) {
        if (!Number.isInteger(value)) continue;
        const x = this.px(value);
        make(svg, "line", {class: "curves-axis", x1: x, x2: x, y1: bottom, y2: bottom + 4});
        const end = x > EDGE.left + this.inner - 16 ? "end" : "middle";
        const text = make(svg, "text", {class: "curves-tick", x: end === "end" ? x + 6 : x, y: bottom + 18, "text-anchor": end});
        text.textContent = value.toLocaleString("en-US");
      }
      make(svg, "line", {class: "curves-axis", x1: EDGE.left, x2: EDGE.left + this.inner, y1: bottom, y2: bottom});
    }

    // Where a run stands, on a chart that also shows what is to come.
    drawPresent() {
      const {now} = this.options, [from, to] = this.shown;
      if (!known(now) || now < from || now > to) return;
      const x = this.px(now), left = x > EDGE.left + this.inner - 40;
      make(this.svg, "line", {class: "curves-now", x1: x, x2: x, y1: EDGE.top, y2: HEIGHT - EDGE.bottom});
      const text = make(this.svg, "text", {
        class: "curves-tick", x: left ? x - 5 : x + 5, y: EDGE.top + 8, "text-anchor": left ? "end" : "start",
      });
      text.textContent = "now";
    }

    // The numbers of the points to draw, with one more on either side.
    kept(line, y) {
      const [low, high] = this.shown, {x} = line;
      const from = Math.max(0, place(x, low) - 1), to = Math.min(x.length, place(x, high + 1e-9) + 1);
      return thinned(x, y, from, to, value => Math.round(this.px(value)));
    }

    path(kept, x, y) {
      let text = "", open = false;
      for (const k of kept) {
        if (k < 0 || (this.log && y[k] <= 0)) { open = false; continue; }
        text += `${open ? "L" : "M"}${this.px(x[k]).toFixed(1)} ${this.py(y[k]).toFixed(1)}`;
        open = true;
        this.points += 1;
      }
      return text;
    }

    drawLine(group, line) {
      const kept = this.kept(line, line.y), path = make(group, "path", {class: "curves-line"});
      path.setAttribute("d", this.path(kept, line.x, line.y));
      path.dataset.name = line.name;
      tint(path, line);
      const real = kept.filter(k => k >= 0), [k] = real;
      if (real.length !== 1) return;
      const at = {cx: this.px(line.x[k]), cy: this.py(line.y[k]), r: 3.5, class: "curves-dot"};
      tint(make(group, "circle", at), line);
    }

    drawBand(group, line) {
      const up = this.kept(line, line.high).filter(k => k >= 0);
      const down = this.kept(line, line.low).filter(k => k >= 0).reverse();
      if (!up.length || !down.length) return;
      const there = this.path(up, line.x, line.high);
      const back = this.path(down, line.x, line.low).replace("M", "L");
      tint(make(group, "path", {class: "curves-band", d: `${there}${back}Z`}), line);
    }
  }

  // A figure of a page that was written beforehand: its data are beside the still picture.
  const enliven = figure => {
    const data = JSON.parse(figure.querySelector("script.curves-data").textContent);
    const place = figure.querySelector(".curves-here");
    element(place, "p", "curves-title", `${data.options.label}, by ${data.options.x}`);
    new Chart(place, data.options).show(data.lines);
    figure.classList.add("curves-alive");
  };

  return {chart: (parent, options) => new Chart(parent, options), enliven, number, large, known, element, make, tint};
})();
