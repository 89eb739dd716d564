// The page: map, search, details, alignment, lasso, keyboard.

const by = (id) => document.getElementById(id);
const served = document.documentElement.dataset.served === "true";
const state = { data: null, view: { x: 0, y: 0, zoom: 1 }, colour: 0, off: new Set(), hover: -1,
  focus: -1, first: -1, second: -1, chosen: null, lasso: false, path: null, extra: null };
const drawn = { canvas: by("points"), overlay: by("map"), renderer: null, pending: false };
const cache = new Map();

function make(name, text = "", parent = null, kind = "") {
  const made = document.createElement(name);
  if (text !== "") made.textContent = text;
  if (kind) made.className = kind;
  if (parent) parent.append(made);
  return made;
}
const say = (text) => { by("said").textContent = text; };
const whole = (number) => number.toLocaleString("en");
const short = (number) => Number(number.toPrecision(3)).toString();

async function unpack(text) {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}

async function ask(path, body) {
  const how = body === undefined ? {} : { method: "POST", body: JSON.stringify(body),
    headers: { "Content-Type": "application/json" } };
  const answer = await fetch(path, { credentials: "same-origin", ...how });
  const found = await answer.json().catch(() => ({ error: `status ${answer.status}` }));
  if (!answer.ok) throw new Error(found.error || `status ${answer.status}`);
  return found;
}

async function drawingOf(i) {
  if (i === state.data.names.length && state.extra) return state.extra.drawing;
  if (!served) return state.data.graphs[i] || null;
  if (!cache.has(i)) {
    if (cache.size > 2000) cache.clear();
    cache.set(i, ask(`api/graph/${i}`).then((found) => found.drawing));
  }
  return cache.get(i);
}

async function matchOf(i, j) {
  if (served) {
    const named = (k) => (k === state.data.names.length ? { graph: state.extra.graph }
      : { position: k });
    return ask("api/align", { target: named(i), source: named(j) });
  }
  return state.data.matches[`${i}-${j}`] || null;
}

// The file holds alignments of graphs with later ones.
const ordered = (i, j) => (served || i < j ? [i, j] : [j, i]);

// ---- the map

const size = () => {
  const ratio = Math.min(window.devicePixelRatio || 1, 2);
  return { ratio, width: Math.max(1, Math.round(by("area").clientWidth * ratio)),
    height: Math.max(1, Math.round(by("area").clientHeight * ratio)) };
};

function resize() {
  const { width, height } = size();
  for (const canvas of [drawn.canvas, drawn.overlay]) {
    if (canvas.width !== width || canvas.height !== height) {
      canvas.width = width;
      canvas.height = height;
    }
  }
}

function resetView() {
  const { width, height } = size(), zoom = 0.96 * Math.min(width, height);
  state.view = { zoom, x: (width - zoom) / 2, y: (height - zoom) / 2 };
  redraw();
}

function pointSize() {
  const n = state.data.names.length, { ratio, width, height } = size();
  const base = n > 50000 ? 2.5 : n > 5000 ? 4 : n > 500 ? 6 : 9;
  return ratio * Math.min(16, base * (state.view.zoom / Math.min(width, height)) ** 0.35);
}

const onScreen = (i) => [state.xy[2 * i] * state.view.zoom + state.view.x,
  state.xy[2 * i + 1] * state.view.zoom + state.view.y];

function redraw() {
  if (drawn.pending) return;
  drawn.pending = true;
  requestAnimationFrame(paint);
}

