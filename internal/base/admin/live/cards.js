// What the page shows of problems, pauses, levels, losses, sinks and streams.

const ROWS = 10;     // in the tables of pauses and gaps
const STREAMS = 20;

function pauses(recent, now) {
  const all = recent.pauses || [];
  bars('pause-chart', 'Pauses', all.map((p) => ({ t: Date.parse(p.at), v: p.seconds, bad: Boolean(p.verdict),
    title: clock(p.at) + ' ' + p.name + ' ' + duration(p.seconds) })), now, duration);
  table('pauses', ['Time', '~Pause', '#Duration', '#To safepoint', 'Suspected'], all.slice(-ROWS).reverse().map((p) =>
    [clock(p.at), p.name, duration(p.seconds), p.reachSeconds > 0 ? duration(p.reachSeconds) : '–', p.verdict ? alarm(p.verdict, p.evidence) : '–']));
  show('no-pauses', all.length ? '' : 'No pause was read since the sidecar started. The JVM logs pauses with gc=info or safepoint=info, and --jvm-metrics has the sidecar read them.');
}

function levels(l, now) {
  if (!l) { show('level', 'not managed'); list('levels', []); return; }
  const left = l.raise ? (Date.parse(l.raise.until) - now) / 1000 : 0;
  show('level', l.off ? 'off' : l.raise ? 'raised' : 'the JVM’s own');
  const rows = [];
  if (l.raise) {
    rows.push(['selection', l.raise.selection], ['streams', l.raise.stream], ['why', l.raise.cause + ': ' + l.raise.why],
      ['ends', clock(l.raise.until) + (left > 0 ? ', in ' + duration(left) : '')]);
  }
  for (const j of l.jvms || []) {
    if (j.error || j.applied) rows.push(['JVM ' + j.pid, j.error || j.applied + ' on ' + (j.outputs || []).join(', '), Boolean(j.error)]);
  }
  if (l.trigger) {
    rows.push(['trigger', l.trigger.conditions + (l.trigger.armed ? ', armed' : ', not armed' + (l.trigger.disarmed ? ': ' + l.trigger.disarmed : ''))],
      ['never met', l.trigger.never], ['missed', l.trigger.missed > 0 ? lines(l.trigger.missed) + ' while it was not armed' : '']);
  }
  list('levels', rows);
}

function losses(s, recent) {
  const lost = s.jvmLost || {};
  const events = s.eventsDropped || 0;
  const all = s.dropped.lines + events + (lost.async || 0) + (lost.cut || 0);
  show('loss', s.dropping ? 'dropping lines now' : all === 0 ? 'none since the start' : lines(all) + ' lost since the start');
  byId('loss').className = s.dropping ? 'bad-text' : '';
  const by = Object.entries(s.droppedBy || {}).map(([reason, levels]) => [reason, LEVELS.filter((level) => levels[level] > 0)
    .map((level) => count(levels[level]) + ' ' + level).join(', ')]);
  list('losses', [['dropped', s.dropped.lines > 0 ? lines(s.dropped.lines) + ', ' + bytes(s.dropped.bytes) : ''], ...by,
    ['by rings', events > 0 ? some(events, 'event') + ' that a full ring refused' : ''],
    ['by the JVM', lost.async > 0 ? lines(lost.async) + ' by -Xlog:async' : ''],
    ['cut', lost.cut > 0 ? lines(lost.cut) + ' by a full tmpfs; more may be lost whole' : '']]);
  table('gaps', ['From', '#Duration', '~Stream', '#Dropped', '~Levels'], (recent.gaps || []).slice(-ROWS).reverse().map((g) =>
    [clock(g.first), duration((Date.parse(g.last) - Date.parse(g.first)) / 1000), g.stream, lines(g.lines),
      LEVELS.filter((level) => (g.byLevel || {})[level] > 0).map((level) => count(g.byLevel[level]) + ' ' + level).join(', ')]));
}

// problems lists what is wrong now. It begins with what ended a JVM and with crashes of JVMs.
function problems(s) {
  const all = [];
  const last = s.destinationErrors || {};
  const levels = s.levels || {};
  if (s.jvmCrashes > 0) all.push(alarm((s.jvmCrashes === 1 ? 'A JVM' : count(s.jvmCrashes) + ' JVMs') + ' crashed since the start: ullage logs --stream \'hs_err*\' prints the report' + (s.jvmCrashes === 1 ? '' : 's')));
  if (s.jvmEnd) all.unshift(alarm('A JVM ended: ' + clock(s.jvmEnd.at) + ' pid ' + s.jvmEnd.pid + ': ' + (s.jvmEnd.why || s.jvmEnd.how || 'it is not known how')));
  if (last.last) all.push('destination: ' + clock(last.lastAt) + ' ' + last.last + ' (' + count(last.count) + ' since the start)');
  for (const one of s.sinks || []) if (one.failure) all.push('sink ' + one.name + ': ' + one.failure);
  if (s.jvmUser) all.push(s.jvmUser.advice);
  for (const one of levels.errors || []) all.push('levels: ' + one);
  for (const a of levels.annotations || []) all.push('annotation ' + a.key + '=' + a.value + ': ' + a.problem);
  for (const one of levels.otherLogs || []) all.push('log outside the source: ' + one + '; the JVM waits for that disk');
  for (const one of s.streams) if (one.refused && all.length < 50) all.push('stream ' + one.name + ': ' + one.refused);
  for (const one of s.rings || []) if (one.problem && all.length < 50) all.push('ring ' + one.name + ': ' + one.problem);
  byId('problems').hidden = all.length === 0;
  byId('errors').replaceChildren(...all.map((text) => make('li', {}, text)));
}

function sinks(all) {
  byId('sinks-box').hidden = all.length === 0;
  table('sinks', ['Sink', '~URL', '#Lag', '#Left', '#Acknowledged', '#Rejected', 'State'], all.map((one) => [one.name, one.url, duration(one.lagSeconds), bytes(one.backlogBytes),
    one.segments > 0 ? some(one.segments, 'segment') : lines(one.lines), lines(one.rejectedLines || 0), one.failure ? alarm('fails') : 'ok']));
}

function streams(s) {
  const all = s.streams.slice().sort((a, b) => b.backlogBytes - a.backlogBytes || b.persistedBytes - a.persistedBytes);
  table('streams', ['~Stream', '#Files', '#Backlog', '#Persisted', '#Bytes', '#Dropped'], all.slice(0, STREAMS).map((one) => [one.name + (one.kind ? ' (' + one.kind + ')' : ''),
    count(one.files), bytes(one.backlogBytes), lines(one.persistedLines), bytes(one.persistedBytes), lines(one.droppedLines || 0)]));
  const more = Math.max(0, all.length - STREAMS) + (s.streamsOmitted || 0);
  const ignored = Object.entries(s.ignored || {}).map(([reason, n]) => some(n, 'entry', 'entries') + ' of the source ignored: ' + reason);
  show('no-streams', [all.length === 0 ? 'No files are in the source now.' : '', more ? 'and ' + some(more, 'more stream') : '', ...ignored].filter(Boolean).join('; '));
}

byId('stop').addEventListener('click', () => {
  stopped = !stopped;
  byId('stop').setAttribute('aria-pressed', String(stopped));
  refresh();
});
document.addEventListener('visibilitychange', refresh);
refresh();
