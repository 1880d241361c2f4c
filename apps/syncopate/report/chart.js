// Charts as SVG: numbers as text, scales, axes, lines, and the values under a pointer, a finger or the arrow
// keys. Text reaches the page as text nodes only, so that no name or setting can become markup.
'use strict';

const SVG = 'http://www.w3.org/2000/svg';
const KINDS = 8; // colours, each with its own mark; each further group of eight series gets another dash pattern

function element(tag, attributes = {}, ...children) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes))
        if (value !== undefined && value !== false) made.setAttribute(name, value === true ? '' : value);
    made.append(...children.filter(child => child !== null));
    return made;
}

function shape(tag, attributes = {}, ...children) {
    const made = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    made.append(...children);
    return made;
}

const colourOf = index => `k${index % KINDS}`;
const dashOf = index => `d${Math.floor(index / KINDS) % 4}`;

// 12345.678 -> 12 345.678
function grouped(decimal) {
    const [whole, rest] = decimal.split('.');
    const spaced = whole.replace(/\B(?=(\d{3})+$)/g, '\u202f');
    return rest === undefined ? spaced : `${spaced}.${rest}`;
}

function withPower(value, digits) {
    const [mantissa, power] = value.toExponential(digits).split('e');
    const raised = [...String(Number(power))].map(c => c === '-' ? '⁻' : '⁰¹²³⁴⁵⁶⁷⁸⁹'[c]);
    return `${Number(mantissa)}·10${raised.join('')}`;
}

// A number with this many digits as a person writes it: no trailing zeros, no exponent unless it is needed.
function words(value, digits = 4) {
    if (!Number.isFinite(value)) return '–';
    const size = Math.abs(value);
    if (size !== 0 && (size < 1e-4 || size >= 1e7)) return withPower(value, Math.max(0, digits - 2));
    const decimals = size === 0 ? 0 : Math.max(0, digits - 1 - Math.floor(Math.log10(size)));
    return grouped(String(Number(value.toFixed(Math.min(decimals, 8)))));
}

// The same for columns: trailing zeros stay.
function fixed(value, decimals) {
    return Number.isFinite(value) ? grouped(value.toFixed(decimals)) : '–';
}

function rounded(value, digits) {
    if (!Number.isFinite(value)) return '–';
    return fixed(value, value === 0 ? 0 : Math.max(0, digits - 1 - Math.floor(Math.log10(Math.abs(value)))));
}

// [name, size, the smallest value it is used for]
const BYTES = [['B', 1, 0], ['kB', 1e3, 1e3], ['MB', 1e6, 1e6], ['GB', 1e9, 1e9], ['TB', 1e12, 1e12]];
const SECONDS = [['s', 1, 0], ['min', 60, 600], ['h', 3600, 36000]];

// The unit in which the largest of some values is easy to read.
function unitFor(most, units) {
    const [name, size] = units.filter(unit => most >= unit[2]).pop() || units[0];
    return {name, size};
}

function bytesInWords(bytes) {
    if (!Number.isFinite(bytes)) return '–';
    const unit = unitFor(bytes, BYTES);
    return `${words(bytes / unit.size, 3)} ${unit.name}`;
}

const clean = number => Number(number.toPrecision(12));

function linearTicks(low, high, count) {
    const rough = (high - low) / Math.max(1, count);
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 2.5, 5, 10].map(times => times * power).find(size => size >= rough * 0.999);
    const ticks = [];
    for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; i++) ticks.push(clean(i * step));
    return ticks;
}

function logTicks(low, high, count) {
    const decades = Math.log10(high / low);
    const within = [[1, 2, 5], [1, 3], [1]].find(times => decades * times.length <= count * 1.3) || [1];
    const every = Math.max(1, Math.ceil(decades / (count * 1.3)));
    const ticks = [];
    for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high) + 1e-9; power++)
        if (power % every === 0) ticks.push(...within.map(times => clean(times * 10 ** power)));
    return ticks.filter(tick => tick >= low * 0.999999 && tick <= high * 1.000001);
}

function powerTicks(low, high, count) {
    const every = Math.max(1, Math.ceil(Math.log2(high / low) / count));
    const ticks = [];
    for (let power = Math.ceil(Math.log2(low) - 1e-9); power <= Math.log2(high) + 1e-9; power += every)
        ticks.push(2 ** power);
    return ticks;
}

// A mapping from values to positions, with about count ticks. form: linear, log or log2.
function scale(form, [low, high], [from, to], count) {
    const bend = form === 'linear' ? value => value : Math.log;
    const width = bend(high) - bend(low) || 1;
    const ticks = {linear: linearTicks, log: logTicks, log2: powerTicks}[form](low, high, count);
    return {ticks, at: value => from + (bend(value) - bend(low)) / width * (to - from)};
}

