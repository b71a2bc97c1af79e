// Looks at what a page shows, as a person would, and returns what is wrong with it.
(() => {
  const faults = [];
  const fault = (text) => { if (faults.length < 40) faults.push(text); };
  const name = (el) => {
    const text = (el.textContent || '').trim().replace(/\s+/g, ' ').slice(0, 40);
    return el.tagName.toLowerCase() + (el.id ? '#' + el.id : '') + (text ? ' "' + text + '"' : '');
  };
  const visible = (el) => el.checkVisibility({ opacityProperty: true, visibilityProperty: true });

  // The visible part of an element: what its scrolling or hiding ancestors leave of it.
  const clip = (el) => {
    let box = { left: -Infinity, top: -Infinity, right: Infinity, bottom: Infinity };
    for (let up = el; up && up !== document.documentElement; up = up.parentElement) {
      if (up.tagName === 'svg' || getComputedStyle(up).overflowX !== 'visible' || getComputedStyle(up).overflowY !== 'visible') {
        const r = up.getBoundingClientRect();
        box = { left: Math.max(box.left, r.left), top: Math.max(box.top, r.top),
          right: Math.min(box.right, r.right), bottom: Math.min(box.bottom, r.bottom) };
      }
    }
    return box;
  };

  // Every run of text on the page, with its boxes.
  const texts = [];
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walk.nextNode(); node; node = walk.nextNode()) {
    const el = node.parentElement;
    if (!node.nodeValue.trim() || ['SCRIPT', 'STYLE', 'NOSCRIPT', 'TEMPLATE', 'OPTION', 'TITLE', 'DESC'].includes(el.tagName.toUpperCase()) || !visible(el)) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    const within = clip(el);
    for (const r of range.getClientRects()) {
      const box = { el, left: Math.max(r.left, within.left), top: Math.max(r.top, within.top),
        right: Math.min(r.right, within.right), bottom: Math.min(r.bottom, within.bottom) };
      if (box.right - box.left > 1 && box.bottom - box.top > 1) texts.push(box); // else it is for screen readers alone
    }
  }
  if (texts.length === 0) fault('the page shows no text');

  // No two texts overlap. Lines of text may touch: their boxes are taller than their letters.
  texts.sort((a, b) => a.top - b.top);
  for (let i = 0; i < texts.length; i++) {
    const a = texts[i];
    for (let j = i + 1; j < texts.length && texts[j].top < a.bottom; j++) {
      const b = texts[j];
      const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left);
      const high = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      const least = Math.min(a.bottom - a.top, b.bottom - b.top);
      if (wide > 1 && high > 0.4 * least) fault('text overlaps: ' + name(a.el) + ' and ' + name(b.el));
    }
  }

  // Nothing is wider than the page, and no text is cut off at its right end.
  const page = document.documentElement;
  if (page.scrollWidth > page.clientWidth) {
    const wide = [...document.querySelectorAll('body *')].filter((el) => visible(el) && el.getBoundingClientRect().right > page.clientWidth + 1);
    fault('the page is ' + page.scrollWidth + ' px wide in a window of ' + page.clientWidth + (wide.length ? ': ' + name(wide[wide.length - 1]) : ''));
  }
  for (const t of texts) {
    const el = t.el;
    if (el.scrollWidth > el.clientWidth + 1 && el.clientWidth > 1 && getComputedStyle(el).overflowX === 'hidden' &&
        getComputedStyle(el).textOverflow !== 'ellipsis') fault('text is cut off: ' + name(el));
  }

  // Text is readable on its background: WCAG 2, 1.4.3, contrast of 4.5, and of 3 for large text.
  const rgba = (css) => {
    const canvas = rgba.canvas || (rgba.canvas = new OffscreenCanvas(1, 1).getContext('2d', { willReadFrequently: true }));
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = css;
    canvas.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  };
  const over = (top, under) => [0, 1, 2].map((i) => top[i] * top[3] + under[i] * (1 - top[3])).concat(1);
  const behind = (el) => {
    const layers = [];
    for (let up = el; up; up = up.parentElement) layers.push(rgba(getComputedStyle(up).backgroundColor));
    const dark = getComputedStyle(page).colorScheme.includes('dark') && matchMedia('(prefers-color-scheme: dark)').matches;
    return layers.reverse().reduce((under, top) => over(top, under), dark ? [18, 18, 18, 1] : [255, 255, 255, 1]);
  };
  const light = (c) => {
    const [r, g, b] = c.map((v) => { v /= 255; return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const looked = new Set();
  for (const { el } of texts) {
    if (looked.has(el) || el.closest('[disabled]')) continue;
    looked.add(el);
    const style = getComputedStyle(el);
    const back = behind(el instanceof SVGElement ? el.closest('svg').parentElement : el);
    const ink = over(rgba(el instanceof SVGElement ? style.fill : style.color), back);
    const [a, b] = [light(ink), light(back)];
    const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    const size = parseFloat(style.fontSize);
    const large = size >= 24 || size >= 18.66 && parseInt(style.fontWeight, 10) >= 700;
    if (contrast < (large ? 3 : 4.5)) fault('contrast of ' + contrast.toFixed(1) + ': ' + name(el));
    if (size < 10) fault('text of ' + size + ' px: ' + name(el));
  }

  // Each mark is inside its picture, and no attribute or text is the result of a failed calculation.
  for (const el of document.querySelectorAll('svg rect, svg circle, svg path, svg line, svg polyline')) {
    if (!visible(el)) continue;
    for (const { name: key, value } of el.attributes) {
      if (/NaN|undefined|Infinity/.test(value)) fault('a mark has ' + key + '="' + value.slice(0, 40) + '"');
    }
    const r = el.getBoundingClientRect(), within = el.ownerSVGElement.getBoundingClientRect();
    if (el.closest('defs, clipPath, [clip-path]')) continue;
    if (r.left < within.left - 2 || r.right > within.right + 2 || r.top < within.top - 2 || r.bottom > within.bottom + 2) fault('a mark leaves its picture: ' + name(el));
  }
  for (const { el } of texts) {
    if (/\b(NaN|undefined|Infinity|\[object)\b/.test(el.textContent) && el.childElementCount === 0) fault('a mistake is shown: ' + name(el));
  }

  // People who cannot see the page can still use it.
  if (!page.lang) fault('the page names no language');
  if (!document.title) fault('the page has no title');
  if (document.querySelectorAll('h1').length !== 1) fault('the page has ' + document.querySelectorAll('h1').length + ' h1');
  if (!document.querySelector('main')) fault('the page has no main');
  const named = (el) => el.getAttribute('aria-label') || el.getAttribute('aria-labelledby') || el.title || el.textContent.trim() ||
    (el.labels && el.labels.length) || el.querySelector(':scope > title');
  for (const el of document.querySelectorAll('a, button, input, select, textarea, summary, meter, progress, [role=img], [role=meter], [tabindex]')) {
    if (visible(el) && !named(el)) fault('has no name: ' + el.outerHTML.slice(0, 80));
  }
  for (const el of document.querySelectorAll('svg')) {
    if (visible(el) && !el.closest('[aria-hidden=true]') && !named(el)) fault('a picture has no name: ' + el.outerHTML.slice(0, 80));
  }
  const ids = [...document.querySelectorAll('[id]')].map((el) => el.id);
  for (const id of new Set(ids.filter((id, i) => ids.indexOf(id) !== i))) fault('two elements have the id ' + id);
  for (const el of document.querySelectorAll('table')) {
    if (visible(el) && !(el.caption || el.getAttribute('aria-label') || el.getAttribute('aria-labelledby'))) fault('a table has no caption');
    if (visible(el) && !el.querySelector('th')) fault('a table has no th');
  }
  return faults;
})()
