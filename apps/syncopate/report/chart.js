// Charts as SVG: scales, axes, lines, stacked bars, and the values under a pointer, a finger or the arrow keys.
// Text reaches the page as text nodes only, so that no name or setting can become markup.
'use strict';

const SVG = 'http://www.w3.org/2000/svg';
const KINDS = 8; // colours; with them goes the shape of a mark, and, for every further eight, a dash

function element(tag, attributes, ...children) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes || {}))
        if (value !== undefined && value !== false) made.setAttribute(name, value === true ? '' : value);
    made.append(...children.filter(child => child !== null && child !== undefined));
    return made;
}

function shape(tag, attributes, ...children) {
    const made = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(attributes || {})) made.setAttribute(name, value);
    made.append(...children);
    return made;
}

function kindOf(index) {
    const dash = Math.floor(index / KINDS) % 4;
    return `k${index % KINDS}` + (dash ? ` d${dash}` : '');
}

// Numbers as a person writes them: about four digits, no exponent where it can be helped.
function words(value, digits = 4) {
    if (!Number.isFinite(value)) return '–';
    const size = Math.abs(value);
    if (size !== 0 && (size < 1e-4 || size >= 1e7)) {
        const [mantissa, power] = value.toExponential(Math.max(0, digits - 2)).split('e');
        return `${Number(mantissa)}·10${[...String(Number(power))].map(c => c === '-' ? '⁻' : '⁰¹²³⁴⁵⁶⁷⁸⁹'[c]).join('')}`;
    }
    const decimals = size === 0 ? 0 : Math.max(0, digits - 1 - Math.floor(Math.log10(size)));
    return String(Number(value.toFixed(Math.min(decimals, 8)))).replace(/\B(?=(\d{3})+(?!\d)(?<!\.\d*))/g, ' ');
}

// The unit in which the largest of some values is easy to read.
function unitFor(most, units) {
    let chosen = units[0];
    for (const unit of units) if (most >= unit[1]) chosen = unit;
    return {name: chosen[0], size: chosen[1]};
}
const BYTES = [['B', 1], ['kB', 1e3], ['MB', 1e6], ['GB', 1e9], ['TB', 1e12]];
const SECONDS = [['s', 1], ['min', 600], ['h', 36000]];
const timeUnit = most => {
    const {name} = unitFor(most, SECONDS);
    return {name, size: {s: 1, min: 60, h: 3600}[name]};
};
function bytesInWords(bytes) {
    if (!Number.isFinite(bytes)) return '–';
    const unit = unitFor(bytes, BYTES);
    return `${words(bytes / unit.size)} ${unit.name}`;
}

function linearTicks(low, high, count) {
    const rough = (high - low) / Math.max(1, count);
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map(m => m * power).find(s => s >= rough * 0.999);
    const ticks = [];
    for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; i++) ticks.push(Number((i * step).toPrecision(12)));
    return ticks;
}

function logTicks(low, high, count) {
    const decades = Math.log10(high / low);
    const steps = decades > count ? [1] : decades > count / 2.5 ? [1, 3] : [1, 2, 5];
    const every = decades > count ? Math.ceil(decades / count) : 1;
    const ticks = [];
    for (let p = Math.floor(Math.log10(low)); p <= Math.log10(high) + 1e-9; p++)
        if (p % every === 0)
            for (const m of steps) {
                const tick = Number((m * 10 ** p).toPrecision(12));
                if (tick >= low * 0.999999 && tick <= high * 1.000001) ticks.push(tick);
            }
    return ticks;
}

function powerTicks(low, high, count) {
    const ticks = [];
    const every = Math.max(1, Math.ceil(Math.log2(high / low) / count));
    for (let p = Math.ceil(Math.log2(low) - 1e-9); p <= Math.log2(high) + 1e-9; p += every) ticks.push(2 ** p);
    return ticks;
}

// A way from values to places, and its ticks. form: linear, log or log2.
function scale(form, low, high, from, to, count) {
    const bend = form === 'linear' ? v => v : Math.log;
    const width = bend(high) - bend(low) || 1;
    const ticks = {linear: linearTicks, log: logTicks, log2: powerTicks}[form](low, high, count);
    const at = value => from + (bend(value) - bend(low)) / width * (to - from);
    return {at, ticks, low, high};
}