function paint() {
  drawn.pending = false;
  const { width, height, ratio } = size();
  drawn.renderer.draw(state.view, width, height, pointSize());
  const pen = drawn.overlay.getContext("2d");
  pen.clearRect(0, 0, width, height);
  const ink = getComputedStyle(document.documentElement).getPropertyValue("--ink");
  const ring = (i, radius, thick, text) => {
    const [x, y] = onScreen(i);
    pen.beginPath();
    pen.arc(x, y, radius * ratio, 0, 7);
    pen.lineWidth = thick * ratio;
    pen.strokeStyle = ink;
    pen.stroke();
    if (text) {
      pen.font = `600 ${13 * ratio}px system-ui, sans-serif`;
      pen.fillStyle = ink;
      pen.fillText(text, x + (radius + 3) * ratio, y - 4 * ratio);
    }
  };
  if (state.first >= 0 && state.first < state.data.names.length) {
    pen.strokeStyle = ink;
    pen.globalAlpha = 0.45;
    pen.lineWidth = ratio;
    for (const j of state.data.neighbors[state.first]) {
      pen.beginPath();
      pen.moveTo(...onScreen(state.first));
      pen.lineTo(...onScreen(j));
      pen.stroke();
    }
    pen.globalAlpha = 1;
  }
  const at = pointSize() / ratio / 2;
  if (state.hover >= 0) ring(state.hover, at + 3, 1.5);
  if (state.focus >= 0) ring(state.focus, at + 4, 2);
  if (state.first >= 0) ring(state.first, at + 5, 2.5, "1");
  if (state.second >= 0) ring(state.second, at + 5, 2.5, "2");
  if (state.path && state.path.length > 1) {
    trace(pen, state.path);
    pen.fillStyle = "rgba(0, 100, 164, 0.15)";
    pen.fill();
    pen.strokeStyle = ink;
    pen.lineWidth = 1.5 * ratio;
    pen.stroke();
  }
}

function trace(pen, path) {
  pen.beginPath();
  for (const place of path) pen.lineTo(...place);
  pen.closePath();
}

const shown = (i) => state.bytes[4 * i + 3] > 0;

function recolour() {
  const column = state.data.columns[state.colour], n = column.values.length;
  const count = n + (state.extra ? 1 : 0), bytes = new Uint8Array(4 * count);
  let [low, high] = [Infinity, -Infinity];
  if (column.kind === "number") {
    for (const value of column.values) {
      if (value !== null) { low = Math.min(low, value); high = Math.max(high, value); }
    }
  }
  const tints = (column.labels || []).map((_, code) => categoryColour(code));
  for (let i = 0; i < n; i += 1) {
    const value = column.values[i];
    let tint = [128, 128, 128];
    if (column.kind === "category") tint = tints[value];
    else if (value !== null) tint = rampColour(high > low ? (value - low) / (high - low) : 0.5);
    const hidden = column.kind === "category" && state.off.has(value);
    const faint = state.chosen && !state.chosen.has(i);
    bytes.set([...tint, hidden ? 0 : faint ? 40 : 255], 4 * i);
  }
  if (state.extra) bytes.set([230, 0, 90, 255], 4 * n);
  state.bytes = bytes;
  drawn.renderer.setColours(bytes);
  drawLegend(column, low, high);
  redraw();
}

function drawLegend(column, low, high) {
  const legend = by("legend");
  legend.replaceChildren();
  if (column.kind === "number") {
    make("div", column.name, legend);
    const colours = RAMP.map((_, k) => hex(rampColour(k / (RAMP.length - 1))));
    make("div", "", legend, "ramp").style.background = `linear-gradient(to right, ${colours})`;
    const ends = make("div", "", legend, "ends");
    make("span", short(low), ends);
    make("span", short(high), ends);
    return;
  }
  column.labels.slice(0, 30).forEach((label, code) => {
    const button = make("button", "", legend);
    button.type = "button";
    button.setAttribute("aria-pressed", String(!state.off.has(code)));
    make("span", "", button, "dot").style.background = hex(categoryColour(code));
    make("span", `${column.name} ${label}`, button);
    button.addEventListener("click", () => {
      if (!state.off.delete(code)) state.off.add(code);
      recolour();
    });
  });
  if (column.labels.length > 30) make("div", `and ${column.labels.length - 30} more`, legend);
}

function placePoints() {
  const { x, y } = state.data, n = x.length, xy = new Float32Array(2 * n + (state.extra ? 2 : 0));
  for (let i = 0; i < n; i += 1) {
    xy[2 * i] = x[i] / 65535;
    xy[2 * i + 1] = 1 - y[i] / 65535;
  }
  if (state.extra) xy.set([state.extra.x, 1 - state.extra.y], 2 * n);
  state.xy = xy;
  drawn.renderer.setPlaces(xy);
}

