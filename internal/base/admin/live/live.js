// Asks the sidecar every two seconds while the page is visible, and shows the answers. Text from the sidecar
// is inserted only as text, never as HTML.

const EVERY = 2000;   // milliseconds from one answer to the next request
const PATIENCE = 5000;
const KEPT = 300;     // samples of the charts: ten minutes
const LEVELS = ['error', 'warning', 'info', 'debug', 'trace', 'unknown'];

let samples = [];     // {t, up, backlog, lines, bytes, by}, the oldest first
let rates = [];       // {t, v}: lines per second
let stopped = false, asking = false, timer = 0;

async function ask(path) {
  const answer = await fetch(path, { cache: 'no-store', signal: AbortSignal.timeout(PATIENCE) });
  if (!answer.ok) throw new Error('HTTP ' + answer.status);
  return answer.json();
}

async function refresh() {
  clearTimeout(timer);
  if (asking || stopped || document.hidden) return;
  asking = true;
  let answers;
  try {
    const status = await ask('status'); // one after the other: a page then needs only one connection
    answers = [status, await ask('recent')];
  } catch (problem) {
    state('no answer from the sidecar; the figures are old', 'bad');
  }
  asking = false;
  if (!stopped && !document.hidden) timer = setTimeout(refresh, EVERY);
  if (answers) {
    render(...answers);
    show('asked', 'as of ' + clock(Date.now()));
  }
}

function state(text, kind) {
  show('state', text);
  byId('state').className = 'state ' + kind;
}

function render(status, recent) {
  sample(status);
  const now = Date.parse(status.started) + status.uptimeSeconds * 1000; // the sidecar's clock
  show('pod', status.pod || '');
  document.title = (status.ready ? '' : '! ') + (status.pod ? status.pod + ' · ' : '') + 'ullage';
  state((status.ready ? 'ready' : 'not ready: ' + status.reason) + (status.dropping ? '; dropping lines now' : ''),
    status.ready && !status.dropping ? 'good' : 'bad');
  problems(status);
  space(status);
  backlog(status, now);
  volume(status);
  pauses(recent, now);
  levels(status.levels, now);
  losses(status, recent);
  sinks(status.sinks || []);
  streams(status);
  show('build', 'version ' + status.version + ', up ' + duration(status.uptimeSeconds) + ', reads ' + status.source + ', persists in ' + status.destination);
}

// sample keeps the figures for rates and charts. A sidecar that started again counts from zero.
function sample(s) {
  const last = samples[samples.length - 1];
  if (last && s.uptimeSeconds <= last.up) { samples = []; rates = []; }
  samples.push({ t: Date.now(), up: s.uptimeSeconds, backlog: s.backlogBytes, lines: s.persisted.lines, bytes: s.persisted.bytes, by: s.byLevel || {} });
  samples = samples.slice(-KEPT);
  if (samples.length > 1) rates = rates.concat({ t: Date.now(), v: rate((one) => one.lines, 1) }).slice(-KEPT);
}

// rate returns by how much a count grew per second over the given number of samples.
function rate(of, back) {
  const to = samples[samples.length - 1], from = samples[Math.max(0, samples.length - 1 - back)];
  return to.up > from.up ? Math.max(0, (of(to) - of(from)) / (to.up - from.up)) : 0;
}

const perSecond = (v) => (v > 0 && v < 10 ? v.toFixed(1) : count(v)) + ' lines/s';

// Percentages of the budget. Above the first, the backlog is compressed; above the second, lines below
// --keep-level are dropped; above the third, all lines are dropped.
const MARKS = { spool: 25, discard: 60, drop: 85 };

function space(s) {
  const share = s.budgetBytes > 0 ? Math.min(100, 100 * s.budgetUsedBytes / s.budgetBytes) : 0; // this decides when lines are dropped, however much of the tmpfs is free
  const text = 'of ' + bytes(s.budgetBytes) + ' used, ' + Math.round(share) + NBSP + '%';
  show('used', bytes(s.budgetUsedBytes));
  show('used-share', text);
  show('marks', 'compressed past ' + MARKS.spool + NBSP + '%, low levels dropped past ' + MARKS.discard + NBSP + '%, all lines past ' + MARKS.drop + NBSP + '%');
  const meter = byId('used-meter');
  meter.className = 'meter' + (share > MARKS.drop ? ' bad' : share > MARKS.discard ? ' warn' : '');
  meter.setAttribute('aria-valuenow', Math.round(share));
  meter.setAttribute('aria-valuetext', bytes(s.budgetUsedBytes) + ' ' + text);
  meter.firstElementChild.style.width = share + '%';
  if (meter.children.length === 1) {
    for (const at of Object.values(MARKS)) meter.append(make('i', {})), meter.lastElementChild.style.left = at + '%';
  }
  list('space', [['tmpfs', bytes(s.headroomBytes) + ' free'], ['queue', bytes(s.queueUsedBytes) + ' of ' + bytes(s.queueCapacityBytes)],
    ['reclaim', s.reclaim.mode + (s.reclaim.why ? ' (' + s.reclaim.why + ')' : '')]]);
}

function backlog(s, now) {
  const failed = s.destinationErrors || {};
  show('backlog', bytes(s.backlogBytes));
  show('lag', 'not yet durable' + (s.backlogBytes > 0 ? ', the oldest line for ' + duration(s.lagSeconds) : ''));
  curve('backlog-chart', 'Backlog', samples.map((one) => ({ t: one.t, v: one.backlog })), bytes);
  list('durable', [
    ['spool', s.spooledBytes > 0 ? bytes(s.spooledBytes) + ' of it, before compression' : ''],
    ['last commit', s.lastCommit ? duration(Math.max(0, (now - Date.parse(s.lastCommit)) / 1000)) + ' ago' : 'none yet'],
    ['copy', some(s.segments, 'segment') + (s.reaches ? ', back to ' + clock(s.reaches) : '')],
    ['destination', bytes(s.destinationFreeBytes) + ' free' + (failed.count > 0 && !failed.last ? ', ' + some(failed.count, 'error') + ' since the start, none lately' : '')],
    ['retention', s.deletedSegments > 0 ? some(s.deletedSegments, 'segment') + ' deleted since the start' : ''],
    ['recovery', s.cutBytes > 0 ? bytes(s.cutBytes) + ' of damaged ends cut' : '']]);
}

function volume(s) {
  const known = samples.length > 1;
  show('rate', known ? perSecond(rate((one) => one.lines, 5)) : '–');
  show('byte-rate', 'persisted' + (known ? ', ' + bytes(rate((one) => one.bytes, 5)) + '/s' : ''));
  list('persisted', [['since the start', lines(s.persisted.lines) + ', ' + bytes(s.persisted.bytes)]]);
  curve('rate-chart', 'Persisted lines', rates, perSecond);
  const by = s.byLevel || {};
  table('by-level', ['Level', '#Now', '#Since the start'], LEVELS.filter((level) => by[level] > 0)
    .map((level) => [level, known ? perSecond(rate((one) => one.by[level] || 0, 5)) : '–', lines(by[level])]));
}