// Bounds of values with a little air; a single value gets some.
function bounds(values, form) {
    let [low, high] = [Infinity, -Infinity];
    for (const v of values) { low = Math.min(low, v); high = Math.max(high, v); }
    if (low > high) return form === 'linear' ? [0, 1] : [1, 2];
    if (form !== 'linear') return low === high ? [low / 2, high * 2] : [low / 1.06, high * 1.06];
    const air = (high - low || Math.abs(high) || 1) * 0.05;
    return [low >= 0 && low - air < 0 ? 0 : low - air, high + air];
}

// Of very many points, the lowest and the highest of every few: what an eye could see of them.
function thin(points, most = 1200) {
    if (points.length <= most) return points;
    const few = Math.ceil(points.length / (most / 2));
    const kept = [];
    for (let i = 0; i < points.length; i += few) {
        const part = points.slice(i, i + few);
        const low = part.reduce((a, b) => b[1] < a[1] ? b : a), high = part.reduce((a, b) => b[1] > a[1] ? b : a);
        kept.push(...(low === high ? [low] : points.indexOf(low, i) < points.indexOf(high, i) ? [low, high] : [high, low]));
    }
    if (kept[kept.length - 1] !== points[points.length - 1]) kept.push(points[points.length - 1]);
    return kept;
}

function mark(index, x, y, r, extra = '') {
    const cls = `mark ${kindOf(index).split(' ')[0]} ${extra}`;
    const poly = (...corners) => shape('polygon', {class: cls, points: corners.map(([dx, dy]) => `${x + dx * r},${y + dy * r}`).join(' ')});
    switch (index % KINDS) {
    case 1: return poly([-.9, -.9], [.9, -.9], [.9, .9], [-.9, .9]);
    case 2: return poly([0, -1.2], [1.1, .9], [-1.1, .9]);
    case 3: return poly([0, -1.3], [1.3, 0], [0, 1.3], [-1.3, 0]);
    case 4: return poly([0, 1.2], [1.1, -.9], [-1.1, -.9]);
    case 5: return poly([-.4, -1.2], [.4, -1.2], [.4, -.4], [1.2, -.4], [1.2, .4], [.4, .4], [.4, 1.2], [-.4, 1.2], [-.4, .4], [-1.2, .4], [-1.2, -.4], [-.4, -.4]);
    case 6: return poly([-.5, -1.1], [.5, -1.1], [1.1, 0], [.5, 1.1], [-.5, 1.1], [-1.1, 0]);
    case 7: return poly([-1.3, -.6], [1.3, -.6], [1.3, .6], [-1.3, .6]);
    default: return shape('circle', {class: cls, cx: x, cy: y, r});
    }
}

function swatch(index) {
    return shape('svg', {width: 26, height: 12, viewBox: '0 0 26 12', 'aria-hidden': 'true', class: kindOf(index)},
        shape('path', {class: 'line', d: 'M1 6H25'}), mark(index, 13, 6, 4));
}

const tip = {
    box: null,
    show(x, y, head, rows) {
        this.box = this.box || document.getElementById('tip');
        this.box.replaceChildren(element('b', {}, head), ...rows.map(([key, name, value]) => element('div', {}, key, element('span', {}, name), element('span', {}, value))));
        this.box.hidden = false;
        const {width, height} = this.box.getBoundingClientRect();
        const left = x + 16 + width > innerWidth - 8 ? x - 16 - width : x + 16;
        this.box.style.left = `${Math.max(8, Math.min(left, innerWidth - width - 8))}px`;
        this.box.style.top = `${Math.max(8, Math.min(y - height - 12 < 8 ? y + 20 : y - height - 12, innerHeight - height - 8))}px`;
    },
    hide() {
        if (this.box) this.box.hidden = true;
    },
};
addEventListener('scroll', () => tip.hide(), {passive: true});