const nameOf = (i) => (i === state.data.names.length ? state.extra.name : state.data.names[i]);

function atPointer(event) {
  const box = drawn.overlay.getBoundingClientRect(), { ratio } = size();
  return [(event.clientX - box.left) * ratio, (event.clientY - box.top) * ratio];
}

// The nearest point that the pointer touches, or -1.
function pick(x, y) {
  const { xy, view } = state;
  let best = -1, least = (12 * size().ratio) ** 2;
  for (let i = 0; i < xy.length / 2; i += 1) {
    const u = xy[2 * i] * view.zoom + view.x - x, v = xy[2 * i + 1] * view.zoom + view.y - y;
    const far = u * u + v * v;
    if (far < least && shown(i)) { least = far; best = i; }
  }
  return best;
}

function zoomAt(x, y, factor) {
  const { width, height } = size(), least = 0.3 * Math.min(width, height);
  const zoom = Math.max(least, Math.min(500 * Math.min(width, height), state.view.zoom * factor));
  const share = zoom / state.view.zoom;
  state.view = { zoom, x: x - share * (x - state.view.x), y: y - share * (y - state.view.y) };
  redraw();
}

async function hover(i, x, y) {
  if (i === state.hover) return;
  state.hover = i;
  redraw();
  const tip = by("tooltip");
  if (i < 0) { tip.hidden = true; return; }
  const drawing = await drawingOf(i).catch(() => null);
  if (state.hover !== i) return;
  tip.replaceChildren();
  make("b", nameOf(i), tip);
  if (drawing) {
    make("div", `${whole(drawing.n)} nodes, ${whole(drawing.m)} edges`, tip, "soft");
    tip.append(drawGraph(drawing, nameOf(i), 174, 130));
  }
  tip.hidden = false;
  const { ratio } = size(), area = by("area");
  const left = x / ratio + 14, top = y / ratio + 14;
  tip.style.left = `${Math.max(4, Math.min(left, area.clientWidth - 200))}px`;
  tip.style.top = `${Math.max(4, Math.min(top, area.clientHeight - tip.offsetHeight - 6))}px`;
}

function listenToMap() {
  const overlay = drawn.overlay, fingers = new Map();
  let moved = 0, last = null, apart = 0;
  overlay.addEventListener("pointerdown", (event) => {
    overlay.setPointerCapture(event.pointerId);
    fingers.set(event.pointerId, atPointer(event));
    last = atPointer(event);
    moved = 0;
    if (state.lasso || event.shiftKey) state.path = [last];
    if (fingers.size === 2) apart = 0;
  });
  overlay.addEventListener("pointermove", (event) => {
    const place = atPointer(event);
    if (!fingers.has(event.pointerId)) { hover(pick(...place), ...place); return; }
    fingers.set(event.pointerId, place);
    if (fingers.size === 2) {
      const [a, b] = [...fingers.values()], wide = Math.hypot(a[0] - b[0], a[1] - b[1]);
      if (apart) zoomAt((a[0] + b[0]) / 2, (a[1] + b[1]) / 2, wide / apart);
      apart = wide;
      moved = 99;
      return;
    }
    moved += Math.hypot(place[0] - last[0], place[1] - last[1]);
    if (state.path) state.path.push(place);
    else if (moved > 4) {
      state.view.x += place[0] - last[0];
      state.view.y += place[1] - last[1];
    }
    last = place;
    redraw();
  });
  const lift = (event) => {
    if (!fingers.delete(event.pointerId)) return;
    const place = atPointer(event), path = state.path;
    state.path = null;
    if (path && path.length > 2) { chooseInside(path); return; }
    if (event.type === "pointerup" && moved <= 4) {
      const i = pick(...place);
      if (i >= 0) select(i);
    }
    redraw();
  };
  overlay.addEventListener("pointerup", lift);
  overlay.addEventListener("pointercancel", lift);
  overlay.addEventListener("pointerleave", () => hover(-1));
  overlay.addEventListener("wheel", (event) => {
    event.preventDefault();
    zoomAt(...atPointer(event), Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.0015)));
  }, { passive: false });
  overlay.addEventListener("keydown", keys);
}

