// What moves in a report: plots that zoom and read values, tables that sort, maps that can be edited.
// Data lie in the page (html_blob.c, figure.c); nothing is fetched. Without this script the pictures
// that C drew stay as they are.
(() => {
'use strict';
// No address in the page, not even this name: every plot has a still picture to take it from.
const SVG = (document.querySelector('svg') || {}).namespaceURI;
const LEFT = 66, RIGHT = 12, TOP = 8, FOOT = 38, BAR = 42, BRANCH = 4, CACHED = 2e7;
const {abs, ceil, floor, log10, max, min, round} = Math;
const clamp = (v, low, high) => min(max(v, low), high);
const rising = ([a, b]) => a < b ? [a, b] : [b, a];
const middle = ([a, b]) => (a + b) / 2;
const span = ([a, b]) => b - a;
const list = (n, f) => Array.from({length: n}, (_, i) => f(i));
const all = (query, f) => document.querySelectorAll(query).forEach(f);
const byId = id => document.getElementById(id);
const named = a => a.unit ? `${a.label} (${a.unit})` : a.label;

const set = (e, a) => { for (const k in a) e.setAttribute(k, a[k]); };

function make(name, attributes = {}, parent, text) {
  const e = name[0] === '*' ? document.createElementNS(SVG, name.slice(1))
                            : document.createElement(name);
  set(e, attributes);
  if (text != null) e.textContent = text;
  if (parent) parent.append(e);
  return e;
}

// ---- Data -------------------------------------------------------------------------------------

function decode(text) {
  const chars = atob(text), bytes = new Uint8Array(chars.length);
  for (let i = 0; i < chars.length; i++) bytes[i] = chars.charCodeAt(i);
  return bytes;
}

async function unpack(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate'));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

async function blob(id, type) {
  const e = byId('b' + id), bytes = decode(e.textContent);
  return new type(('packed' in e.dataset ? await unpack(bytes) : bytes).buffer);
}

// Numbers in 8 or 16 bits between the two that come first; of 16 bits the upper bytes first.
function plane(bytes, at, size, bits) {
  const [low, high] = new Float64Array(bytes.buffer.slice(0, 16));
  const none = 2 ** bits - 1, scale = (high - low) / (none - 1);
  return Float32Array.from({length: size}, (_, i) => {
    const code = bits === 8 ? bytes[at + i] : bytes[at + i] * 256 + bytes[at + size + i];
    return code === none ? NaN : low + code * scale;
  });
}

// Levels of least and greatest values, in chunks that are unpacked when they are looked at.
class Pyramid {
  static known = {};
  static async open(id) {
    Pyramid.known[id] = Pyramid.known[id] || new Pyramid().load(id);
    return Pyramid.known[id];
  }
  async load(id) {
    Object.assign(this, JSON.parse(byId('p' + id).textContent));
    const sizes = await blob(this.index, Uint32Array);
    this.text = byId('b' + this.data).textContent;
    this.cache = new Map();
    this.listeners = new Set();
    let k = 0, at = 0;
    this.chunks = this.levels.map(n => list(ceil(n / this.chunk), () => {
      const bytes = sizes[k++], from = at;
      at += ceil(bytes / 3) * 4;
      return [from, at];
    }));
    return this;
  }
  // null: not in the file; undefined: on its way, and listeners are told.
  get(level, c) {
    const key = level + ':' + c, found = this.cache.get(key);
    if (found) return found === 'wait' ? undefined : found;
    const [from, to] = this.chunks[level][c];
    if (from === to) return null;
    this.cache.set(key, 'wait');
    if (this.cache.size * this.chunk * this.rows > CACHED) this.cache.delete(this.cache.keys().next().value);
    unpack(decode(this.text.slice(from, to))).then(bytes => {
      this.cache.set(key, this.values(bytes, level, c));
      this.listeners.forEach(tell => tell());
    });
  }
  values(bytes, level, c) {
    const n = min(this.chunk, this.levels[level] - c * this.chunk), size = n * this.rows;
    const least = plane(bytes, 16, size, this.bits), next = 16 + size * this.bits / 8;
    return {n, least, greatest: level && !this.map ? plane(bytes, next, size, this.bits) : least};
  }
  // Calls use(values, first, last, chunk, level) along columns a..b, as fine as the level or what
  // there is.
  visit(level, a, b, use) {
    const width = BRANCH ** level, wide = width * this.chunk;
    for (let c = floor(a / wide); c * wide <= b; c++) {
      const from = max(a, c * wide), to = min(b, (c + 1) * wide - 1);
      const values = this.get(level, c);
      if (values) {
        use(values, floor(from / width) - c * this.chunk,
            floor(to / width) - c * this.chunk, c, level);
      } else if (level + 1 < this.levels.length) this.visit(level + 1, from, to, use);
    }
  }
  // Columns of an interval of x, and the level that suits so many points.
  range(x0, x1, points) {
    const a = clamp(floor((x0 - this.first) / this.step), 0, this.n - 1);
    const b = clamp(ceil((x1 - this.first) / this.step), 0, this.n - 1);
    const level = ceil(Math.log2(max((b - a + 1) / points, 1)) / 2);
    return {a, b, level: min(level, this.levels.length - 1)};
  }
  near(x) { return this.first + round((x - this.first) / this.step) * this.step; }
  // What is known at x: [least, greatest, columns they stand for].
  at(x, row) {
    const i = round((x - this.first) / this.step);
    let found = null;
    if (i >= 0 && i < this.n) {
      this.visit(0, i, i, (v, k, _, c, level) => {
        found = [v.least[row * v.n + k], v.greatest[row * v.n + k], BRANCH ** level];
      });
    }
    return found;
  }
}

// ---- Numbers ----------------------------------------------------------------------------------

function show(v, digits = 5) {
  if (isNaN(v)) return 'NaN';
  const a = abs(v);
  return a !== 0 && (a < 1e-4 || a >= 1e7) ? v.toExponential(digits - 2) : String(+v.toPrecision(
    max(digits, a >= 1 ? ceil(log10(a)) : 0)));
}

function ticks(axis, pixels, per) {
  const [low, high] = rising(axis.view);
  const found = [], wide = high - low, wanted = max(pixels / per, 2);
  if (axis.log && wide >= 1) {
    const step = ceil(wide / wanted), between = wide < 2 ? [1, 2, 5] : [1];
    for (let p = floor(low); p <= high; p += step) {
      for (const m of between) {
        const at = p + log10(m);
        const text = abs(p) > 4 ? `${m}e${p}` : show(m * 10 ** p, 2);
        if (at >= low && at <= high) found.push([at, text]);
      }
    }
    return found;
  }
  const real = axis.back;
  const raw = (real(high) - real(low)) / wanted, power = 10 ** floor(log10(raw));
  // Steps of about the length that is wanted.
  const step = max(axis.whole || 0, power * [1, 2, 5, 10].find(m => m * power * 1.4 >= raw));
  const digits = clamp(ceil(-log10(step) - 1e-9), 0, 12);
  const big = max(abs(real(low)), abs(real(high)));
  for (let k = ceil(real(low) / step); k * step <= real(high) * (1 + 1e-12); k++) {
    const text = big < 1e7 && step > 1e-7 ? (k * step).toFixed(digits)
                                          : show(k * step, ceil(log10(big / step)) + 2);
    found.push([axis.into(k * step), text]);
  }
  return found;
}

// ---- Plots ------------------------------------------------------------------------------------

const plots = [], groups = {}, watchers = [];

class Plot {
  constructor(figure) {
    this.figure = figure;
    Object.assign(this, JSON.parse(figure.querySelector('script.plot').textContent));
    this.mates = this.group ? groups[this.group] = groups[this.group] || [] : [];
    this.mates.push(this);
    this.flat = this.group && !this.plane;
    plots.push(this);
  }
  ready() { return this.loading = this.loading || this.load(); }
  async load() {
    for (const s of this.series) {
      if (s.pyramid) s.pyramid = await this.open(s.pyramid);
      else for (const k of ['x', 'y', 'low', 'high']) s[k] = s[k] && await blob(s[k], Float64Array);
    }
    const m = this.map;
    if (m) {
      this.edit = m.edit;
      if (m.pyramid) m.n_row = (m.pyramid = await this.open(m.pyramid)).rows;
      else if (m.bits === 32) m.values = await blob(m.values, Float32Array);
      else {
        const n = m.n_row, half = m.mirror;
        const size = half ? n * (n + 1) / 2 : m.n_column * n;
        const v = plane(await blob(m.values, Uint8Array), 16, size, m.bits);
        m.values = half ? list(n * n, i => {
          const [a, b] = rising([floor(i / n), i % n]);
          return v[b * (b + 1) / 2 + a];
        }) : v;
      }
      if (m.also) m.also = await blob(m.also, Float32Array);
      m.colours = m.palette ? await blob(m.palette, Uint8Array)
                            : Uint8Array.from(m.kinds.flatMap(k => k.rgb));
    }
    const marks = this.marks ? await blob(this.marks, Float64Array) : [];
    this.marks = list(marks.length / 2, i =>
      ({low: marks[2 * i], high: marks[2 * i + 1], name: this.names[i]}));
    this.marks.sort((a, b) => a.low - b.low);
    this.scale(this.x);
    this.scale(this.y);
    for (const s of this.series) {
      if (s.y && !s.x) {
        const [a, b] = this.x.full;
        s.x = list(s.y.length, i => a + (b - a) * (i + .5) / s.y.length);
      }
    }
    this.build();
  }
  async open(id) {
    const p = await Pyramid.open(id);
    p.listeners.add(() => this.ask());
    return p;
  }
  // The axis in the units it is drawn in: logarithms where it is logarithmic.
  scale(axis) {
    axis.into = v => axis.log ? log10(v) : v;
    axis.back = t => axis.log ? 10 ** t : t;
    axis.full = [axis.low, axis.high].map(axis.into);
    axis.view = axis.view || axis.full;
  }
  build() {
    this.bar = make('div', {class: 'bar'});
    this.caption = make('figcaption', {class: 'legend'});
    this.box = make('div', {class: 'plot'});
    this.canvas = make('canvas', {}, this.box);
    this.svg = make('*svg', {tabindex: 0, role: 'img', 'aria-label': this.title || this.y.label},
                    this.box);
    this.reading = make('output', {class: 'reading'});
    make('b', {}, this.bar, this.title);
    const button = (text, title, act) =>
      make('button', {title, 'aria-label': title}, this.tools, text).onclick = act;
    this.tools = make('span', {class: 'tools'}, this.bar);
    button('+', 'zoom in (+)', () => this.zoom(.5));
    button('−', 'zoom out (-)', () => this.zoom(2));
    button('⟲', 'show all (0 or double click)', () => this.reset());
    if (this.marks.length) {
      button('◀', 'previous mark (p)', () => this.next(-1));
      button('▶', 'next mark (n)', () => this.next(1));
    }
    this.figure.querySelector('.still').replaceWith(this.bar, this.box, this.reading, this.caption);
    this.legend();
    this.listen();
    new ResizeObserver(() => this.ask()).observe(this.box);
    this.draw();
    this.figure.dataset.state = 'live';
  }
  legend() {
    const key = (colour, text, tag) => {
      const e = make(tag || 'span', {class: 'key'}, this.caption);
      make('i', {style: 'background:' + colour}, e);
      e.append(text);
      return e;
    };
    for (const s of this.series) {
      if (!s.name) continue;
      const e = key(s.colour, s.name, 'button');
      e.onclick = () => {
        e.classList.toggle('off', s.hidden = !s.hidden);
        this.ask();
      };
    }
    const m = this.map || {};
    for (const k of m.kinds || []) key(k.colour, k.name);
    if (m.lost) key('#d9483b', m.lost_name);
  }
  ask() {
    if (!this.asked) this.asked = requestAnimationFrame(() => { this.asked = 0; this.draw(); });
  }
  // Pixels of values in the axes' units.
  px(t) {
    const [a, b] = this.x.view;
    return LEFT + (t - a) / (b - a) * this.inner;
  }
  py(t) {
    const [a, b] = this.y.view;
    return TOP + (b - t) / (b - a) * this.tall;
  }
  at(axis, pixel) {
    const share = axis === this.x ? (pixel - LEFT) / this.inner : 1 - (pixel - TOP) / this.tall;
    return axis.view[0] + share * span(axis.view);
  }
  draw() {
    this.width = this.box.clientWidth || this.width;
    if (!this.width) return;
    this.inner = this.width - LEFT - RIGHT;
    this.tall = this.square ? this.inner : min(this.height, this.width * .8);
    const height = TOP + this.tall + FOOT + (this.map && !this.map.kinds ? BAR : 0);
    this.svg.replaceChildren();
    this.svg.setAttribute('viewBox', `0 0 ${this.width} ${height}`);
    const frame = {x: LEFT, y: TOP, width: this.inner, height: this.tall};
    this.inside = make('*svg', {...frame, viewBox: Object.values(frame).join(' ')}, this.svg);
    if (this.map) this.drawMap(height);
    else this.canvas.hidden = true;
    this.drawMarks();
    for (const s of this.series) if (!s.hidden) this.drawSeries(s);
    make('*rect', {...frame, class: 'frame'}, this.svg);
    this.drawAxes();
    this.hair = make('*path', {class: 'cursor'}, this.svg);
    this.lasso = make('*rect', {class: 'zoom'}, this.svg);
    if (this.cursor) this.place(this.cursor);
  }
  text(x, y, anchor, text, more) {
    return make('*text', {x: x.toFixed(1), y: y.toFixed(1), 'text-anchor': anchor, ...more},
                this.svg, text);
  }
  drawAxes() {
    const bottom = TOP + this.tall, m = this.map;
    const line = d => make('*path', {d, class: 'tick'}, this.svg);
    let right = -Infinity;
    for (const [t, text] of this.marksOf(this.x, m && m.columns, this.inner, 74)) {
      // Those at the ends stay whole.
      const x = this.px(t), half = text.length * 3.4, at = clamp(x, half, this.width - half);
      if (at - half < right + 4) continue;
      right = at + half;
      line(`M${x} ${bottom}v4` + (m ? '' : `V${TOP}`));
      this.text(at, bottom + 17, 'middle', text);
    }
    for (const [t, text] of this.marksOf(this.y, m && m.rows, this.tall, 36)) {
      const y = this.py(t);
      line(`M${LEFT} ${y}h-4` + (m ? '' : `M${LEFT} ${y}h${this.inner}`));
      this.text(LEFT - 7, y + 4, 'end', text.length > 8 ? text.slice(0, 7) + '…' : text,
                text.length > 6 && {textLength: 41});
    }
    this.text(LEFT + this.inner / 2, bottom + 33, 'middle', named(this.x));
    this.text(0, 0, 'middle', named(this.y), {
      transform: `translate(11 ${TOP + this.tall / 2}) rotate(-90)`});
  }
  // Numbers of an axis, or names of the cells of a map.
  marksOf(axis, names, pixels, per) {
    if (!names) return ticks(axis, pixels, per);
    const [a, b] = rising(axis.full), width = (b - a) / names.length;
    const shown = abs(span(axis.view) / width);
    const every = max(1, ceil(shown * (axis === this.x ? 30 : 15) / pixels));
    return names.flatMap((name, i) => {
      const t = a + width * (i + .5), share = (t - axis.view[0]) / span(axis.view);
      return i % every === 0 && share >= 0 && share <= 1 ? [[t, name]] : [];
    });
  }
  drawMarks() {
    const at = v => clamp(this.px(this.x.into(v)), LEFT - 9, this.width);
    const d = this.marks.map(({low, high}) => {
      const a = at(low) - .75, b = max(at(high), a + 1.5);
      return b < LEFT || a > LEFT + this.inner ? '' : `M${a} ${TOP}v${this.tall}H${b}V${TOP}Z`;
    }).join('');
    make('*path', {d, class: 'mark'}, this.inside);
  }
  drawSeries(s) {
    const colour = s.colour, put = (d, more) =>
      make('*path', {d, fill: 'none', stroke: colour, ...more}, this.inside);
    if (s.pyramid) return put(this.pathOf(s));
    const {x, y} = s, n = y.length, points = s.style === 'points';
    const X = i => this.px(this.x.into(x[i])), Y = v => this.py(this.y.into(v));
    const cut = v => clamp(v, -1e4, 1e4).toFixed(1);
    if (s.style === 'bars') {
      const half = (n > 1 ? (X(1) - X(0)) / 2 : this.inner / 2) * .92;
      const base = cut(this.py(this.y.log ? this.y.view[0] : 0));
      const d = Array.from(y, (v, i) => isFinite(X(i) + Y(v)) ?
        `M${cut(X(i) - half)} ${base}V${cut(Y(v))}H${cut(X(i) + half)}V${base}Z` : '').join('');
      return put(d, {fill: colour, stroke: 'none'});
    }
    if (s.low) {
      const there = [], back = [];
      for (let i = 0; i < n; i++) {
        const a = cut(X(i)), top = Y(s.high[i]), low = Y(s.low[i]);
        if (!isFinite(X(i) + top)) continue;
        there.push(`${a} ${cut(top)}`);
        back.unshift(`${a} ${cut(isFinite(low) ? low : TOP + this.tall)}`);
      }
      if (points) put('M' + there.map((t, i) => t + 'L' + back.at(~i)).join('M'));
      else if (there[0]) put(`M${there.join('L')}L${back.join('L')}Z`,
                             {fill: colour, class: 'band', stroke: 'none'});
    }
    let d = '', down = false;
    for (let i = 0; i < n; i++) {
      const a = X(i), b = Y(y[i]);
      if (!isFinite(a + b)) down = false;
      else {
        d += `${down ? 'L' : 'M'}${cut(a)} ${cut(b)}${points ? 'h0' : ''}`;
        down = !points;
      }
    }
    put(d, {class: s.style});
  }
  pathOf(s) {
    const p = s.pyramid, {a, b, level} = p.range(...this.x.view, this.inner * 1.5);
    let d = '', down = false;
    p.visit(level, a, b, (v, first, last, c, l) => {
      for (let k = first; k <= last; k++) {
        const low = v.least[s.row * v.n + k], high = v.greatest[s.row * v.n + k];
        if (!isFinite(this.y.into(high))) { down = false; continue; }
        const wide = BRANCH ** l, i = (c * p.chunk + k) * wide + (wide - 1) / 2;
        const x = this.px(p.first + i * p.step).toFixed(1);
        d += `${down ? 'L' : 'M'}${x} ${this.py(this.y.into(low)).toFixed(1)}`;
        if (high !== low) d += `L${x} ${this.py(this.y.into(high)).toFixed(1)}`;
        else if (!down) d += 'h.1';
        down = true;
      }
    });
    return d;
  }
  // ---- Maps
  code(v) {
    const m = this.map, into = t => m.log ? log10(t) : t;
    if (!isFinite(v)) return 255;
    if (m.kinds) return v;
    const share = (into(v) - into(m.low)) / (into(m.high) - into(m.low));
    return isFinite(share) ? round(clamp(share, 0, 1) * 254) : 0;
  }
  paint(columns, rows, value) {
    const c = this.map.colours, is_up = span(this.y.full) > 0;
    const canvas = make('canvas', {width: columns, height: rows});
    const g = canvas.getContext('2d'), image = g.createImageData(columns, rows);
    for (let i = 0; i < columns; i++) {
      for (let r = 0; r < rows; r++) {
        const code = this.code(value(i, r)), at = 4 * ((is_up ? rows - 1 - r : r) * columns + i);
        for (let k = 0; k < 3; k++) image.data[at + k] = code === 255 ? 160 : c[3 * code + k];
        image.data[at + 3] = 255;
      }
    }
    g.putImageData(image, 0, 0);
    return canvas;
  }
  drawMap(height) {
    const m = this.map, c = this.canvas, ratio = window.devicePixelRatio || 1;
    const w = 100 / this.width, h = 100 / height;
    c.style = `left:${LEFT * w}%;top:${TOP * h}%;width:${this.inner * w}%;height:${this.tall * h}%`;
    c.width = this.inner * ratio;
    c.height = this.tall * ratio;
    const g = c.getContext('2d'), [y0, y1] = this.y.full;
    g.scale(ratio, ratio);
    const put = (picture, x0, x1) => {
      const a = this.px(x0), wide = this.px(x1) - a, top = this.py(y1);
      g.imageSmoothingEnabled = picture.width > wide * 1.5;
      g.drawImage(picture, a - LEFT, top - TOP, wide, this.py(y0) - top);
    };
    if (m.pyramid) {
      const p = m.pyramid, {a, b, level} = p.range(...this.x.view, this.inner * ratio);
      p.visit(level, a, b, (v, first, last, chunk, l) => {
        const wide = BRANCH ** l, edge = k => p.first + ((chunk * p.chunk + k) * wide - .5) * p.step;
        put(this.paint(last - first + 1, p.rows, (i, r) => v.greatest[r * v.n + first + i]),
            edge(first), edge(last + 1));
      });
    } else {
      m.picture = m.picture ||
        this.paint(m.n_column, m.n_row, (i, r) => m.values[i * m.n_row + r]);
      put(m.picture, ...this.x.full);
      this.drawCells();
    }
    if (!m.kinds) this.drawScale();
  }
  drawCells() {
    const m = this.map, [a, b] = this.x.full, [c, d] = rising(this.y.full);
    const x = i => this.px(a + (b - a) * i / m.n_column), y = i => this.py(c + (d - c) * i / m.n_row);
    const wide = x(1) - x(0), high = abs(y(1) - y(0));
    if (!m.numbers && !m.lost) return;
    for (let i = 0; i < m.n_column; i++) {
      for (let r = 0; r < m.n_row; r++) {
        const v = m.values[i * m.n_row + r], top = min(y(r), y(r + 1));
        if (m.lost && v < m.lost) {
          make('*rect', {x: x(i) + 1.5, y: top + 1.5, width: max(wide - 3, 1),
                         height: max(high - 3, 1), class: 'lost'}, this.inside);
        }
        if (m.numbers && wide >= 34 && high >= 14 && isFinite(v)) {
          const k = 3 * this.code(v), [red, green, blue] = m.colours.slice(k, k + 3);
          make('*text', {x: x(i) + wide / 2, y: top + high / 2 + 4, 'text-anchor': 'middle',
                         style: `fill:${3 * red + 6 * green + blue > 1400 ? '#000' :
                         '#fff'}`}, this.inside, show(v, 4));
        }
      }
    }
  }
  drawScale() {
    const m = this.map, y = TOP + this.tall + FOOT + 4, wide = this.inner / 51;
    for (let i = 0; i < 51; i++) {
      const k = 3 * round(i / 50 * 254);
      make('*rect', {x: LEFT + i * wide, y, width: wide + .5, height: 9,
                     fill: `rgb(${m.colours.slice(k, k + 3)})`}, this.svg);
    }
    this.text(LEFT, y + 23, 'start', show(m.low, 3));
    this.text(LEFT + this.inner, y + 23, 'end', show(m.high, 3));
    this.text(LEFT + this.inner / 2, y + 23, 'middle', named(m));
  }
  // The cell under a place: its column, row and value.
  cell(tx, ty) {
    const m = this.map;
    const share = (axis, t) => (t - min(...axis.full)) / abs(span(axis.full));
    const row = floor(share(this.y, ty) * m.n_row);
    if (row < 0 || row >= m.n_row) return null;
    if (m.pyramid) {
      const v = m.pyramid.at(tx, row);
      return v && {row, value: v[1], columns: v[2]};
    }
    const column = floor(share(this.x, tx) * m.n_column);
    return column < 0 || column >= m.n_column ? null : {row, column, value: m.values[column * m.n_row + row], columns: 1};
  }
  // ---- Moving
  show(axis, view) {
    const [low, high] = axis.full, whole = high - low, wide = span(view);
    let v = abs(wide) < abs(whole) * 1e-9 ? axis.view : view;
    if (abs(wide) >= abs(whole)) v = axis.full;
    else if ((v[0] - low) * whole < 0) v = [low, low + span(v)];
    else if ((v[1] - high) * whole > 0) v = [high - span(v), high];
    (axis === this.x || this.plane ? this.mates : [this]).forEach(p => {
      (axis === this.x ? p.x : p.y).view = v;
      if (p.box) p.ask();
    });
  }
  zoom(factor, x, y) {
    const about = (axis, t) => this.show(axis, axis.view.map(v => t + (v - t) * factor));
    about(this.x, x ?? middle(this.x.view));
    if (this.plane || y != null && !this.flat) about(this.y, y ?? middle(this.y.view));
  }
  pan(share) {
    const d = share * span(this.x.view);
    this.show(this.x, this.x.view.map(v => v + d));
  }
  reset() { this.show(this.x, this.x.full); this.show(this.y, this.y.full); }
  next(direction) {
    const here = middle(this.x.view), slack = abs(span(this.x.view)) * 1e-6, {into} = this.x;
    const far = m => (middle([into(m.low), into(m.high)]) - here) * direction > slack;
    const m = direction > 0 ? this.marks.find(far) : this.marks.findLast(far);
    if (m) this.jump(m.low, m.high);
  }
  jump(low, high) {
    const a = this.x.into(low), b = this.x.into(high), whole = span(this.x.full);
    const room = max(b - a, this.finest() * 20, b > a ? 0 : whole * 1e-3);
    this.show(this.x, [a - room, b + room]);
    this.point({x: (a + b) / 2});
  }
  finest() {
    const p = this.map && this.map.pyramid || (this.series.find(s => s.pyramid) || {}).pyramid;
    return p ? p.step : 0;
  }
  // ---- Cursor
  point(where) {
    for (const p of this.mates) if (p.svg) p.place(p === this || p.plane ? where : {x: where.x});
  }
  place(where) {
    this.cursor = where;
    const x = this.px(where.x), seen = x >= LEFT && x <= LEFT + this.inner;
    this.hair.setAttribute('d', seen ? `M${x} ${TOP}v${this.tall}` +
      (where.y == null ? '' : `M${LEFT} ${this.py(where.y)}h${this.inner}`) : '');
    this.reading.textContent = this.read();
  }
  read() {
    const {x, y} = this.cursor, m = this.map;
    const unit = a => a.unit && ' ' + a.unit;
    const say = (axis, v, digits) => `${axis.label} ${show(axis.whole ? round(v) : v, digits)}${unit(axis)}`;
    const digits = clamp(ceil(log10(max(abs(x / span(this.x.view)), 1))) + 4, 4, 15);
    const found = [];
    const between = v => v[2] === 1 || v[0] === v[1] ? show(v[1]) : `${show(v[0])} to ${show(v[1])}`;
    // Cells have one place, their middle.
    const place = (axis, i, n) => min(...axis.full) + abs(span(axis.full)) * (i + .5) / n;
    let where = this.x.back(x), coarse = 1;
    if (m && y != null) {
      const cell = this.cell(x, y);
      if (!cell) return '';
      const value = m.kinds ? (m.kinds[cell.value] || {name: 'NaN'}).name
                            : show(cell.value) + unit(m);
      found.push(m.rows ? m.rows[cell.row] : 
        say(this.y, place(this.y, cell.row, m.n_row), 5), `${m.label || ''} ${value}`);
      if (m.also) {
        found.push(`${m.also_label} ${show(m.also[cell.column * m.n_row + cell.row], 4)} ` +
                   m.also_units[cell.row]);
      }
      if (m.columns) return [m.columns[cell.column], ...found].join(' · ');
      coarse = cell.columns;
      where = m.pyramid ? m.pyramid.near(x) : place(this.x, cell.column, m.n_column);
    }
    for (const s of this.series) {
      if (s.hidden) continue;
      if (s.pyramid) {
        const v = s.pyramid.at(x, s.row);
        if (!v) continue;
        found.push(`${s.name || this.y.label} ${between(v)}${unit(this.y)}`);
        coarse = max(coarse, v[2]);
        where = s.pyramid.near(x);
      } else {
        let best = -1, least = Infinity;
        s.x.forEach((v, k) => {
          const far = abs(this.x.into(v) - x);
          if (far < least && isFinite(s.y[k])) [best, least] = [k, far];
        });
        if (best < 0) continue;
        if (this.series.length === 1 || s.style !== 'line') where = s.x[best];
        found.push(`${s.name || this.y.label} ${show(s.y[best])}` +
          (s.low ? ` [${show(s.low[best])} … ${show(s.high[best])}]` : '') + unit(this.y));
      }
    }
    const mark = this.marks.find(k => this.x.into(k.low) <= x && x <= this.x.into(k.high) && k.name);
    if (mark) found.push(mark.name);
    return [say(this.x, where, digits), ...found].join(' · ') + (coarse > 1 ? ` (of ${coarse} bins)` : '');
  }
  // ---- Pointers and keys
  listen() {
    const s = this.svg, down = new Map(), on = (...a) => s.addEventListener(...a);
    let from = null, spread = 0;
    const place = e => {
      const r = s.getBoundingClientRect(), k = this.width / r.width;
      return {px: (e.clientX - r.left) * k, py: (e.clientY - r.top) * k};
    };
    const value = q => ({x: this.at(this.x, q.px), y: this.at(this.y, q.py)});
    on('wheel', e => {
      // A page that scrolls stays so.
      if (document.activeElement !== s && !e.ctrlKey) return;
      e.preventDefault();
      const v = value(place(e));
      this.zoom(Math.exp(clamp(e.deltaY, -100, 100) * .003), v.x, v.y);
    }, {passive: false});
    on('pointerdown', e => {
      s.focus({preventScroll: true});
      s.setPointerCapture(e.pointerId);
      down.set(e.pointerId, place(e));
      from = place(e);
      spread = 0;
    });
    on('pointermove', e => {
      const now = place(e);
      if (!down.has(e.pointerId)) return this.point(value(now));
      const before = down.get(e.pointerId);
      down.set(e.pointerId, now);
      if (down.size === 2) {
        const [p, q] = [...down.values()], far = Math.hypot(p.px - q.px, p.py - q.py);
        const v = value({px: (p.px + q.px) / 2, py: (p.py + q.py) / 2});
        if (spread) this.zoom(spread / far, v.x, v.y);
        spread = far;
      } else if (e.pointerType === 'touch' || e.shiftKey || e.buttons & 4) {
        this.pan((before.px - now.px) / this.inner);
        if (!this.flat && e.pointerType !== 'touch') {
          const d = (now.py - before.py) / this.tall * span(this.y.view);
          this.show(this.y, this.y.view.map(v => v + d));
        }
      } else {
        this.drag = this.corners(from, now);
        set(this.lasso, this.drag.box);
      }
      this.point(value(now));
    });
    const up = e => {
      if (!down.delete(e.pointerId)) return;
      const drag = this.drag;
      this.drag = null;
      this.lasso.removeAttribute('width');
      if (drag && drag.box.width > 5) {
        const {x, y, width, height} = drag.box, t = [x, x + width].map(v => this.at(this.x, v));
        const u = [y + height, y].map(v => this.at(this.y, v));
        this.show(this.x, t);
        if (!drag.is_flat) this.show(this.y, u);
      } else if (e.type === 'pointerup' && this.edit) this.change(value(place(e)));
    };
    on('pointerup', up);
    on('pointercancel', up);
    on('dblclick', () => { if (!this.edit) this.reset(); });
    on('keydown', e => this.key(e));
  }
  corners(p, q) {
    const [x, right] = rising([p.px, q.px].map(v => clamp(v, LEFT, LEFT + this.inner)));
    const [y, low] = rising([p.py, q.py].map(v => clamp(v, TOP, TOP + this.tall)));
    const is_flat = low - y < 14 || this.flat;
    return {is_flat, box: {x, width: right - x, y: is_flat ? TOP : y,
                           height: is_flat ? this.tall : low - y}};
  }
  key(e) {
    const move = (dx, dy) => {
      const m = this.map, c = this.cursor || {x: middle(this.x.view), y: m ? middle(this.y.view) : null};
      const step = (a, n) => span(a.full) / n;
      const sx = m && !m.pyramid ? step(this.x, m.n_column)
                                 : this.finest() || span(this.x.view) / 100;
      const sy = m ? step(this.y, m.n_row) : 0;
      this.point({x: c.x + dx * sx, y: c.y == null ? null : c.y + dy * sy});
    };
    const arrows = {ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1]};
    const acts = {'+': () => this.zoom(.5), '-': () => this.zoom(2),
                  0: () => this.reset(), n: () => this.next(1), p: () => this.next(-1),
                  Enter: () => { if (this.edit && this.cursor) this.change(this.cursor); }};
    if (arrows[e.key] && e.shiftKey) this.pan(arrows[e.key][0] * .2);
    else if (arrows[e.key]) move(...arrows[e.key]);
    else if (acts[e.key] && !e.ctrlKey && !e.metaKey) acts[e.key]();
    else return;
    e.preventDefault();
  }
  // The cell gets the next kind.
  change(at) {
    const m = this.map, c = this.cell(at.x, at.y);
    if (!c || !m.kinds[c.value]) return;
    const i = c.column * m.n_row + c.row;
    m.given = m.given || m.values.slice();
    m.values[i] = (c.value + 1) % m.kinds.length;
    m.picture = null;
    this.ask();
    this.point(at);
    watchers.forEach(tell => tell());
  }
}

function changes() {
  let n = 0;
  // A cell that is NaN stays so, and NaN is no difference.
  for (const {map: m} of plots) {
    if (m && m.given) m.values.forEach((v, i) => { n += !!(v - m.given[i]); });
  }
  return n;
}

function edited(template) {
  const out = JSON.parse(template);
  for (const {map: m} of plots) {
    if (!m || !m.given || !(m.edit in out)) continue;
    const row = i => Array.from(m.values.slice(i * m.n_row, (i + 1) * m.n_row));
    const columns = list(m.n_column, row);
    out[m.edit] = m.n_row === 1 || m.n_column === 1 ? columns.flat() : columns;
  }
  return out;
}

function save(text, download) {
  make('a', {href: URL.createObjectURL(new Blob([text + '\n'])), download}).click();
}

function exporter(button) {
  const label = button.textContent, template = button.nextElementSibling.textContent;
  button.hidden = false;
  button.onclick = () => save(JSON.stringify(edited(template)), button.dataset.file);
  watchers.push(() => { button.textContent = `${label} (${changes()} changed)`; });
}

// ---- Tables -----------------------------------------------------------------------------------

const PREFIX = {p: 1e-12, n: 1e-9, u: 1e-6, 'µ': 1e-6, 'μ': 1e-6, m: 1e-3, k: 1e3, K: 1e3, M: 1e6,
                G: 1e9, T: 1e12};
const NUMBER = /^[\s<>≤≥~±[(]*([-−+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?)\s*(?:([pnuµμmkKMGT])(?=i?(?:s|V|B|Hz|flop|bit)))?/i;

// What a cell is sorted by: a number, NaN, or null where it is text.
function number(text) {
  const t = text.trim(), found = NUMBER.exec(t);
  if (t === '' || t === '-' || t === '—' || /^nan\b/i.test(t)) return NaN;
  if (/^[-−+]?(inf|∞)/i.test(t)) return /^[-−]/.test(t) ? -Infinity : Infinity;
  return found ? parseFloat(found[1].replace('−', '-')) * (PREFIX[found[2]] || 1) : null;
}

function sort(head) {
  const table = head.closest('table'), i = head.cellIndex;
  const is_down = head.getAttribute('aria-sort') === 'ascending';
  const rows = [...table.tBodies[0].rows].map(r => [r, r.cells[i]?.textContent ?? '']);
  const keys = rows.map(([, text]) => number(text)), sign = is_down ? -1 : 1;
  const compare = keys.includes(null)
    ? (a, b) => sign * rows[a][1].localeCompare(rows[b][1], undefined, {numeric: true})
    : (a, b) => isNaN(keys[a]) - isNaN(keys[b]) || sign * (keys[a] > keys[b] || -(keys[a] < keys[b]));
  const order = rows.map((_, k) => k).sort((a, b) => compare(a, b) || a - b);
  for (const h of head.parentNode.cells) h.removeAttribute('aria-sort');
  head.setAttribute('aria-sort', is_down ? 'descending' : 'ascending');
  table.tBodies[0].append(...order.map(k => rows[k][0]));
}

function sortable(table) {
  for (const head of table.tHead.rows[0].cells) {
    head.tabIndex = 0;
    head.title = 'sort';
    head.onclick = () => sort(head);
    head.onkeydown = e => { if (e.key === 'Enter') sort(head); };
  }
  const button = make('button', {title: 'save this table'}, null, 'CSV');
  const quoted = cell => `"${cell.textContent.replaceAll('"', '""')}"`;
  button.onclick = () =>
    save([...table.rows].map(row => [...row.cells].map(quoted).join()).join('\n'), 'table.csv');
  table.after(button);
}

// ---- The page ---------------------------------------------------------------------------------

function open(id) {
  for (let e = byId(id); e; e = e.parentElement) {
    if (e.tagName === 'DETAILS') e.open = true;
  }
}

const wanted = new IntersectionObserver(seen => {
  for (const s of seen) {
    if (!s.isIntersecting) continue;
    wanted.unobserve(s.target);
    s.target.plot.ready().catch(e => { s.target.dataset.state = 'still'; console.error(e); });
  }
}, {rootMargin: '800px'});

all('figure.live', f => {
  f.plot = new Plot(f);
  wanted.observe(f);
});
all('table.sort', sortable);
all('button.export', exporter);
document.addEventListener('click', e => {
  const a = e.target.closest('a');
  if (a && a.dataset.group) {
    e.preventDefault();
    const p = (groups[a.dataset.group] || [])[0];
    if (!p) return;
    p.figure.scrollIntoView({block: 'nearest'});
    p.ready().then(() => p.jump(+a.dataset.low, +a.dataset.high));
  } else if (a && a.hash) open(a.hash.slice(1));
});
open(location.hash.slice(1));
if (innerWidth < 700) all('nav details', d => { d.open = false; });
addEventListener('beforeprint', () =>
  all('main details,footer details', d => { d.open = true; }));
window.tessera = {plots, groups, edited, changes, number};
})();
