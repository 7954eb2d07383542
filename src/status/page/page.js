"use strict";
const POLL_MS = 1000, PATIENCE_MS = 5000, KEPT_S = 120, SMOOTH_S = 5, WIDTH = 240, HEIGHT = 40;
/* From the bottom of a stack to its top: what was held up is never hidden behind what was let through. */
const KINDS = [
  { kind: "drop", word: "dropped" }, { kind: "refuse", word: "refused" }, { kind: "challenge", word: "challenged" },
  { kind: "delay", word: "delayed" }, { kind: "mark", word: "marked" }, { kind: "allow", word: "let through" },
];
const AWAY = ["refuse", "drop"];
const at = id => document.getElementById(id);
const history = [];          /* samples of the last KEPT_S seconds, oldest first: see sampleOf */
const cards = new Map();     /* limit's name: its elements */
const inView = new Set();    /* boxes of limits that can be seen: with a thousand limits, only these are drawn */
const watcher = new IntersectionObserver(entries => {
  for (const entry of entries) inView[entry.isIntersecting ? "add" : "delete"](entry.target);
  drawLimits();
}, { rootMargin: "200px" });
let latest = null, paused = false, failing = "", timer = 0, spent = 0, names = "";

/* ---- words ---- */

function short(n) {
  if (n === 0) return "0";
  if (n < 0.1) return "<0.1";
  if (n < 10) return n.toFixed(1);
  if (n < 10000) return Math.round(n).toLocaleString("en");
  for (const unit of ["k", "M", "G"]) {
    n /= 1000;
    if (n < 1000 || unit === "G") return (n < 100 ? n.toFixed(1) : Math.round(n)) + unit;
  }
}
const whole = n => n < 1e7 ? n.toLocaleString("en") : short(n);
const some = n => n < 10000 ? whole(n) : short(n);
const percent = p => p > 0 && p < 0.001 ? "<0.1" : (100 * p).toFixed(p < 0.0995 && p > 0 ? 1 : 0);
function lasting(s) {
  for (const [unit, name] of [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]])
    if (s >= unit && (s % unit === 0 || s >= 10 * unit)) return Math.round(s / unit) + " " + name;
  return s < 1 ? Math.round(s * 1000) + " ms" : s + " s";
}
function ago(s) {
  for (const [unit, name] of [[86400, "day"], [3600, "hour"], [60, "minute"]])
    if (s >= unit) { const n = Math.floor(s / unit); return n + " " + name + (n > 1 ? "s" : "") + " ago"; }
  return "just now";
}
function instant(s) {        /* a short time: [number, unit] */
  for (const [unit, name] of [[1, "s"], [1e-3, "ms"], [1e-6, "µs"]])
    if (s >= unit) return [Number((s / unit).toPrecision(2)).toString(), name];
  return [Math.round(s * 1e9).toString(), "ns"];
}
const instantly = s => instant(s).join(" ");
function ruleOf(limit) {
  const things = limit.counts === "accounts" || limit.counts === "addresses" ? "different " + limit.counts : limit.counts;
  const by = limit.by === "site" ? "for the whole site" : "by " + limit.by.replaceAll("+", " and ");
  return whole(limit.count) + " " + things + " in " + lasting(limit.window) + ", " + by +
         (limit.block > 0 ? "; then blocked for " + lasting(limit.block) : "");
}

/* ---- rates ---- */

/* A limit whose dry run ends goes on under another key: its other counters. */
const keyOf = limit => limit.name + (limit.dry_run ? " (dry run)" : "");
const seenOf = limit => limit.dry_run ? limit.dry_run_verdicts : limit.verdicts;
/* The numbers of an answer that rates are made of, in little room: a thousand limits are kept a hundred times. */
function sampleOf(data, last) {
  const keys = data.limits.map(keyOf).join("\n"), counts = new Float64Array(KINDS.length * data.limits.length);
  data.limits.forEach((limit, i) => KINDS.forEach(({ kind }, k) => { counts[KINDS.length * i + k] = seenOf(limit)[kind]; }));
  return {
    t: data.time, heard: performance.now(), keys, counts,
    index: last && last.keys === keys ? last.index : new Map(data.limits.map((limit, i) => [keyOf(limit), i])),
    judged: KINDS.reduce((sum, { kind }) => sum + data.requests[kind], 0), away: AWAY.reduce((sum, kind) => sum + data.requests[kind], 0),
    times: data.decisions.buckets.map(bucket => bucket.count), evicted: data.table.evicted, errors: data.store_errors,
  };
}
/* Reads what a limit said so often; nothing where the sample knows no such limit. */
const verdictsOf = (limit, kind) => {
  const key = keyOf(limit), place = KINDS.findIndex(k => k.kind === kind);
  return sample => sample.index.has(key) ? sample.counts[KINDS.length * sample.index.get(key) + place] : undefined;
};
/* What a counter grew by; one that fell was begun anew. */
const grown = (now, before) => before === undefined || now === undefined ? 0 : now >= before ? now - before : now;
/* A second's growth of what `read` finds, over the last seconds. */
function rate(read, seconds = SMOOTH_S) {
  const last = history[history.length - 1], first = history.find(sample => last.t - sample.t <= seconds + 0.5);
  return last.t > first.t ? grown(read(last), read(first)) / (last.t - first.t) : 0;
}
/* [seconds ago, rate] between each two samples; where nobody asked for long, there was no traffic to be seen. */
function series(read) {
  const end = history[history.length - 1].t, points = [];
  for (let i = 1; i < history.length; i++) {
    const a = history[i - 1], b = history[i], apart = b.t - a.t;
    points.push([end - b.t, apart > 10 ? 0 : grown(read(b), read(a)) / apart]);
  }
  return points;
}