function keys(event) {
  const { width, height } = size();
  const ways = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
  if (event.key in ways) step(...ways[event.key]);
  else if (event.key === "Enter" || event.key === " ") {
    if (state.focus >= 0) select(state.focus);
  } else if (event.key === "+" || event.key === "=") zoomAt(width / 2, height / 2, 1.4);
  else if (event.key === "-") zoomAt(width / 2, height / 2, 1 / 1.4);
  else if (event.key === "0") resetView();
  else if (event.key === "Escape") clear();
  else return;
  event.preventDefault();
}

// Move to the nearest point in a direction; what lies aside of it counts as farther.
function step(dx, dy) {
  let best = -1, least = Infinity;
  const from = state.focus >= 0 ? onScreen(state.focus) : [size().width / 2, size().height / 2];
  for (let i = 0; i < state.xy.length / 2; i += 1) {
    if (i === state.focus || !shown(i)) continue;
    const [x, y] = onScreen(i), u = x - from[0], v = y - from[1];
    const along = u * dx + v * dy, across = Math.abs(u * dy - v * dx);
    if (state.focus >= 0 && along <= 0) continue;
    const far = state.focus >= 0 ? along + 2 * across : Math.hypot(u, v);
    if (far < least) { least = far; best = i; }
  }
  if (best < 0) return;
  state.focus = best;
  bringIntoView(best);
  say(nameOf(best));
  hover(best, ...onScreen(best));
}

function bringIntoView(i) {
  const [x, y] = onScreen(i), { width, height } = size(), margin = 40;
  if (x < margin || y < margin || x > width - margin || y > height - margin) {
    state.view.x += width / 2 - x;
    state.view.y += height / 2 - y;
  }
  redraw();
}

// ---- details

function clear() {
  Object.assign(state, { first: -1, second: -1, chosen: null });
  recolour();
  intro();
  say("Selection cleared");
}

function select(i) {
  if (state.first < 0 || state.second >= 0 || i === state.first) {
    Object.assign(state, { first: i, second: -1 });
    showOne(i);
  } else {
    state.second = i;
    showPair(state.first, i);
  }
  state.focus = i;
  redraw();
}

function intro() {
  const panel = by("panel");
  panel.replaceChildren();
  make("h2", "Details", panel);
  make("p", "Point at a graph to see it. Click one for its nearest graphs, then a second one to " +
    "align both. Draw a lasso (or hold Shift and drag) to select many.", panel);
  make("p", "Arrow keys move on the map, Enter selects, plus and minus zoom, Escape clears.",
    panel, "soft");
  if (served) uploadForm(panel);
}

async function showOne(i) {
  const panel = by("panel"), extra = i === state.data.names.length;
  panel.replaceChildren();
  panel.scrollTop = 0;
  make("h2", nameOf(i), panel);
  if (!extra) {
    const known = state.data.columns.filter((column) => column.kind === "category").map(
      (column) => `${column.name} ${column.labels[column.values[i]]}`);
    make("p", known.join(", "), panel, "soft");
  }
  const place = make("div", "", panel);
  make("h3", "Nearest graphs", panel);
  make("p", "Choose one to align both; the number is the distance.", panel, "soft");
  const cards = make("div", "", panel, "cards");
  const near = extra ? state.extra.neighbors : state.data.neighbors[i];
  const far = extra ? state.extra.distances : state.data.distances[i];
  const slots = near.map((j, k) => {
    const card = make("button", "", cards, "card");
    card.type = "button";
    const picture = make("div", "", card);
    make("b", nameOf(j), card);
    make("div", short(far[k]), card, "soft");
    card.addEventListener("click", () => select(j));
    return [j, picture];
  });
  const row = make("div", "", panel, "row");
  const back = make("button", "Clear", row);
  back.addEventListener("click", clear);
  say(`${nameOf(i)} selected, nearest ${near.length ? nameOf(near[0]) : "none"}`);
  const own = await drawingOf(i).catch(() => null);
  if (own) {
    make("p", `${whole(own.n)} nodes, ${whole(own.m)} edges`, place, "soft");
    place.append(drawGraph(own, nameOf(i)));
    if (own.p && near.length) explainOne(i, near[0], own, place);
  } else make("p", "This page holds no drawing of it; use ddgk explore --serve.", place, "soft");
  for (const [j, picture] of slots) {
    const drawing = await drawingOf(j).catch(() => null);
    if (drawing) picture.append(drawGraph(drawing, nameOf(j), 120, 84));
  }
}

