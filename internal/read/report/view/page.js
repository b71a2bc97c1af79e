"use strict";
(() => {
  const NS = "http://www.w3.org/2000/svg";
  const LEFT = 62, RIGHT = 14, TOP = 24, BOTTOM = 38;
  const NAMES = {young: "young collection", full: "full collection", degenerated: "degenerated", concurrent: "pause of a concurrent cycle",
    safepoint: "other safepoint", stall: "allocation stall (one thread)", dropped: "sidecar dropped lines", "jvm-async": "JVM dropped lines",
    "jvm-full": "JVM’s disk was full", missing: "segments missing", unreadable: "not readable", hole: "hole: memory reclaimed", restart: "another JVM",
    raised: "level raised", missed: "archives overwritten unread", truncated: "file truncated", crash: "JVM crashed", sidecar: "sidecar started again",
    saved: "withheld lines saved"};
  // One shape for each kind, so that color is not needed to tell the kinds apart.
  const FORMS = {young: "M-3 0a3 3 0 1 0 6 0a3 3 0 1 0-6 0", full: "M-3.5-3.5h7v7h-7z", degenerated: "M0-4.5L4.5 0L0 4.5L-4.5 0z",
    concurrent: "M0-4L4 3H-4z", safepoint: "M0 4L4-3H-4z", stall: "M-1.5-4.5h3v9h-3z"};

  const make = (name, attributes, parent, text) => {
    const e = document.createElementNS(NS, name);
    for (const k in attributes) e.setAttribute(k, attributes[k]);
    if (text !== undefined) e.textContent = text;
    if (parent) parent.appendChild(e);
    return e;
  };
  const digits = v => v >= 99.95 ? v.toFixed(0) : v >= 9.995 ? v.toFixed(1) : v.toFixed(2);
  const duration = s => s >= 1 ? digits(s) + " s" : s >= 1e-3 ? digits(s * 1e3) + " ms" : digits(s * 1e6) + " µs";
  const plain = s => s >= 1 ? +s.toPrecision(3) + " s" : s >= 1e-3 ? +(s * 1e3).toPrecision(3) + " ms" : +(s * 1e6).toPrecision(3) + " µs";

  // The steps of the time axis. The axis uses the first one that leaves room for its labels.
  const STEPS = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 28800, 43200,
    86400, 172800, 604800, 2592000, 31536000];
  const step = (span, room) => STEPS.find(s => span / s <= room) || Math.pow(10, Math.ceil(Math.log10(span / room)));
  const iso = t => new Date(Math.round(t * 1000)).toISOString();
  const timeText = (t, dated) => dated ? iso(t).replace("T", " ") : +t.toFixed(3) + " s";
  // A label shows the date only if the axis spans several dates.
  const tickText = (t, by, dated, day) => {
    if (!dated) return +t.toFixed(3) + " s";
    if (by >= 86400) return iso(t).slice(0, 10);
    if (by >= 60) return day ? iso(t).slice(11, 16) : iso(t).slice(5, 16).replace("T", " ");
    return by >= 1 ? iso(t).slice(11, 19) : iso(t).slice(11, 23);
  };
  const timeAxis = (g, view, w, h, data) => {
    const from = iso(Math.max(view.from, data.begin)).slice(0, 10), to = iso(Math.min(view.to, data.end)).slice(0, 10), day = data.dated && from === to;
    const span = view.to - view.from, wide = data.dated && !(day && span > 600), by = step(span, Math.max(2.5, (w - LEFT - RIGHT) / (wide ? 95 : 60)));
    const half = wide ? 30 : 18;
    for (let t = Math.ceil(view.from / by) * by; t <= view.to; t += by) {
      const x = LEFT + (t - view.from) / span * (w - LEFT - RIGHT);
      make("line", {x1: x, x2: x, y1: TOP, y2: h - BOTTOM, class: "grid"}, g);
      if (x - LEFT < half || w - RIGHT - x < half) continue; // its label would leave the chart
      make("text", {x, y: h - BOTTOM + 15, "text-anchor": "middle", class: "tick"}, g, tickText(t, by, data.dated, day));
    }
    const title = !data.dated ? "uptime of the JVM (s)" : day ? `time on ${from} (UTC)` : "time (UTC)";
    make("text", {x: (LEFT + w - RIGHT) / 2, y: h - 5, "text-anchor": "middle", class: "unit"}, g, title);
  };
  const valueAxis = (g, title) => make("text", {x: LEFT, y: TOP - 9, class: "unit"}, g, title);
  const begin = box => {
    box.textContent = "";
    const w = Math.max(260, box.clientWidth), h = box.clientHeight;
    return {w, h, svg: make("svg", {viewBox: `0 0 ${w} ${h}`, "aria-hidden": "true"}, box)};
  };

  const drawTimeline = (box, data, view) => {
    const {w, h, svg} = begin(box), grid = make("g", {}, svg), bands = make("g", {class: "bands"}, svg), marks = make("g", {class: "marks"}, svg);
    const inside = w - LEFT - RIGHT, X = t => LEFT + (t - view.from) / (view.to - view.from) * inside;
    let low = Infinity, high = 0;
    for (const s of data.series) for (const p of s.points) { low = Math.min(low, p.v); high = Math.max(high, p.v); }
    if (!high) { low = 1e-3; high = 1; }
    const lo = Math.floor(Math.log10(Math.max(low, 1e-6))), hi = Math.max(lo + 1, Math.ceil(Math.log10(high * 1.02)));
    const Y = v => h - BOTTOM - (Math.log10(Math.max(v, Math.pow(10, lo))) - lo) / (hi - lo) * (h - BOTTOM - TOP);
    timeAxis(grid, view, w, h, data);
    valueAxis(grid, "length of the stop (logarithmic)");
    for (let e = lo; e <= hi; e++) {
      const y = Y(Math.pow(10, e));
      make("line", {x1: LEFT, x2: w - RIGHT, y1: y, y2: y, class: "grid"}, grid);
      make("text", {x: LEFT - 6, y: y + 4, "text-anchor": "end", class: "tick"}, grid, plain(Math.pow(10, e)));
    }
    make("rect", {x: LEFT, y: TOP, width: inside, height: h - BOTTOM - TOP, class: "frame"}, grid);
    for (const b of data.bands) {
      if (b.end < view.from || b.begin > view.to) continue;
      const x = Math.max(LEFT, X(b.begin)), width = Math.max(2, Math.min(w - RIGHT, X(b.end)) - x);
      const r = make("rect", {x: Math.min(x, w - RIGHT - width), y: TOP, width, height: h - BOTTOM - TOP, class: "band b-" + b.kind}, bands);
      make("title", {}, r, b.text);
    }
    for (const s of data.series) {
      const best = new Map(); // the longest within every two pixels
      for (const p of s.points) {
        if (p.t < view.from || p.t > view.to) continue;
        const column = Math.floor(X(p.t) / 2), old = best.get(column);
        if (!old || p.v > old.v) best.set(column, p);
      }
      for (const p of best.values()) {
        const m = make("path", {d: FORMS[s.kind], transform: `translate(${X(p.t).toFixed(1)} ${Y(p.v).toFixed(1)})`, class: "mark k-" + s.kind}, marks);
        make("title", {}, m, `${NAMES[s.kind]}: ${duration(p.v)}\n${timeText(p.t, data.dated)}${p.n > 1 ? `\nthe longest of ${p.n} here` : ""}`);
      }
    }
  };

  const drawHeap = (box, data, view) => {
    const {w, h, svg} = begin(box), grid = make("g", {}, svg);
    const inside = w - LEFT - RIGHT, X = t => LEFT + (t - view.from) / (view.to - view.from) * inside;
    let high = 1;
    for (const p of [...data.heap.before, ...data.heap.after, ...data.heap.capacity]) high = Math.max(high, p.v);
    const exp = Math.min(4, Math.floor(Math.log2(high) / 10)), unit = ["B", "KiB", "MiB", "GiB", "TiB"][exp], one = Math.pow(1024, exp);
    let by = Math.pow(10, Math.floor(Math.log10(high / one / 4)));
    by *= [1, 2, 5, 10].find(m => high / one / (by * m) <= 6);
    const top = Math.ceil(high / one / by * 1.001) * by, Y = v => h - BOTTOM - v / one / top * (h - BOTTOM - TOP);
    timeAxis(grid, view, w, h, data);
    valueAxis(grid, "heap");
    for (let v = 0; v <= top * 1.0001; v += by) {
      make("line", {x1: LEFT, x2: w - RIGHT, y1: Y(v * one), y2: Y(v * one), class: "grid"}, grid);
      make("text", {x: LEFT - 6, y: Y(v * one) + 4, "text-anchor": "end", class: "tick"}, grid, +v.toPrecision(3) + " " + unit);
    }
    make("rect", {x: LEFT, y: TOP, width: inside, height: h - BOTTOM - TOP, class: "frame"}, grid);
    const inView = p => p.t >= view.from && p.t <= view.to;
    let d = "";
    for (const p of data.heap.capacity.filter(inView)) d += d ? `H${X(p.t).toFixed(1)}V${Y(p.v).toFixed(1)}` : `M${X(p.t).toFixed(1)} ${Y(p.v).toFixed(1)}`;
    if (d) make("path", {d: d + `H${w - RIGHT}`, class: "capacity"}, svg);
    for (const [name, points] of [["before", data.heap.before], ["after", data.heap.after]]) {
      const best = new Map();
      for (const p of points.filter(inView)) best.set(Math.floor(X(p.t) / 2), p);
      for (const p of best.values()) {
        const x = X(p.t), y = Y(p.v);
        const c = name === "after" ? make("circle", {cx: x.toFixed(1), cy: y.toFixed(1), r: 2, class: name}, svg)
          : make("rect", {x: (x - 2.5).toFixed(1), y: (y - 0.75).toFixed(1), width: 5, height: 1.5, class: name}, svg);
        make("title", {}, c, `${digits(p.v / one)} ${unit} in use ${name} a collection\n${timeText(p.t, data.dated)}`);
      }
    }
  };

  const drawBars = (box, data) => {
    const {w, h, svg} = begin(box), grid = make("g", {}, svg), n = data.bars.length;
    let high = 1;
    for (const b of data.bars) high = Math.max(high, b.count);
    const decades = Math.max(1, Math.ceil(Math.log10(high + 1))), Y = v => h - BOTTOM - Math.log10(v + 1) / Math.log10(Math.pow(10, decades) + 1) * (h - BOTTOM - TOP);
    for (let e = 0; e <= decades; e++) {
      const v = Math.pow(10, e), y = Y(v);
      if (y < TOP - 1) continue;
      make("line", {x1: LEFT, x2: w - RIGHT, y1: y, y2: y, class: "grid"}, grid);
      make("text", {x: LEFT - 6, y: y + 4, "text-anchor": "end", class: "tick"}, grid, v.toLocaleString("en"));
    }
    make("rect", {x: LEFT, y: TOP, width: w - LEFT - RIGHT, height: h - BOTTOM - TOP, class: "frame"}, grid);
    const each = (w - LEFT - RIGHT) / Math.max(1, n), every = Math.ceil(64 / each);
    data.bars.forEach((b, i) => {
      const x = LEFT + i * each;
      if (b.count) {
        const r = make("rect", {x: x + 1, y: Y(b.count), width: Math.max(1, each - 2), height: h - BOTTOM - Y(b.count), class: "column"}, svg);
        make("title", {}, r, `${b.count} stops from ${plain(b.from)} to ${plain(b.to)}`);
      }
      const last = i === n - 1;
      if (last || (n - 1 - i) % every === 0) make("text", {x: x + each, y: h - BOTTOM + 15, "text-anchor": last ? "end" : "middle", class: "tick"}, grid, plain(b.to));
    });
    if (((n - 1) % every + 1) * each > 80) make("text", {x: LEFT, y: h - BOTTOM + 15, "text-anchor": "start", class: "tick"}, grid, plain(data.bars[0].from));
    make("text", {x: (LEFT + w - RIGHT) / 2, y: h - 5, "text-anchor": "middle", class: "unit"}, grid, "length of the stop (logarithmic)");
    valueAxis(grid, "number of stops (logarithmic)");
  };

  const legend = (box, data) => {
    for (const s of data.series) {
      const item = document.createElement("span"), svg = make("svg", {viewBox: "-6 -6 12 12", "aria-hidden": "true"}, item);
      make("path", {d: FORMS[s.kind], class: "k-" + s.kind}, svg);
      item.append(NAMES[s.kind]);
      box.append(item);
    }
    for (const kind of new Set(data.bands.map(b => b.kind))) {
      const item = document.createElement("span"), svg = make("svg", {viewBox: "-6 -6 12 12", "aria-hidden": "true"}, item);
      make("rect", {x: -2, y: -6, width: 4, height: 12, class: "band b-" + kind}, svg);
      item.append(NAMES[kind]);
      box.append(item);
    }
  };

  const sizes = (box, heap) => {
    const add = (name, shape, attributes, text) => {
      if (!heap[name].length) return;
      const item = document.createElement("span"), svg = make("svg", {viewBox: "-6 -6 12 12", "aria-hidden": "true"}, item);
      make(shape, {...attributes, class: name}, svg);
      item.append(text);
      box.append(item);
    };
    add("capacity", "path", {d: "M-6 0h12v.1"}, "size of the heap");
    add("before", "rect", {x: -4, y: -1, width: 8, height: 2}, "in use before a collection");
    add("after", "circle", {r: 3}, "in use after it");
  };

  const show = report => {
    const data = JSON.parse(report.querySelector(".data").textContent);
    const line = report.querySelector(".timeline"), heap = report.querySelector(".heap"), bars = report.querySelector(".bars");
    const pad = Math.max((data.end - data.begin) * 0.01, 0.001), all = {from: data.begin - pad, to: data.end + pad};
    let view = {...all};
    const draw = () => {
      if (line) drawTimeline(line, data, view);
      if (heap) drawHeap(heap, data, view);
      if (bars) drawBars(bars, data);
    };
    if (heap) sizes(report.querySelector(".sizes"), data.heap);
    if (!line) return draw();
    const go = (from, to) => {
      const least = 0.002, span = Math.min(Math.max(to - from, least), all.to - all.from), middle = (from + to) / 2;
      from = Math.min(Math.max(middle - span / 2, all.from), all.to - span);
      view = {from, to: from + span};
      draw();
    };
    const zoom = by => { const m = (view.from + view.to) / 2, half = (view.to - view.from) * by / 2; go(m - half, m + half); };
    const move = by => { const d = (view.to - view.from) * by; go(view.from + d, view.to + d); };
    const acts = {in: () => zoom(0.5), out: () => zoom(2), all: () => go(all.from, all.to)};
    for (const b of report.querySelectorAll("button[data-do]")) b.addEventListener("click", acts[b.dataset.do]);
    const keys = {"+": acts.in, "=": acts.in, "-": acts.out, "0": acts.all, Escape: acts.all, Home: acts.all, ArrowLeft: () => move(-0.25), ArrowRight: () => move(0.25)};
    line.addEventListener("keydown", e => {
      if (!keys[e.key] || e.ctrlKey || e.metaKey || e.altKey) return;
      e.preventDefault();
      keys[e.key]();
    });
    let from = null, area = null;
    const at = e => Math.min(Math.max(e.clientX - line.getBoundingClientRect().left, LEFT), line.clientWidth - RIGHT);
    const time = x => view.from + (x - LEFT) / (line.clientWidth - LEFT - RIGHT) * (view.to - view.from);
    line.addEventListener("pointerdown", e => {
      if (e.button !== 0) return;
      from = at(e);
      line.setPointerCapture(e.pointerId);
      area = make("rect", {x: from, y: TOP, width: 0, height: line.clientHeight - TOP - BOTTOM, class: "select"}, line.querySelector("svg"));
    });
    line.addEventListener("pointermove", e => {
      if (from === null) return;
      area.setAttribute("x", Math.min(from, at(e)));
      area.setAttribute("width", Math.abs(at(e) - from));
    });
    const stop = e => {
      if (from === null) return;
      const a = Math.min(from, at(e)), b = Math.max(from, at(e));
      from = null;
      area.remove();
      if (e.type === "pointerup" && b - a > 4) go(time(a), time(b));
    };
    line.addEventListener("pointerup", stop);
    line.addEventListener("pointercancel", stop);
    line.addEventListener("dblclick", acts.all);
    legend(report.querySelector(".kinds"), data);
    draw();
    let width = line.clientWidth;
    new ResizeObserver(() => {
      if (line.clientWidth === width) return;
      width = line.clientWidth;
      draw();
    }).observe(line);
  };
  for (const report of document.querySelectorAll(".report")) show(report);
})();