/* ---- drawing ---- */

function made(name, className, parent, text) {
  const element = document.createElement(name);
  if (className) element.className = className;
  if (text !== undefined) element.textContent = text;
  if (parent) parent.append(element);
  return element;
}
function path(svg, className) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", "path");
  element.setAttribute("class", className);
  svg.append(element);
  return element;
}
function say(id, text) {
  const element = typeof id === "string" ? at(id) : id;
  if (element.textContent !== text) element.textContent = text;
}
/* Draws layers, [class, points] from the bottom up, as a stack over the last KEPT_S seconds. */
function draw(svg, layers) {
  const count = layers[0][1].length, base = new Array(count).fill(0);
  let most = 0;
  for (let i = 0; i < count; i++) most = Math.max(most, layers.reduce((sum, layer) => sum + layer[1][i][1], 0));
  svg.setAttribute("viewBox", `0 0 ${WIDTH} ${HEIGHT}`);
  while (svg.childElementCount < 2 * layers.length) path(svg, "");
  layers.forEach(([kind, points], n) => {
    const lower = [], upper = [];
    let seen = false;
    points.forEach(([ago, value], i) => {
      const x = (WIDTH * (1 - ago / KEPT_S)).toFixed(1), y = v => (HEIGHT - 1 - v).toFixed(1);
      const height = most > 0 ? Math.max(value / most * (HEIGHT - 4), value > 0 ? 1.5 : 0) : 0;
      lower.unshift(`${x} ${y(base[i])}`);
      base[i] += height;
      upper.push(`${x} ${y(base[i])}`);
      seen = seen || value > 0;
    });
    const [area, edge] = [svg.children[2 * n], svg.children[2 * n + 1]];
    const isShown = count > 0 && (seen || n === layers.length - 1);
    area.setAttribute("class", `area ${kind}`);
    edge.setAttribute("class", `edge ${kind}`);
    area.setAttribute("d", isShown ? "M" + upper.concat(lower).join("L") + "Z" : "");
    edge.setAttribute("d", isShown ? "M" + upper.join("L") : "");
  });
}

/* ---- the parts of the page ---- */

function showHead(data) {
  say("version", data.version);
  say("policy", data.policy.path);
  say("loaded", "loaded " + ago(data.time - data.policy.loaded));
}

function alertsOf(data) {
  const found = [], evicted = kind => rate(sample => sample.evicted[kind], KEPT_S) > 0;
  if (data.table.lost) found.push(["bad", "The table's file was cut off.", "This worker counts alone, from nothing. Remove the file and reload nginx."]);
  else if (!data.table.counted) found.push(["", "This table keeps no statistics.", "It was made without them: only the table's own numbers are told."]);
  if (evicted("blocked")) found.push(["bad", "Blocks are being lost.", "The table is too small for those who are blocked: raise keys under table in the policy."]);
  if (evicted("full")) found.push(["bad", "Keys at their limit are being forgotten.", "Who was refused gets in again: raise keys under table in the policy."]);
  if (rate(sample => sample.errors, KEPT_S) > 0) found.push(["bad", "The store fails.", "Requests pass as the policy's on_outage says; the error log has the reason."]);
  if (data.table.used / data.table.slots > 0.9) found.push(["", "The table is nearly full.", "Soon old keys make room for new ones."]);
  if (data.policy.warnings > 0) found.push(["", data.policy.warnings + (data.policy.warnings > 1 ? " warnings" : " warning") + " about the policy.", "drossel check " + data.policy.path + " tells."]);
  return found;
}
function showAlerts(data) {
  const found = alertsOf(data), key = JSON.stringify(found), box = at("alerts");
  if (box.dataset.key === key) return;
  box.dataset.key = key;
  box.replaceChildren(...found.map(([kind, what, remedy]) => {
    const line = made("p", "alert " + kind);
    made("b", "", line, what);
    line.append(" " + remedy);
    return line;
  }));
}