// The lowest and the highest value; there may be more values than a call can have arguments.
function extremes(values) {
    return values.reduce(([low, high], value) => [Math.min(low, value), Math.max(high, value)], [Infinity, -Infinity]);
}

// Whether values differ by such a factor that they need a logarithmic axis.
function spans(values, times) {
    const [low, high] = extremes(values);
    return low > 0 && low < Infinity && high / low >= times;
}

// Bounds of values with a small margin, within limits that values cannot exceed.
function bounds(values, form, limits = [-Infinity, Infinity]) {
    const [low, high] = extremes(values);
    if (low > high) return form === 'linear' ? [0, 1] : [1, 2];
    if (form !== 'linear') return low === high ? [low / 2, high * 2] : [low / 1.06, high * 1.06];
    if (low === high) return high === 0 ? [0, 1] : [Math.min(0, 1.1 * high), Math.max(0, 1.1 * high)];
    const air = (high - low) * 0.05;
    return [low >= 0 && low < air ? 0 : Math.max(low - air, limits[0]), Math.min(high + air, limits[1])];
}

// Thin out very many points: keep the lowest and the highest of every few, which is all that is visible.
function thin(points, most = 1200) {
    if (points.length <= most) return points;
    const few = Math.ceil(points.length / (most / 2));
    const kept = [];
    for (let i = 0; i < points.length - 1; i += few) {
        const part = points.slice(i, Math.min(i + few, points.length - 1));
        const low = part.reduce((a, b) => b[1] < a[1] ? b : a);
        const high = part.reduce((a, b) => b[1] > a[1] ? b : a);
        kept.push(...(low === high ? [low] : part.indexOf(low) < part.indexOf(high) ? [low, high] : [high, low]));
    }
    return [...kept, points[points.length - 1]];
}

const CORNERS = [
    null, // a circle
    [[-.9, -.9], [.9, -.9], [.9, .9], [-.9, .9]],
    [[0, -1.2], [1.1, .9], [-1.1, .9]],
    [[0, -1.3], [1.3, 0], [0, 1.3], [-1.3, 0]],
    [[0, 1.2], [1.1, -.9], [-1.1, -.9]],
    [[-.4, -1.2], [.4, -1.2], [.4, -.4], [1.2, -.4], [1.2, .4], [.4, .4],
        [.4, 1.2], [-.4, 1.2], [-.4, .4], [-1.2, .4], [-1.2, -.4], [-.4, -.4]],
    [[-.5, -1.1], [.5, -1.1], [1.1, 0], [.5, 1.1], [-.5, 1.1], [-1.1, 0]],
    [[-1.4, -.6], [1.4, -.6], [1.4, .6], [-1.4, .6]],
];

function mark(index, x, y, r, more = '') {
    const name = `mark ${colourOf(index)} ${more}`;
    const corners = CORNERS[index % KINDS];
    if (!corners) return shape('circle', {class: name, cx: x, cy: y, r});
    const points = corners.map(([dx, dy]) => `${(x + dx * r).toFixed(1)},${(y + dy * r).toFixed(1)}`);
    return shape('polygon', {class: name, points: points.join(' ')});
}

function swatch(index) {
    return shape('svg', {class: 'swatch', width: 26, height: 12, viewBox: '0 0 26 12', 'aria-hidden': 'true'},
        shape('path', {class: `line ${colourOf(index)} ${dashOf(index)}`, d: 'M1 6H25'}), mark(index, 13, 6, 4));
}

// The box with the values at one position; rows are [picture, name, value].
const tip = {
    show(x, y, head, rows) {
        const box = document.getElementById('tip');
        box.replaceChildren(element('b', {}, head), ...rows.map(([picture, name, value]) =>
            element('div', {}, picture, element('span', {}, name), element('span', {}, value))));
        box.hidden = false;
        const {width, height} = box.getBoundingClientRect();
        const left = x + 16 + width > innerWidth - 8 ? x - 16 - width : x + 16;
        const top = y - height - 12 < 8 ? y + 20 : y - height - 12;
        box.style.left = `${Math.max(8, Math.min(left, innerWidth - width - 8))}px`;
        box.style.top = `${Math.max(8, Math.min(top, innerHeight - height - 8))}px`;
    },
    hide() {
        document.getElementById('tip').hidden = true;
    },
};
addEventListener('scroll', () => tip.hide(), {passive: true});