// Shade a graph by what its nodes and edges have in common with its nearest graph.
async function explainOne(i, j, drawing, place) {
  const [target, source] = ordered(i, j), match = await matchOf(target, source).catch(() => null);
  if (state.first !== i || state.second >= 0 || !match || !match.s) return;
  const shares = target === i ? match.s : match.z;
  place.lastElementChild.replaceWith(drawGraph(drawing, nameOf(i), 380, 200, shares));
  place.lastElementChild.id = "shares";
  make("p", `Strong colours and wide edges: in common with the nearest graph, ${nameOf(j)}.`, place,
    "soft");
}

function explainPair(panel, i, j, mine, theirs, match) {
  make("h3", "What makes them alike", panel);
  const cards = make("div", "", panel, "cards two");
  for (const [k, drawing, shares] of [[i, mine, match.s], [j, theirs, match.z]]) {
    make("div", "", cards).append(drawGraph(drawing, nameOf(k), 190, 150, shares));
  }
  make("p", "Strong colours and wide edges contribute most to the similarity: " + match.why, panel,
    "soft");
}

async function showPair(first, second) {
  const panel = by("panel"), [i, j] = ordered(first, second);
  panel.replaceChildren();
  panel.scrollTop = 0;
  make("h2", `${nameOf(i)} and ${nameOf(j)}`, panel);
  const waiting = make("p", "Aligning …", panel, "soft");
  let match = null, wrong = "";
  const [mine, theirs] = await Promise.all([drawingOf(i), drawingOf(j)]).catch(() => [null, null]);
  try { match = await matchOf(i, j); } catch (error) { wrong = error.message; }
  if (state.first !== first || state.second !== second) return;
  waiting.remove();
  if (!mine || !theirs || !mine.p || !theirs.p) {
    make("p", "These graphs are too large to draw, or the page holds no drawing.", panel);
    return;
  }
  const svg = drawPair(mine, theirs, match, [nameOf(i), nameOf(j)]);
  make("p", `above: ${nameOf(i)}`, panel, "soft");
  panel.append(svg);
  make("p", `below: ${nameOf(j)}`, panel, "soft");
  if (match) {
    for (const line of match.lines) make("p", line, panel);
    make("p", "Partners have one colour and a line, the wider the more certain. Dashed edges " +
      "are not kept; rings have no partner.", panel, "soft");
    if (match.s) explainPair(panel, i, j, mine, theirs, match);
    say(match.lines.join(". "));
  } else {
    make("p", wrong || "This page holds alignments of nearest graphs only; ddgk explore --serve " +
      "aligns any pair.", panel, wrong ? "wrong" : "soft");
    say(wrong || "No alignment in this page");
  }
  const row = make("div", "", panel, "row");
  const back = make("button", "Back", row);
  back.setAttribute("aria-label", `Back to ${nameOf(first)}`);
  back.addEventListener("click", () => { state.second = -1; showOne(first); redraw(); });
  make("button", "Clear", row).addEventListener("click", clear);
}

// ---- many graphs

function chooseInside(path) {
  const found = [], pen = drawn.overlay.getContext("2d");
  trace(pen, path);
  for (let i = 0; i < state.data.names.length; i += 1) {
    if (shown(i) && pen.isPointInPath(...onScreen(i), "evenodd")) found.push(i);
  }
  choose(found);
}

