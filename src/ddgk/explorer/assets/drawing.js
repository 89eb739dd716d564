// Graphs as SVG. Text from outside is only ever set through textContent.

const SVG = "http://www.w3.org/2000/svg";
const ATOMS = { N: "#2f5fd0", O: "#d0342c", S: "#a07d00", P: "#d07000", F: "#2e8b2e",
  Cl: "#2e8b2e", Br: "#8c3b1f", I: "#6a3aa0" };

const LONGEST = 64;  // pixels of an edge, on average, so that small graphs are not blown up

function element(name, attributes = {}, parent = null) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (parent) parent.append(made);
  return made;
}

function hash(text) {
  let value = 0;
  for (const letter of text) value = (value * 31 + letter.codePointAt(0)) >>> 0;
  return value;
}

const labelColour = (label) => {
  const number = Number(label);
  const at = Number.isInteger(number) && number >= 0 ? number : hash(label);
  return PALETTE[at % 7];
};

function edgeLength(drawing, places) {
  let total = 0;
  for (let k = 0; k < drawing.m; k += 1) {
    const [a, b] = [places[drawing.e[2 * k]], places[drawing.e[2 * k + 1]]];
    total += Math.hypot(a[0] - b[0], a[1] - b[1]);
  }
  return total / Math.max(drawing.m, 1);
}

// Where a drawing of 1000 units lies in a box.
function fitter(drawing, box, turn = null) {
  const places = [];
  for (let i = 0; i < drawing.n; i += 1) {
    const [x, y] = [drawing.p[2 * i], -drawing.p[2 * i + 1]];
    places.push(turn ? turn(x, y) : [x, y]);
  }
  const low = [0, 1].map((k) => Math.min(...places.map((p) => p[k])));
  const high = [0, 1].map((k) => Math.max(...places.map((p) => p[k])));
  const margin = 16;
  const scale = Math.min((box.width - 2 * margin) / Math.max(high[0] - low[0], 1),
    (box.height - 2 * margin) / Math.max(high[1] - low[1], 1),
    LONGEST / Math.max(edgeLength(drawing, places), 1));
  return places.map(([x, y]) => [
    box.x + box.width / 2 + scale * (x - (low[0] + high[0]) / 2),
    box.y + box.height / 2 + scale * (y - (low[1] + high[1]) / 2)]);
}

// What every edge contributes, in percent of the largest: a node's share is divided among its edges.
function edgeShares(drawing, shares) {
  const degree = Array(drawing.n).fill(0), found = [];
  for (const node of drawing.e) degree[node] += 1;
  for (let k = 0; k < drawing.m; k += 1) {
    const [u, v] = [drawing.e[2 * k], drawing.e[2 * k + 1]];
    found.push(shares[u] / degree[u] + shares[v] / degree[v]);
  }
  const most = Math.max(...found, 1e-9);
  return found.map((value) => 100 * value / most);
}

function arrowHead(parent, a, b, radius, kind) {
  const [dx, dy] = [b[0] - a[0], b[1] - a[1]], long = Math.hypot(dx, dy) || 1;
  const [u, v] = [dx / long, dy / long], size = Math.max(4, Math.min(8, long / 4));
  const tip = [b[0] - u * radius, b[1] - v * radius];
  const back = [tip[0] - u * size, tip[1] - v * size];
  const points = [tip, [back[0] - v * size / 2, back[1] + u * size / 2],
    [back[0] + v * size / 2, back[1] - u * size / 2]];
  element("polygon", { points: points.map((p) => p.join(",")).join(" "), class: kind }, parent);
}