// What both forms of chart share: a figure with a heading, an SVG as wide as there is room, drawn anew when that changes.
class Chart {
    constructor(name, heading, unit) {
        this.svg = shape('svg', {role: 'img', tabindex: 0});
        this.heading = element('h4', {}, heading, element('span', {}, unit ? ` (${unit})` : ''));
        this.element = element('figure', {'data-chart': name}, this.heading, this.svg);
        this.name = heading;
        new ResizeObserver(() => this.draw()).observe(this.element);
    }

    setUnit(unit) {
        this.heading.lastChild.textContent = unit ? ` (${unit})` : '';
    }

    begin(height) {
        this.width = Math.max(200, this.element.clientWidth || 600);
        this.height = height;
        this.svg.setAttribute('viewBox', `0 0 ${this.width} ${height}`);
        this.svg.setAttribute('height', height);
        this.svg.replaceChildren();
    }

    add(...shapes) {
        this.svg.append(...shapes);
    }

    text(x, y, anchor, string, cls = '') {
        this.add(shape('text', {x, y, 'text-anchor': anchor, class: cls}, string));
    }
}

// Lines. show() takes {series, x, y}: a series is {name, index, points: [[x, y], ...], marks, faint}; x is {label, form,
// words}, y is {form, words, range}: range holds the values that must be seen, all of them if it is missing.
class LineChart extends Chart {
    constructor(name, heading, unit, height = 250) {
        super(name, heading, unit);
        this.tall = height;
        this.what = null;
        this.cursor = null;
        this.svg.addEventListener('pointermove', event => this.point(event));
        this.svg.addEventListener('pointerdown', event => this.point(event));
        this.svg.addEventListener('pointerleave', () => this.leave());
        this.svg.addEventListener('blur', () => this.leave());
        this.svg.addEventListener('keydown', event => this.key(event));
    }

    show(what) {
        this.what = what;
        this.series = what.series.map(one => ({...one, points: thin(one.points.filter(([x, y]) => Number.isFinite(x) && Number.isFinite(y) &&
            (what.y.form === 'linear' || y > 0) && (what.x.form === 'linear' || x > 0)))})).filter(one => one.points.length > 0);
        this.places = [...new Set(this.series.flatMap(one => one.points.map(p => p[0])))].sort((a, b) => a - b);
        this.draw();
    }

    draw() {
        if (!this.what) return;
        const {x, y} = this.what;
        this.begin(this.tall);
        const values = y.range && y.range.length ? y.range : this.series.flatMap(one => one.points.map(p => p[1]));
        const [low, high] = bounds(values, y.form);
        const tall = scale(y.form, low, high, this.height - 34, 8, 5);
        const left = 12 + 6.3 * Math.max(...tall.ticks.map(t => y.words(t).length), 2);
        const most = this.places.length ? this.places[this.places.length - 1] : 1;
        const wide = x.form === 'linear' ? scale('linear', 0, most || 1, left, this.width - 12, Math.max(2, this.width / 90))
            : scale(x.form, ...(this.places[0] < most ? [this.places[0], most] : [most / 2 || 1, most * 2 || 2]), left, this.width - 12, Math.max(2, this.width / 60));
        Object.assign(this, {wide, tall_: tall, left});
        this.drawAxes(wide, tall, left);
        this.drawLines(wide, tall, left);
        this.layer = shape('g', {});
        this.add(this.layer);
        this.svg.setAttribute('aria-label', this.describe());
        if (this.cursor !== null) this.drawCursor();
    }

    drawAxes(wide, tall, left) {
        const {x, y} = this.what, bottom = this.height - 34;
        for (const tick of tall.ticks) {
            this.add(shape('line', {class: 'grid', x1: left, x2: this.width - 6, y1: tall.at(tick), y2: tall.at(tick)}));
            this.text(left - 6, tall.at(tick) + 4, 'end', y.words(tick));
        }
        this.add(shape('line', {class: 'axis', x1: left, x2: this.width - 6, y1: bottom, y2: bottom}));
        for (const tick of wide.ticks) {
            this.add(shape('line', {class: 'axis', x1: wide.at(tick), x2: wide.at(tick), y1: bottom, y2: bottom + 4}));
            this.text(wide.at(tick), bottom + 16, 'middle', x.words(tick));
        }
        this.text(this.width - 6, this.height - 3, 'end', x.label);
    }