function choose(found) {
  state.chosen = found.length ? new Set(found) : null;
  setLasso(false);
  recolour();
  const panel = by("panel");
  panel.replaceChildren();
  make("h2", `${whole(found.length)} graphs selected`, panel);
  say(`${found.length} graphs selected`);
  const row = make("div", "", panel, "row");
  const save = make("button", "Download CSV", row);
  save.id = "download";
  save.addEventListener("click", () => download(found));
  make("button", "Clear", row).addEventListener("click", clear);
  const scroll = make("div", "", panel, "scroll");
  scroll.tabIndex = 0;
  const table = make("table", "", scroll), head = make("tr", "", make("thead", "", table));
  const columns = state.data.columns.slice(0, 4);
  for (const name of ["graph", ...columns.map((column) => column.name)]) {
    make("th", name, head).scope = "col";
  }
  const body = make("tbody", "", table);
  for (const i of found.slice(0, 300)) {
    const line = make("tr", "", body);
    make("td", nameOf(i), line);
    for (const column of columns) make("td", String(valueOf(column, i)), line);
  }
  if (found.length > 300) make("p", `and ${whole(found.length - 300)} more in the file`, panel);
}

function valueOf(column, i) {
  const value = column.values[i];
  return column.kind === "category" ? column.labels[value] : value === null ? "" : value;
}

function csvCell(value) {
  if (typeof value === "number") return String(value);
  const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

function download(found) {
  const columns = state.data.columns;
  const lines = [["position", "graph", ...columns.map((column) => column.name)].map(csvCell)];
  for (const i of found) {
    lines.push([i, nameOf(i), ...columns.map((column) => valueOf(column, i))].map(csvCell));
  }
  const link = make("a");
  link.href = URL.createObjectURL(new Blob([lines.map((line) => line.join(",")).join("\n") + "\n"],
    { type: "text/csv" }));
  link.download = "selection.csv";
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

function setLasso(on) {
  state.lasso = on;
  by("lasso").setAttribute("aria-pressed", String(on));
}

// ---- a graph of the reader's

function parseGraph(text) {
  if (text.trim().startsWith("{")) return JSON.parse(text);
  if (/^\S+$/.test(text.trim())) return { smiles: text.trim() };
  const names = new Map(), edges = [];
  for (const line of text.split("\n")) {
    const parts = line.trim().split(/[\s,]+/).slice(0, 2);
    if (!parts[0] || line.trim().startsWith("#")) continue;
    const ends = parts.map((part) => {
      if (!names.has(part)) names.set(part, names.size);
      return names.get(part);
    });
    if (ends.length === 2) edges.push(ends);
  }
  return { n_nodes: names.size, edges, node_names: [...names.keys()], name: "your graph" };
}

function uploadForm(panel) {
  make("h3", "Place a graph of yours", panel);
  const label = make("label", "A SMILES, an edge list (two names a line), or JSON with n_nodes " +
    "and edges", panel);
  label.htmlFor = "graph";
  const text = make("textarea", "", panel);
  text.id = "graph";
  text.rows = 5;
  const row = make("div", "", panel, "row");
  const file = make("input", "", row);
  file.type = "file";
  file.setAttribute("aria-label", "Read the graph from a file");
  file.addEventListener("change", async () => { text.value = await file.files[0].text(); });
  const send = make("button", "Place on the map", row);
  send.id = "place";
  const wrong = make("p", "", panel, "wrong");
  send.addEventListener("click", async () => {
    wrong.textContent = "";
    send.disabled = true;
    try {
      const graph = parseGraph(text.value), found = await ask("api/embed", { graph, k: 9 });
      state.extra = { graph, name: graph.name || graph.smiles || "your graph", drawing: found.drawing,
        x: found.place[0], y: found.place[1], neighbors: found.neighbors.map((n) => n.position),
        distances: found.neighbors.map((n) => n.distance) };
      placePoints();
      recolour();
      state.first = -1;
      select(state.data.names.length);
      bringIntoView(state.data.names.length);
    } catch (error) { wrong.textContent = error.message; say(error.message); }
    send.disabled = false;
  });
}

// ---- search

function listenToSearch() {
  const box = by("search"), list = by("found");
  let hits = [], at = -1;
  const names = state.data.names.map((name) => name.toLowerCase());
  const close = () => { list.hidden = true; box.setAttribute("aria-expanded", "false"); };
  const go = (i) => {
    close();
    state.first = -1;
    select(i);
    bringIntoView(i);
  };
  const mark = (place) => {
    at = place;
    [...list.children].forEach((item, k) => item.setAttribute("aria-selected", String(k === at)));
    box.setAttribute("aria-activedescendant", at >= 0 ? `found-${at}` : "");
  };
  box.addEventListener("input", () => {
    const wanted = box.value.trim().toLowerCase();
    list.replaceChildren();
    if (!wanted) { close(); return; }
    const first = [], later = [];
    for (let i = 0; i < names.length && first.length < 20; i += 1) {
      const where = names[i].indexOf(wanted);
      if (where === 0) first.push(i);
      else if (where > 0 && later.length < 20) later.push(i);
    }
    hits = [...first, ...later].slice(0, 20);
    hits.forEach((i, k) => {
      const item = make("li", nameOf(i), list);
      item.id = `found-${k}`;
      item.setAttribute("role", "option");
      item.addEventListener("pointerdown", (event) => { event.preventDefault(); go(i); });
    });
    if (!hits.length) make("li", "no graph has this name", list);
    list.hidden = false;
    box.setAttribute("aria-expanded", "true");
    mark(hits.length ? 0 : -1);
    say(`${hits.length} graphs found`);
  });
  box.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown") mark(Math.min(at + 1, hits.length - 1));
    else if (event.key === "ArrowUp") mark(Math.max(at - 1, 0));
    else if (event.key === "Enter" && at >= 0 && !list.hidden) go(hits[at]);
    else if (event.key === "Escape") close();
    else return;
    event.preventDefault();
  });
  box.addEventListener("blur", close);
}

