// Formats figures with their units and builds elements. Nothing here parses HTML.

// count writes a whole number: 12,345.
function count(n) { return Math.round(n || 0).toLocaleString('en'); }

// A figure and its unit stay on one line.
const NBSP = '\u00a0';

// some writes a number with its noun.
function some(n, one, more) { return count(n) + NBSP + (n === 1 ? one : more || one + 's'); }

function lines(n) { return some(n, 'line'); }

// three writes a number with three digits.
function three(v) { return v >= 100 ? v.toFixed(0) : v >= 10 ? v.toFixed(1) : v.toFixed(2); }

// bytes writes a size: 1.50 MiB.
function bytes(n) {
  let value = n || 0, unit = 0;
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  while (value >= 1023.5 && unit < units.length - 1) { value /= 1024; unit++; }
  return (unit === 0 ? count(value) : three(value)) + NBSP + units[unit];
}

// duration writes seconds: 3.10 µs, 12.3 ms, 4.20 s, 3 min 5 s, 2 h 10 min, 3 d 4 h.
function duration(s) {
  if (!(s > 0)) return '0' + NBSP + 's';
  if (s < 0.0009995) return three(s * 1e6) + NBSP + 'µs';
  if (s < 0.9995) return three(s * 1000) + NBSP + 'ms';
  if (s < 60) return three(s) + NBSP + 's';
  const parts = s < 3600 ? [s / 60, 'min', s % 60, 's'] : s < 86400 ? [s / 3600, 'h', s % 3600 / 60, 'min'] : [s / 86400, 'd', s % 86400 / 3600, 'h'];
  return Math.floor(parts[0]) + NBSP + parts[1] + ' ' + Math.floor(parts[2]) + NBSP + parts[3];
}

// clock writes the time of day, with the date if that is not today's.
function clock(time) {
  const at = new Date(time);
  const text = at.toLocaleTimeString('en-GB');
  return at.toDateString() === new Date().toDateString() ? text : at.toLocaleDateString('sv') + ' ' + text;
}

// make returns an element with children: nodes, or strings, which are inserted as text.
function make(tag, attributes, ...children) {
  const svg = ['svg', 'path', 'line', 'title'].includes(tag);
  const el = svg ? document.createElementNS('http://www.w3.org/2000/svg', tag) : document.createElement(tag);
  for (const [key, value] of Object.entries(attributes || {})) el.setAttribute(key, value);
  el.append(...children);
  return el;
}

// alarm returns a text that stands out. Hovering over it shows why, if that is given.
function alarm(text, why) { return make('strong', why ? { class: 'bad-text', title: why } : { class: 'bad-text' }, text); }

const byId = (id) => document.getElementById(id);

// show sets the text of an element only if the text changes: a screen reader repeats what is written.
function show(id, text) { if (byId(id).textContent !== text) byId(id).textContent = text; }

// list fills a dl with pairs of a name and a text; a pair without a text is left out.
function list(id, pairs) {
  byId(id).replaceChildren(...pairs.filter(([, text]) => text).flatMap(([name, text, bad]) =>
    [make('dt', {}, name), make('dd', bad ? { class: 'bad-text' } : {}, text)]));
}

// table fills a table with a head and rows. A column has figures if its name begins with #, and texts that
// may be long if its name begins with ~. Without rows, the table and its parent are hidden. If the table is
// too narrow for columns, the style puts each cell after the name of its column; the roles keep it a table
// for screen readers.
function table(id, head, rows) {
  const el = byId(id);
  el.parentElement.hidden = rows.length === 0;
  const names = head.map((name) => name.replace(/^[#~]/, ''));
  const kinds = head.map((name) => (name.startsWith('#') ? { class: 'n' } : name.startsWith('~') ? { class: 't' } : {}));
  const line = (cells) => make('tr', { role: 'row' }, ...cells);
  el.setAttribute('role', 'table');
  el.replaceChildren(el.caption,
    make('thead', { role: 'rowgroup' }, line(names.map((name, i) => make('th', { ...kinds[i], role: 'columnheader', scope: 'col' }, name)))),
    make('tbody', { role: 'rowgroup' }, ...rows.map((row) => line(row.map((text, i) => make('td', { ...kinds[i], role: 'cell', 'data-name': names[i] }, text))))));
}
