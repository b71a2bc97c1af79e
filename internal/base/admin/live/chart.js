// Two kinds of charts. Their labels are HTML around the picture, so that they never shrink with it.

// The picture's own units, whatever its size on the screen.
const WIDTH = 1000, HEIGHT = 100;

// frame puts a picture and its axes into a figure. The label is what a screen reader reads.
function frame(id, label, marks, top, left, right) {
  const svg = make('svg', { viewBox: '0 0 ' + WIDTH + ' ' + HEIGHT, preserveAspectRatio: 'none', role: 'img', 'aria-label': label }, ...marks);
  byId(id).replaceChildren(
    make('div', { class: 'axis' }, make('span', {}, top)),
    make('div', { class: 'plot' }, svg),
    make('div', { class: 'axis' }, make('span', {}, left), make('span', {}, right)));
}

// curve draws values over time: points are {t, v}, with t in milliseconds.
function curve(id, what, points, unit) {
  if (points.length < 2) { byId(id).replaceChildren(make('p', { class: 'none' }, 'The chart appears after the next update.')); return; }
  const most = Math.max(...points.map((p) => p.v));
  const scale = most > 0 ? most : 1;
  const from = points[0].t, span = points[points.length - 1].t - from || 1;
  const xy = points.map((p) => ((p.t - from) / span * WIDTH).toFixed(1) + ' ' + (HEIGHT - 2 - p.v / scale * (HEIGHT - 4)).toFixed(1));
  const path = 'M' + xy.join('L');
  frame(id, what + ' in the last ' + duration(span / 1000) + ', max ' + unit(most) + ', now ' + unit(points[points.length - 1].v),
    [make('path', { class: 'area', d: path + 'V' + HEIGHT + 'H0Z' }), make('path', { class: 'curve', d: path })],
    'max ' + unit(most), duration(span / 1000) + ' ago', 'now');
}

// bars draws one bar for each event of {t, v, bad, title}, from the oldest to now.
function bars(id, what, events, now, unit) {
  if (events.length === 0) { byId(id).replaceChildren(); return; }
  const most = Math.max(...events.map((e) => e.v), 1e-9);
  const from = Math.min(...events.map((e) => e.t)), span = Math.max(now - from, 1000);
  const marks = events.map((e) => {
    const x = 4 + Math.min(1, (e.t - from) / span) * (WIDTH - 8);
    return make('line', { class: e.bad ? 'bar bad' : 'bar', x1: x.toFixed(1), x2: x.toFixed(1), y1: HEIGHT,
      y2: (HEIGHT - 2 - e.v / most * (HEIGHT - 4)).toFixed(1) }, make('title', {}, e.title));
  });
  frame(id, what + ', ' + events.length + ' in the last ' + duration(span / 1000) + ', the longest ' + unit(most), marks,
    'max ' + unit(most), duration(span / 1000) + ' ago', 'now');
}