function showTraffic(data) {
  const judged = rate(sample => sample.judged), away = rate(sample => sample.away), last = history[history.length - 1];
  say("judged", short(judged));
  say("away", short(away));
  say("judged-total", whole(last.judged) + " in all");
  say("away-share", (judged > 0 ? percent(Math.min(1, away / judged)) + "% of these; " : "") + whole(last.away) + " in all");
  draw(at("judged-line"), [["allow", series(sample => sample.judged)]]);
  draw(at("away-line"), [["refuse", series(sample => sample.away)]]);
  document.title = away > 0 ? short(away) + "/s turned away · drossel" : "drossel";
}

/* Decisions of the last two minutes by time, or of all times if there were none. */
function recentTimes(data) {
  const first = history[0].times;
  const recent = data.decisions.buckets.map((b, i) => ({ le: b.le, count: grown(b.count, first[i]) }));
  return recent.some(b => b.count > 0) ? recent : data.decisions.buckets;
}
function quantile(buckets, q) {
  const all = buckets.reduce((sum, b) => sum + b.count, 0);
  let seen = 0;
  for (let i = 0; i < buckets.length; i++) {
    seen += buckets[i].count;
    if (all > 0 && seen >= q * all) return buckets[i].le === null ? (buckets[i - 1] || { le: 0 }).le : buckets[i].le;
  }
  return 0;
}
function showTimes(data) {
  const buckets = recentTimes(data), all = buckets.reduce((sum, b) => sum + b.count, 0), box = at("times");
  if (all === 0) {
    say("median", "–"); say("median-unit", ""); say("tail", "nothing judged yet"); say("shortest", ""); say("longest", "");
    box.replaceChildren();
    return;
  }
  const used = buckets.map((b, i) => b.count > 0 ? i : -1).filter(i => i >= 0);
  const shown = buckets.slice(Math.max(0, used[0] - 1), used[used.length - 1] + 2), most = Math.max(...shown.map(b => b.count));
  const [number, unit] = instant(quantile(buckets, 0.5));
  say("median", "<" + number);
  say("median-unit", unit);
  say("tail", "half of them; 99% under " + instantly(quantile(buckets, 0.99)) + ", 99.9% under " + instantly(quantile(buckets, 0.999)));
  say("shortest", instantly((shown[0].le || 0) / 2));
  say("longest", shown[shown.length - 1].le === null ? "" : instantly(shown[shown.length - 1].le));
  while (box.childElementCount > shown.length) box.lastChild.remove();
  while (box.childElementCount < shown.length) made("span", "", box);
  shown.forEach((b, i) => {
    const bar = box.children[i];
    bar.style.height = b.count === 0 ? "0" : `max(2px, ${100 * b.count / most}%)`;
    bar.title = (b.le === null ? "longer" : "up to " + instantly(b.le)) + ": " + percent(b.count / all) + "%";
  });
}

function showFill(data) {
  const table = data.table, live = table.live / table.slots, used = table.used / table.slots;
  const about = table.looked_at < table.slots ? "about " : "";
  say("fill", percent(used));
  at("gauge-live").style.width = 100 * live + "%";
  at("gauge-used").style.width = 100 * Math.max(0, used - live) + "%";
  say("keys", about + some(table.live) + (table.live === 1 ? " key counts" : " keys count") + ", of " + some(table.slots) + " places" +
      (table.blocked > 0 ? "; " + some(table.blocked) + " blocked" : ""));
}