// What all charts share: a figure with a heading, and an SVG as wide as the available space, redrawn when that
// changes. Subclasses implement draw(); show() sets what they draw.
class Chart {
    constructor(name, heading, unit) {
        this.svg = shape('svg', {role: 'img', tabindex: 0});
        this.unit = element('span');
        this.title = element('span', {class: 'title'});
        this.element = element('figure', {'data-chart': name}, element('h4', {}, this.title, ' ', this.unit), this.svg);
        this.setHeading(heading, unit);
        this.svg.addEventListener('pointerleave', () => this.leave());
        this.svg.addEventListener('blur', () => this.leave());
        this.svg.addEventListener('keydown', event => this.key(event));
        new ResizeObserver(() => this.what && this.draw()).observe(this.element);
    }

    setHeading(heading, unit) {
        this.title.textContent = heading;
        this.unit.textContent = unit ? `(${unit})` : '';
    }

    show(what) {
        this.what = what;
        this.draw();
    }

    begin(height) {
        this.width = Math.max(200, this.element.clientWidth || 600);
        this.height = height;
        this.svg.setAttribute('viewBox', `0 0 ${this.width} ${height}`);
        this.svg.setAttribute('height', height);
        this.svg.replaceChildren();
    }

    text(x, y, anchor, string, name = '') {
        this.svg.append(shape('text', {x, y, 'text-anchor': anchor, class: name}, string));
    }

    line(name, x1, y1, x2, y2) {
        this.svg.append(shape('line', {class: name, x1, y1, x2, y2}));
    }

    // The value on the y axis at each tick, and a grid line.
    drawLevels(scaleY, left, inWords) {
        for (const tick of scaleY.ticks) {
            this.line('grid', left, scaleY.at(tick), this.width - 6, scaleY.at(tick));
            this.text(left - 6, scaleY.at(tick) + 4, 'end', inWords(tick));
        }
    }

    drawGround(scaleX, left, bottom, axis) {
        this.line('axis', left, bottom, this.width - 6, bottom);
        for (const tick of scaleX.ticks) {
            this.line('axis', scaleX.at(tick), bottom, scaleX.at(tick), bottom + 4);
            this.text(scaleX.at(tick), bottom + 16, 'middle', axis.words(tick));
        }
        this.text(this.width - 6, bottom + 31, 'end', axis.label);
    }

    // The screen position of a point in the drawing.
    onScreen(x, y) {
        const box = this.svg.getBoundingClientRect();
        return [box.left + x / this.width * box.width, box.top + y / this.height * box.height];
    }

    // Arrow keys step through count() positions; showCurrent() shows the current one.
    key(event) {
        const last = this.count() - 1;
        const now = this.place ?? -1;
        const next = {ArrowRight: Math.min(last, now + 1), ArrowDown: Math.min(last, now + 1),
            ArrowLeft: now < 0 ? last : Math.max(0, now - 1), ArrowUp: now < 0 ? last : Math.max(0, now - 1),
            Home: 0, End: last}[event.key];
        if (event.key === 'Escape') this.leave();
        if (next === undefined || last < 0) return;
        event.preventDefault();
        this.place = next;
        this.showCurrent();
    }

    leave() {
        this.place = null;
        tip.hide();
    }
}

const GROUND = 36; // room for the x axis

// Lines. show() takes {series, x, y}. A series is {name, index, points: [[x, y], ...]}, with `marks` at its
// points, `faint` if it is drawn behind the others, `what` it shows; x is {label, unit, form, words}; y is {form,
// words}, with `range`, the values that must be visible if not all of them, and `limits`.
class LineChart extends Chart {
    constructor(name, heading, unit, height = 250) {
        super(name, heading, unit);
        this.tall = height;
        this.svg.addEventListener('pointermove', event => this.point(event));
        this.svg.addEventListener('pointerdown', event => this.point(event));
    }

    show(what) {
        const isDrawn = ([x, y]) => Number.isFinite(x) && Number.isFinite(y) &&
            (what.x.form === 'linear' || x > 0) && (what.y.form === 'linear' || y > 0);
        this.series = what.series.map(one => ({...one, points: thin(one.points.filter(isDrawn))}))
            .filter(one => one.points.length > 0);
        this.places = [...new Set(this.series.flatMap(one => one.points.map(point => point[0])))].sort((a, b) => a - b);
        super.show(what);
    }