// marks: tints, kept, alone of an alignment; shares of nodes in percent.
function drawInto(parent, drawing, places, marks = {}) {
  const length = drawing.m ? edgeLength(drawing, places) : 20;
  const radius = Math.max(1.6, Math.min(drawing.n > 60 ? 4 : 8, 0.3 * length));
  const line = (a, b, shift, kind, dash) => {
    const [dx, dy] = [b[0] - a[0], b[1] - a[1]], long = Math.hypot(dx, dy) || 1;
    const [u, v] = [-dy / long * shift, dx / long * shift];
    const made = element("line", { x1: a[0] + u, y1: a[1] + v, x2: b[0] + u, y2: b[1] + v,
      class: kind }, parent);
    if (dash) made.setAttribute("stroke-dasharray", "3 3");
    return made;
  };
  const weights = marks.shares ? edgeShares(drawing, marks.shares) : null;
  for (let k = 0; k < drawing.m; k += 1) {
    const [a, b] = [places[drawing.e[2 * k]], places[drawing.e[2 * k + 1]]];
    const kind = marks.kept && !marks.kept.has(k) ? "edge lost" : "edge";
    const order = drawing.o ? drawing.o[k] : 1;
    const gap = Math.min(2, length / 9);
    const shifts = { 2: [-gap, gap], 3: [-1.5 * gap, 0, 1.5 * gap], 4: [-gap, gap] };
    for (const shift of shifts[order] || [0]) {
      const made = line(a, b, shift, kind, order === 4 && shift > 0);
      if (weights) made.style.strokeWidth = `${1 + 0.03 * weights[k]}px`;
    }
    if (drawing.d) arrowHead(parent, a, b, radius, kind.replace("edge", "arrow"));
  }
  for (let i = 0; i < drawing.n; i += 1) {
    const [x, y] = places[i], label = drawing.l ? drawing.l[i] : "";
    const alone = marks.alone && marks.alone.has(i);
    const share = marks.shares ? marks.shares[i] / 100 : null;
    const tint = share === null ? marks.tints && marks.tints[i] : "var(--accent)";
    if (drawing.o) {
      if (tint || alone) {
        const r = Math.max(2, Math.min(label === "C" ? 6 : 9, 0.4 * length));
        element("circle", { cx: x, cy: y, r: share === null ? r : Math.max(3, Math.min(9, 0.42 * length)),
          fill: alone ? "none" : tint,
          stroke: alone ? "var(--lost)" : "none", "stroke-width": 2,
          opacity: alone ? 1 : share === null ? 0.35 : 0.75 * share ** 2 }, parent);
      }
      if (label !== "C" || drawing.n === 1) {
        const large = Math.max(6, Math.min(13, 0.6 * length));
        const text = element("text", { x, y: y + 0.35 * large, "text-anchor": "middle",
          class: "halo" }, parent);
        text.style.fontSize = `${large}px`;
        text.style.strokeWidth = `${large / 3}px`;
        text.style.fill = ATOMS[label.replace(/[^A-Za-z]/g, "")] || "";
        text.textContent = label;
      }
    } else {
      const colour = tint || (label ? labelColour(label) : PALETTE[0]);
      const disc = element("circle", { cx: x, cy: y, r: radius }, parent);
      if (alone) { disc.setAttribute("class", "ring"); disc.setAttribute("stroke", colour); }
      else disc.setAttribute("fill", colour);
      if (share !== null) disc.setAttribute("fill-opacity", 0.08 + 0.92 * share ** 2);
      if (label && radius >= 6 && label.length <= 2) {
        const text = element("text", { x, y: y + 3.5, "text-anchor": "middle" }, parent);
        text.style.fontSize = "10px";
        text.style.fill = alone || share !== null ? "" : "#ffffff";
        text.textContent = label;
      }
    }
    const title = element("title", {}, parent.lastElementChild);
    title.textContent = (drawing.t ? drawing.t[i] : `node ${i}`) + (label ? `, ${label}` : "") +
      (share === null ? "" : `: ${marks.shares[i]} %`);
  }
}

function drawGraph(drawing, name, width = 380, height = 200, shares = null) {
  const svg = element("svg", { viewBox: `0 0 ${width} ${height}`, role: "img" });
  svg.setAttribute("aria-label", `${name}: ${drawing.n} nodes, ${drawing.m} edges`);
  if (!drawing.p) {
    const text = element("text", { x: width / 2, y: height / 2, "text-anchor": "middle" }, svg);
    text.textContent = `${drawing.n.toLocaleString("en")} nodes: too large to draw`;
    return svg;
  }
  drawInto(svg, drawing, fitter(drawing, { x: 0, y: 0, width, height }), { shares });
  return svg;
}

