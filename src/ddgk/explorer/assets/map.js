// The scatter plot: pixels written by the CPU, which draws 100,000 points 60 times a second.

const PALETTE = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#b8ac00",
  "#7f7f7f", "#8c564b", "#5e4fa2"];
const RAMP = ["#440154", "#472d7b", "#3b528b", "#2c728e", "#21918c", "#28ae80", "#5ec962",
  "#addc30", "#fde725"];

const rgb = (text) => [1, 3, 5].map((at) => parseInt(text.slice(at, at + 2), 16));

const hex = (parts) => "#" + parts.map((part) => part.toString(16).padStart(2, "0")).join("");

const isDark = () => document.documentElement.dataset.theme === "dark";

// Beyond the palette the same colours come again, nearer to the ink and then to the paper.
function categoryColour(code) {
  const round = Math.floor(code / PALETTE.length) % 3, own = rgb(PALETTE[code % PALETTE.length]);
  const toward = (round === 1) === isDark() ? 255 : 0;
  return own.map((part) => Math.round(part + (round ? 0.45 : 0) * (toward - part)));
}

// Without the end of the ramp that cannot be seen on the paper.
function rampColour(share) {
  const [first, last] = isDark() ? [0.2, 1] : [0, 0.88];
  const at = (first + (last - first) * share) * (RAMP.length - 1);
  const low = Math.min(RAMP.length - 2, Math.floor(at));
  const [a, b] = [rgb(RAMP[low]), rgb(RAMP[low + 1])];
  return a.map((value, i) => Math.round(value + (at - low) * (b[i] - value)));
}

// Colours of all points are four bytes each; alpha 0 hides a point.
class Renderer {
  constructor(canvas) { this.context = canvas.getContext("2d", { alpha: true }); }
  setPlaces(xy) { this.xy = xy; }
  setColours(bytes) { this.words = new Uint32Array(bytes.buffer, 0, bytes.length / 4); }
  draw(view, width, height, size) {
    if (this.words.length <= 3000) { this.drawFew(view, width, height, size); return; }
    if (!this.image || this.image.width !== width || this.image.height !== height) {
      this.image = this.context.createImageData(width, height);
      this.pixels = new Uint32Array(this.image.data.buffer);
    }
    const { pixels, xy, words } = this, { zoom, x: left, y: top } = view;
    pixels.fill(0);
    const radius = size / 2, reach = Math.ceil(radius), offsets = [];
    for (let v = -reach; v <= reach; v += 1) {
      for (let u = -reach; u <= reach; u += 1) {
        // Without the corners, which would make small discs squares.
        if (u * u + v * v <= 0.85 * radius * radius) offsets.push([u, v]);
      }
    }
    const jumps = Int32Array.from(offsets, ([u, v]) => v * width + u);
    for (let i = 0; i < words.length; i += 1) {
      const word = words[i];
      if (word >>> 24 === 0) continue;
      const x = (xy[2 * i] * zoom + left) | 0, y = (xy[2 * i + 1] * zoom + top) | 0;
      if (x < reach || y < reach || x >= width - reach || y >= height - reach) continue;
      const at = y * width + x;
      for (let j = 0; j < jumps.length; j += 1) pixels[at + jumps[j]] = word;
    }
    this.context.putImageData(this.image, 0, 0);
  }
  // With smooth edges, which many points would take too long for.
  drawFew({ zoom, x: left, y: top }, width, height, size) {
    const { context, xy, words } = this;
    context.clearRect(0, 0, width, height);
    words.forEach((word, i) => {
      const parts = [word & 255, (word >> 8) & 255, (word >> 16) & 255, (word >>> 24) / 255];
      context.fillStyle = `rgba(${parts.join(",")})`;
      context.beginPath();
      context.arc(xy[2 * i] * zoom + left, xy[2 * i + 1] * zoom + top, size / 2, 0, 7);
      context.fill();
    });
  }
}
