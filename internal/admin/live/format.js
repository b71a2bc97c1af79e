// Texts of figures, each with its unit, and the building of elements. Nothing here reads HTML.

// count writes a whole number: 12,345.
function count(n) { return Math.round(n || 0).toLocaleString('en'); }

// lines writes a number with its noun.
function lines(n) { return count(n) + (n === 1 ? ' line' : ' lines'); }

// three writes a number with three digits.
function three(v) { return v >= 100 ? v.toFixed(0) : v >= 10 ? v.toFixed(1) : v.toFixed(2); }

// bytes writes a size: 1.50 MiB.
function bytes(n) {
  let value = n || 0, unit = 0;
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  while (value >= 1023.5 && unit < units.length - 1) { value /= 1024; unit++; }
  return (unit === 0 ? count(value) : three(value)) + ' ' + units[unit];
}

// duration writes seconds: 12.3 ms, 4.20 s, 3 min 5 s, 2 h 10 min, 3 d 4 h.
function duration(s) {
  if (!(s > 0)) return '0 s';
  if (s < 0.9995) return three(s * 1000) + ' ms';
  if (s < 60) return three(s) + ' s';
  const parts = s < 3600 ? [s / 60, 'min', s % 60, 's'] : s < 86400 ? [s / 3600, 'h', s % 3600 / 60, 'min'] : [s / 86400, 'd', s % 86400 / 3600, 'h'];
  return Math.floor(parts[0]) + ' ' + parts[1] + ' ' + Math.floor(parts[2]) + ' ' + parts[3];
}

// clock writes the time of day, with the date if that is not today's.
function clock(time) {
  const at = new Date(time);
  const text = at.toLocaleTimeString('en-GB');
  return at.toDateString() === new Date().toDateString() ? text : at.toLocaleDateString('sv') + ' ' + text;
}

// make returns an element with children: nodes, or texts, which stay texts.
function make(tag, attributes, ...children) {
  const svg = ['svg', 'path', 'line', 'title'].includes(tag);
  const el = svg ? document.createElementNS('http://www.w3.org/2000/svg', tag) : document.createElement(tag);
  for (const [key, value] of Object.entries(attributes || {})) el.setAttribute(key, value);
  el.append(...children);
  return el;
}

const byId = (id) => document.getElementById(id);

// show sets the text of an element, if it is another one: a screen reader repeats what is written.
function show(id, text) { if (byId(id).textContent !== text) byId(id).textContent = text; }

// list fills a dl with pairs of a name and a text; a pair without a text is left out.
function list(id, pairs) {
  byId(id).replaceChildren(...pairs.filter(([, text]) => text).flatMap(([name, text, bad]) =>
    [make('dt', {}, name), make('dd', bad ? { class: 'bad-text' } : {}, text)]));
}

// table fills a table with a head and rows; a column whose name begins with # has figures. Without
// rows it is hidden, with what is around it.
function table(id, head, rows) {
  const el = byId(id);
  el.parentElement.hidden = rows.length === 0;
  const figures = head.map((name) => name.startsWith('#'));
  const cell = (tag, i, text) => make(tag, { ...(figures[i] && { class: 'n' }), ...(tag === 'th' && { scope: 'col' }) }, text);
  el.replaceChildren(el.caption,
    make('thead', {}, make('tr', {}, ...head.map((name, i) => cell('th', i, name.replace('#', ''))))),
    make('tbody', {}, ...rows.map((row) => make('tr', {}, ...row.map((text, i) => cell('td', i, text))))));
}