// ---- begin

async function begin() {
  const held = by("data");
  state.data = await unpack(held.textContent.trim());
  held.remove();
  const { data } = state;
  by("summary").textContent = `${whole(data.names.length)} graphs, ${data.projection} of the ` +
    "embedding";
  data.columns.forEach((column, k) => {
    const option = make("option", column.name, by("colour"));
    option.value = String(k);
  });
  const dark = window.matchMedia("(prefers-color-scheme: dark)").matches;
  document.documentElement.dataset.theme = dark ? "dark" : "light";
  drawn.renderer = new Renderer(drawn.canvas);
  resize();
  placePoints();
  recolour();
  resetView();
  listenToMap();
  listenToSearch();
  intro();
  by("colour").addEventListener("change", (event) => {
    state.colour = Number(event.target.value);
    state.off.clear();
    recolour();
  });
  by("lasso").addEventListener("click", () => setLasso(!state.lasso));
  by("visible").addEventListener("click", () => {
    const { width, height } = size();
    chooseInside([[0, 0], [width, 0], [width, height], [0, height]]);
  });
  by("reset").addEventListener("click", resetView);
  by("theme").addEventListener("click", () => {
    const root = document.documentElement;
    root.dataset.theme = isDark() ? "light" : "dark";
    recolour();
  });
  new ResizeObserver(() => { resize(); resetView(); }).observe(by("area"));
  // For measuring and tests: where a graph is, and how long drawing takes.
  window.ddgk = Object.freeze({
    locate(i) {
      const box = drawn.overlay.getBoundingClientRect(), [x, y] = onScreen(i), { ratio } = size();
      return [box.left + x / ratio, box.top + y / ratio];
    },
    zoom(factor) { zoomAt(size().width / 2, size().height / 2, factor); },
  });
  document.documentElement.dataset.ready = "true";
}

begin().catch((error) => {
  make("p", `The page could not be shown: ${error.message}`, by("panel"), "wrong");
});