    drawLines(wide, tall, left) {
        const id = `clip-${this.element.dataset.chart}-${Math.random().toString(36).slice(2)}`;
        const inside = shape('g', {'clip-path': `url(#${id})`});
        this.add(shape('clipPath', {id}, shape('rect', {x: left - 6, y: 0, width: this.width - left + 6, height: this.height - 30})), inside);
        for (const one of this.series) {
            const at = one.points.map(([px, py]) => [wide.at(px), tall.at(py)]);
            inside.append(shape('path', {class: `line ${kindOf(one.index)}${one.faint ? ' faint' : ''}`, 'data-run': one.name, 'data-points': at.length,
                'data-last': JSON.stringify(one.points[one.points.length - 1]),
                d: at.map(([px, py], i) => `${i ? 'L' : 'M'}${px.toFixed(1)} ${py.toFixed(1)}`).join('')}));
            const ends = at[at.length - 1];
            if (one.marks && at.length <= 40) inside.append(...at.map(([px, py]) => mark(one.index, px, py, 3.2)));
            else if (!one.faint) inside.append(mark(one.index, ends[0], ends[1], 3.4, 'end'));
        }
    }

    describe() {
        const {x, y} = this.what;
        const ends = this.series.filter(one => !one.faint).map(one => `${one.name} ${y.words(one.points[one.points.length - 1][1])}`);
        return `${this.name}${this.heading.lastChild.textContent} against ${x.label}. Last values: ${ends.join(', ') || 'none'}.`;
    }

    // What each series has at the place nearest to x.
    near(x) {
        const found = [];
        for (const one of this.series) {
            let best = one.points[0];
            for (const p of one.points) if (Math.abs(this.wide.at(p[0]) - this.wide.at(x)) < Math.abs(this.wide.at(best[0]) - this.wide.at(x))) best = p;
            if (Math.abs(this.wide.at(best[0]) - this.wide.at(x)) <= Math.max(14, this.width / 30)) found.push([one, best]);
        }
        return found;
    }

    drawCursor() {
        const at = this.wide.at(this.cursor);
        this.layer.replaceChildren(shape('line', {class: 'cursor', x1: at, x2: at, y1: 4, y2: this.height - 34}),
            ...this.near(this.cursor).filter(([, p]) => this.tall_.at(p[1]) <= this.height - 30)
                .map(([one, p]) => shape('circle', {class: `here ${kindOf(one.index).split(' ')[0]}`, cx: this.wide.at(p[0]), cy: this.tall_.at(p[1]), r: 4})));
    }

    tell() {
        const {x, y} = this.what, box = this.svg.getBoundingClientRect();
        this.drawCursor();
        const rows = this.near(this.cursor).map(([one, p]) => [swatch(one.index), one.name + (one.what ? `, ${one.what}` : ''), y.words(p[1], 5)]);
        tip.show(box.left + this.wide.at(this.cursor) / this.width * box.width, box.top + box.height * .35, `${x.words(this.cursor)} ${x.unit}`, rows);
    }

    point(event) {
        if (!this.wide || !this.places.length) return;
        const box = this.svg.getBoundingClientRect(), at = (event.clientX - box.left) / box.width * this.width;
        this.cursor = this.places.reduce((a, b) => Math.abs(this.wide.at(b) - at) < Math.abs(this.wide.at(a) - at) ? b : a);
        this.tell();
    }

    key(event) {
        const last = this.places.length - 1, now = this.places.indexOf(this.cursor);
        const next = {ArrowRight: Math.min(last, now + 1), ArrowLeft: now < 0 ? last : Math.max(0, now - 1), Home: 0, End: last}[event.key];
        if (event.key === 'Escape') this.leave();
        if (next === undefined || last < 0) return;
        event.preventDefault();
        this.cursor = this.places[next];
        this.tell();
    }

    leave() {
        this.cursor = null;
        if (this.layer) this.layer.replaceChildren();
        tip.hide();
    }
}