    draw() {
        const {x, y} = this.what;
        this.begin(this.tall);
        const bottom = this.height - GROUND;
        const values = y.range && y.range.length ? y.range : this.series.flatMap(one => one.points.map(p => p[1]));
        this.scaleY = scale(y.form, bounds(values, y.form, y.limits), [bottom, 8], this.height / 45);
        const left = 12 + 6.3 * Math.max(2, ...this.scaleY.ticks.map(tick => y.words(tick).length));
        const room = x.form === 'log2' ? 60 : 90;
        this.scaleX = scale(x.form, this.ends(x.form), [left, this.width - 14], Math.max(2, this.width / room));
        this.drawLevels(this.scaleY, left, y.words);
        this.drawGround(this.scaleX, left, bottom, x);
        this.drawLines(left, bottom);
        this.cursor = shape('g');
        this.svg.append(this.cursor);
        this.svg.setAttribute('aria-label', this.describe());
        if (this.place !== null && this.place < this.places.length) this.drawCursor();
    }

    ends(form) {
        const [first, last] = [this.places[0] ?? 1, this.places[this.places.length - 1] ?? 1];
        if (form === 'linear') return [0, last || 1];
        return first < last ? [first, last] : [first / 2, last * 2];
    }

    drawLines(left, bottom) {
        const id = `clip${LineChart.clips = (LineChart.clips || 0) + 1}`;
        const inside = shape('g', {'clip-path': `url(#${id})`});
        this.svg.append(shape('clipPath', {id}, shape('rect', {x: left - 6, y: 0, width: this.width - left + 6,
            height: bottom + 5})), inside);
        for (const one of this.series) {
            const at = one.points.map(([x, y]) => [this.scaleX.at(x), this.scaleY.at(y)]);
            inside.append(shape('path', {
                class: `line ${colourOf(one.index)} ${dashOf(one.index)}${one.faint ? ' faint' : ''}`,
                'data-run': one.name, 'data-points': at.length,
                'data-last': JSON.stringify(one.points[at.length - 1]),
                d: at.map(([x, y], i) => `${i ? 'L' : 'M'}${x.toFixed(1)} ${y.toFixed(1)}`).join(''),
            }));
            if (one.marks && at.length <= 40) inside.append(...at.map(([x, y]) => mark(one.index, x, y, 3.2)));
            else if (!one.faint) inside.append(mark(one.index, ...at[at.length - 1], 3.4, 'end'));
        }
    }

    describe() {
        const {x, y} = this.what;
        const ends = this.series.filter(one => !one.faint)
            .map(one => `${one.name} ${y.words(one.points[one.points.length - 1][1])}`);
        return `${this.title.textContent} ${this.unit.textContent} against ${x.label}. ` +
            `Last values: ${ends.join(', ') || 'none'}.`;
    }

    // The value of each series at or near the current position.
    near() {
        const at = this.scaleX.at(this.places[this.place]);
        const far = point => Math.abs(this.scaleX.at(point[0]) - at);
        return this.series.map(one => [one, one.points.reduce((a, b) => far(b) < far(a) ? b : a)])
            .filter(([, point]) => far(point) <= Math.max(12, this.width / 40));
    }

    drawCursor() {
        const at = this.scaleX.at(this.places[this.place]);
        const bottom = this.height - GROUND;
        const dots = this.near().map(([one, [x, y]]) => [one, this.scaleX.at(x), this.scaleY.at(y)]);
        this.cursor.replaceChildren(shape('line', {class: 'cursor', x1: at, x2: at, y1: 4, y2: bottom}),
            ...dots.filter(([, , y]) => y <= bottom)
                .map(([one, cx, cy]) => shape('circle', {class: `here ${colourOf(one.index)}`, cx, cy, r: 4})));
    }

    count() {
        return this.places.length;
    }

    showCurrent() {
        const {x, y} = this.what;
        this.drawCursor();
        const rows = this.near().sort(([a], [b]) => a.index - b.index).map(([one, point]) =>
            [swatch(one.index), one.name + (one.what ? `, ${one.what}` : ''), y.words(point[1])]);
        const at = this.places[this.place];
        tip.show(...this.onScreen(this.scaleX.at(at), this.height * 0.4), `${x.words(at)} ${x.unit}`, rows);
    }

    point(event) {
        if (!this.scaleX || !this.places.length) return;
        const box = this.svg.getBoundingClientRect();
        const at = (event.clientX - box.left) / box.width * this.width;
        const far = i => Math.abs(this.scaleX.at(this.places[i]) - at);
        this.place = this.places.reduce((best, _, i) => far(i) < far(best) ? i : best, 0);
        this.showCurrent();
    }

    leave() {
        super.leave();
        if (this.cursor) this.cursor.replaceChildren();
    }
}