function card(limit) {
  const box = made("article", "limit"), text = made("div", "", box), heading = made("h3", "", text, limit.name);
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  const tag = made("span", "tag", heading), rule = made("p", "rule", text);
  svg.setAttribute("class", "line");
  svg.setAttribute("preserveAspectRatio", "none");
  svg.setAttribute("aria-hidden", "true");
  box.append(svg);
  watcher.observe(box);
  return { box, tag, rule, svg, kinds: made("div", "kinds", box), cell: new Map() };
}
function cellOf(parts, kind) {
  if (!parts.cell.has(kind)) {
    const box = made("div", "", parts.kinds);
    parts.cell.set(kind, { box, rate: made("b", kind, box), word: made("span", "", box), total: made("span", "total", box) });
  }
  return parts.cell.get(kind);
}
function showKinds(parts, limit) {
  const seen = seenOf(limit);
  const wanted = KINDS.filter(({ kind }) => kind === "allow" || kind === limit.action || seen[kind] > 0).reverse();
  const key = wanted.map(k => k.kind).join();
  if (parts.key !== key) { parts.kinds.replaceChildren(); parts.cell.clear(); parts.key = key; }
  for (const { kind, word } of wanted) {
    const cell = cellOf(parts, kind), now = rate(verdictsOf(limit, kind));
    say(cell.rate, short(now) + "/s");
    say(cell.word, limit.dry_run && kind !== "allow" ? "would be " + word : word);
    say(cell.total, whole(seen[kind]));
    cell.box.classList.toggle("quiet", now === 0);
  }
}
function showLimit(limit, parts) {
  const tag = limit.dry_run ? "dry run" : limit.action === "refuse" ? "" : limit.action;
  say(parts.tag, tag);
  parts.tag.hidden = tag === "";
  parts.box.classList.toggle("dry", limit.dry_run);
  say(parts.rule, ruleOf(limit));
  showKinds(parts, limit);
  draw(parts.svg, KINDS.map(({ kind }) => [kind, series(verdictsOf(limit, kind))]));
}
function showLimits(data) {
  const now = data.limits.map(limit => limit.name).join("\n");
  if (now !== names) {
    names = now;
    for (const limit of data.limits) if (!cards.has(limit.name)) cards.set(limit.name, card(limit));
    at("limits").replaceChildren(...data.limits.map(limit => cards.get(limit.name).box));
    at("filter").hidden = data.limits.length < 8;
  }
  const wanted = at("filter").value.trim().toLowerCase();
  let shown = 0;
  for (const limit of data.limits) {
    const isWanted = limit.name.toLowerCase().includes(wanted);
    cards.get(limit.name).box.hidden = !isWanted;
    shown += isWanted;
  }
  at("none").hidden = shown > 0;
  say("none", data.limits.length === 0 ? "The policy has no limits." : "No limit has such a name.");
  drawLimits();
}
function drawLimits() {
  for (const limit of latest ? latest.limits : []) {
    const parts = cards.get(limit.name);
    if (parts && inView.has(parts.box)) showLimit(limit, parts);
  }
}

function showFacts(data) {
  const { evicted, inserted, taken_over: taken } = data.table, box = at("facts");
  const facts = [
    [whole(data.banned), "refused by a ban", false], [whole(inserted), "keys entered", false], [whole(evicted.expired), "expired, made room", false],
    [whole(evicted.live), "in use, made room", false], [whole(evicted.full), "at their limit, made room", evicted.full > 0],
    [whole(evicted.blocked), "blocked, made room", evicted.blocked > 0],
    [whole(taken), "taken over from the dead", false], [whole(data.store_errors), "errors of the store", data.store_errors > 0],
  ];
  say("table-path", data.table.path);
  while (box.childElementCount < facts.length) { const fact = made("div", "", box); made("b", "", fact); made("span", "", fact); }
  facts.forEach(([number, words, isBad], i) => {
    say(box.children[i].children[0], number);
    say(box.children[i].children[1], words);
    box.children[i].classList.toggle("bad", isBad);
  });
}

function showState() {
  const last = history[history.length - 1];
  const since = last ? Math.round((performance.now() - last.heard) / 1000) : 0;
  say("state", paused ? "paused" : failing ? failing + (last ? " for " + since + " s" : "") : last ? "live" : "starting");
  at("live").className = "dot" + (failing ? " bad" : paused ? "" : last ? " on" : "");
}

/* ---- asking ---- */

function take(data) {
  const last = history[history.length - 1];
  if (last && data.time <= last.t) return;
  latest = data;
  history.push(sampleOf(data, last));
  while (history[0].t < data.time - KEPT_S) history.shift();
  say("span", lasting(SMOOTH_S));
  for (const show of [showHead, showAlerts, showTraffic, showTimes, showFill, showLimits, showFacts]) show(data);
}
async function ask() {
  const answer = await fetch(location.pathname + "?format=json", { cache: "no-store", signal: AbortSignal.timeout(PATIENCE_MS) });
  return answer.ok ? answer.json() : Promise.reject(new Error("answered " + answer.status));
}
async function poll() {
  timer = 0;
  const began = performance.now();
  let data = null;
  try {
    data = await ask();
    failing = "";
  } catch (error) {
    failing = error.message.startsWith("answered ") ? error.message : "no answer";
  }
  next();
  if (data !== null) take(data);
  showState();
  spent = performance.now() - began;
}
function next() {
  if (!paused && !document.hidden && timer === 0) timer = setTimeout(poll, Math.max(POLL_MS, 4 * spent));
}
at("pause").addEventListener("click", () => {
  paused = !paused;
  say("pause", paused ? "Go on" : "Pause");
  clearTimeout(timer);
  timer = 0;
  showState();
  next();
});
at("filter").addEventListener("input", () => { if (latest) showLimits(latest); });
document.addEventListener("visibilitychange", next);
for (const { kind, word } of [...KINDS].reverse()) {
  const item = made("i", kind, at("legend"));
  made("span", "", item, word);
}
poll();