// Stacked bars, one a run, and below each a thin one for what went on beside it. show() takes {rows, parts, beside, unit}:
// a row is {name, index, values: {part: number}}; a part is {key, label}.
class BarChart extends Chart {
    show(what) {
        this.what = what;
        this.draw();
    }

    draw() {
        if (!this.what) return;
        const {rows, parts, beside} = this.what, each = 58;
        this.begin(rows.length * each + 40);
        const sum = row => parts.reduce((all, part) => all + row.values[part.key], 0);
        const most = Math.max(...rows.map(row => Math.max(sum(row), row.values[beside.key] || 0)), 1e-9);
        const wide = scale('linear', 0, most * 1.02, 2, this.width - 12, Math.max(2, this.width / 90)), bottom = rows.length * each + 6;
        this.add(shape('defs', {}, shape('pattern', {id: 'hatch', width: 5, height: 5, patternUnits: 'userSpaceOnUse', patternTransform: 'rotate(45)'},
            shape('rect', {width: 5, height: 5, fill: 'var(--wait)'}), shape('line', {x1: 0, x2: 0, y1: 0, y2: 5, stroke: 'var(--paper)', 'stroke-width': 3, 'stroke-opacity': .45}))));
        for (const tick of wide.ticks) {
            this.add(shape('line', {class: 'grid', x1: wide.at(tick), x2: wide.at(tick), y1: 4, y2: bottom}));
            this.text(wide.at(tick), bottom + 16, tick ? 'middle' : 'start', words(tick));
        }
        this.add(shape('line', {class: 'axis', x1: 2, x2: this.width - 6, y1: bottom, y2: bottom}));
        this.text(this.width - 6, this.height - 3, 'end', 'a step, ms');
        rows.forEach((row, i) => this.drawRow(row, i * each, wide));
        this.svg.setAttribute('aria-label', `${this.name}. ` + rows.map(row => `${row.name}: ` + this.tips(row).map(([, name, value]) => `${name} ${value}`).join(', ')).join('. '));
    }

    drawRow(row, top, wide) {
        const {parts, beside} = this.what, group = shape('g', {class: 'part', 'data-run': row.name});
        this.text(2, top + 15, 'start', row.name, 'name');
        let sum = 0;
        for (const part of parts) {
            const value = row.values[part.key], x = wide.at(sum), width = wide.at(sum + value) - x;
            sum += value;
            if (!(value > 0)) continue;
            const fill = part.key === 'wait' ? 'url(#hatch)' : `var(--${part.key})`;
            group.append(shape('rect', {x, y: top + 21, width: Math.max(.5, width - 1), height: 20, fill, 'data-part': part.key, 'data-value': value}));
            if (width > 64) group.append(shape('text', {x: x + 6, y: top + 35, class: part.key === 'wait' ? 'name' : 'on'}, words(value, 3)));
        }
        if (row.values[beside.key] > 0)
            group.append(shape('rect', {x: 2, y: top + 43, width: Math.max(.5, wide.at(row.values[beside.key]) - 2), height: 6, fill: `var(--${beside.key})`,
                'data-part': beside.key, 'data-value': row.values[beside.key]}));
        group.append(shape('rect', {x: 0, y: top, width: this.width, height: 54, fill: 'transparent'}));
        const tell = event => tip.show(event.clientX, event.clientY, row.name, this.tips(row));
        group.addEventListener('pointermove', tell);
        group.addEventListener('pointerdown', tell);
        group.addEventListener('pointerleave', () => tip.hide());
        this.add(group);
    }

    tips(row) {
        const {parts, beside} = this.what;
        return [...parts, beside].filter(part => row.values[part.key] > 0).map(part => [key(part.key), part.label, `${words(row.values[part.key], 3)} ms`]);
    }
}

function key(part) {
    return shape('svg', {width: 12, height: 12, 'aria-hidden': 'true'},
        shape('rect', {width: 12, height: part === 'exchange' ? 5 : 12, y: part === 'exchange' ? 4 : 0, fill: part === 'wait' ? 'url(#hatch)' : `var(--${part})`}));
}