// Rotate and mirror the second drawing so that partners lie alike (orthogonal Procrustes in 2-D).
function turnOver(target, source, pairs) {
  const at = (drawing, i) => [drawing.p[2 * i], -drawing.p[2 * i + 1]];
  const mean = (points) => [0, 1].map(
    (k) => points.reduce((sum, p) => sum + p[k], 0) / Math.max(points.length, 1));
  const mine = pairs.map(([t]) => at(target, t)), theirs = pairs.map(([, s]) => at(source, s));
  const [cm, ct] = [mean(mine), mean(theirs)];
  let best = null;
  for (const mirror of [1, -1]) {
    let [dot, cross] = [0, 0];
    theirs.forEach((p, i) => {
      const [x, y] = [(p[0] - ct[0]) * mirror, p[1] - ct[1]];
      const [u, v] = [mine[i][0] - cm[0], mine[i][1] - cm[1]];
      dot += x * u + y * v;
      cross += x * v - y * u;
    });
    const fit = Math.hypot(dot, cross);
    if (!best || fit > best.fit + 1e-6) best = { fit, mirror, angle: Math.atan2(cross, dot) };
  }
  const [c, s] = [Math.cos(best.angle), Math.sin(best.angle)];
  return (x, y) => [c * x * best.mirror - s * y, s * x * best.mirror + c * y];
}

// Pairs of nodes with their confidence, and the edges that both graphs have.
function describeMatch(target, source, match) {
  const directed = target.d && source.d;
  const key = (u, v) => (directed || u <= v ? `${u}-${v}` : `${v}-${u}`);
  const edges = new Map(), keptTarget = new Set(), keptSource = new Set(), pairs = [];
  for (let k = 0; k < source.m; k += 1) {
    edges.set(key(source.e[2 * k], source.e[2 * k + 1]), k);
  }
  for (let k = 0; k < target.m; k += 1) {
    const [a, b] = [match.p[target.e[2 * k]], match.p[target.e[2 * k + 1]]];
    const other = a >= 0 && b >= 0 ? edges.get(key(a, b)) : undefined;
    if (other !== undefined) { keptTarget.add(k); keptSource.add(other); }
  }
  match.p.forEach((s, t) => { if (s >= 0) pairs.push([t, s, match.c[t]]); });
  return { pairs, keptTarget, keptSource };
}

function drawPair(target, source, match, names, width = 400, height = 420) {
  const svg = element("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", id: "pair" });
  svg.style.height = `${height}px`;
  const half = height / 2 - 8;
  const found = match ? describeMatch(target, source, match) : null;
  const turn = found && found.pairs.length > 1 ? turnOver(target, source, found.pairs) : null;
  const mine = fitter(target, { x: 0, y: 0, width, height: half });
  const theirs = fitter(source, { x: 0, y: height / 2 + 8, width, height: half }, turn);
  if (found) {
    const colour = (t) => PALETTE[t % PALETTE.length];
    const tints = { target: {}, source: {} }, paired = [new Set(), new Set()];
    for (const [t, s, sure] of found.pairs) {
      tints.target[t] = colour(t);
      tints.source[s] = colour(t);
      paired[0].add(t);
      paired[1].add(s);
      const link = element("line", { x1: mine[t][0], y1: mine[t][1], x2: theirs[s][0],
        y2: theirs[s][1], class: "link", stroke: colour(t) }, svg);
      link.style.strokeWidth = `${0.6 + 2.2 * sure / 100}px`;
      element("title", {}, link).textContent = `confidence ${sure} %`;
    }
    const alone = [target, source].map((drawing, at) => new Set(
      [...Array(drawing.n).keys()].filter((i) => !paired[at].has(i))));
    drawInto(svg, target, mine, { tints: tints.target, kept: found.keptTarget, alone: alone[0] });
    drawInto(svg, source, theirs, { tints: tints.source, kept: found.keptSource,
      alone: alone[1] });
    svg.setAttribute("aria-label", `${names[0]} aligned with ${names[1]}: ` +
      `${found.pairs.length} nodes matched, ${found.keptTarget.size} edges kept`);
  } else {
    drawInto(svg, target, mine);
    drawInto(svg, source, theirs);
    svg.setAttribute("aria-label", `${names[0]} above ${names[1]}`);
  }
  return svg;
}
