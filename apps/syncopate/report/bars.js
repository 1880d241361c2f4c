// Where the time of a step goes, as stacked bars: one bar per run, and for each run one per logging interval.

// On the training thread, in this order; they add up to a step.
const PARTS = [
    {key: 'data', label: 'wait for data'},
    {key: 'compute', label: 'compute'},
    {key: 'select', label: 'select'},
    {key: 'encode', label: 'encode'},
    {key: 'wait', label: 'wait for the exchange'},
    {key: 'update', label: 'update of the weights'},
];
// On the communication thread at the same time: the part that is not hidden by other work is the wait.
const EXCHANGE = {key: 'exchange', label: 'exchange, at the same time'};

const sumOf = values => PARTS.reduce((sum, part) => sum + values[part.key], 0);
const fillOf = part => part === 'wait' ? 'url(#hatch)' : `var(--${part})`;

function partKey(part) {
    const isThin = part === EXCHANGE.key;
    return shape('svg', {width: 12, height: 12, 'aria-hidden': 'true'},
        shape('rect', {width: 12, height: isThin ? 5 : 12, y: isThin ? 4 : 0, fill: fillOf(part)}));
}

function partTips(values) {
    return [...PARTS, EXCHANGE].filter(part => values[part.key] > 0)
        .map(part => [partKey(part.key), part.label, `${rounded(values[part.key], 3)} ms`]);
}

const shortened = (name, most) => name.length > most ? `${name.slice(0, most - 1)}…` : name;

const ROW = 58;

// show() takes rows of {name, values: {part: ms}}.
class BarChart extends Chart {
    draw() {
        const rows = this.what;
        const bottom = rows.length * ROW + 6;
        this.begin(bottom + GROUND);
        const most = Math.max(1e-9, ...rows.map(({values}) => Math.max(sumOf(values), values.exchange)));
        const wide = scale('linear', [0, most * 1.02], [2, this.width - 14], Math.max(2, this.width / 90));
        for (const tick of wide.ticks) this.line('grid', wide.at(tick), 4, wide.at(tick), bottom);
        this.drawGround(wide, 2, bottom, {label: 'per step, ms', words: tick => words(tick)});
        rows.forEach((row, i) => this.drawRow(row, i, wide));
        this.svg.setAttribute('aria-label', `${this.title.textContent}. ` + rows.map(({name, values}) =>
            `${name}: ${partTips(values).map(([, label, value]) => `${label} ${value}`).join(', ')}`).join('. '));
    }

    drawRow({name, values}, number, wide) {
        const top = number * ROW;
        const group = shape('g', {'data-run': name});
        let sum = 0;
        for (const {key} of PARTS) {
            const [x, width] = [wide.at(sum), wide.at(sum + values[key]) - wide.at(sum)];
            sum += values[key];
            if (!(width > 0)) continue;
            group.append(shape('rect', {x, y: top + 21, width: Math.max(0.5, width - 1), height: 20,
                fill: fillOf(key), 'data-part': key, 'data-value': values[key]}));
            if (width > 52)
                group.append(shape('text', {x: x + 7, y: top + 35.5, class: `on ${key}`}, rounded(values[key], 3)));
        }
        if (values.exchange > 0)
            group.append(shape('rect', {x: 2, y: top + 43, width: Math.max(0.5, wide.at(values.exchange) - 2),
                height: 6, fill: fillOf('exchange'), 'data-part': 'exchange', 'data-value': values.exchange}));
        group.append(shape('rect', {x: 0, y: top, width: this.width, height: ROW - 4, fill: 'transparent'}));
        const showTip = event => tip.show(event.clientX, event.clientY, name, partTips(values));
        group.addEventListener('pointermove', showTip);
        group.addEventListener('pointerdown', showTip);
        group.addEventListener('pointerleave', () => tip.hide());
        this.svg.append(group);
        this.text(2, top + 15, 'start', shortened(name, this.width / 7.5), 'name');
    }

    count() {
        return this.what.length;
    }

    showCurrent() {
        const {name, values} = this.what[this.place];
        tip.show(...this.onScreen(this.width / 3, this.place * ROW + 21), name, partTips(values));
    }
}

// show() takes {columns, most, steps}: columns are {from, to, values} in steps, all drawn up to `most` ms.
class StripChart extends Chart {
    constructor(name, heading) {
        super(name, heading, 'ms');
        this.svg.addEventListener('pointermove', event => this.point(event));
        this.svg.addEventListener('pointerdown', event => this.point(event));
    }

    draw() {
        const {columns, most, steps} = this.what;
        this.begin(150);
        const bottom = this.height - GROUND;
        const scaleY = scale('linear', [0, most], [bottom, 8], 3);
        const left = 12 + 6.3 * Math.max(2, ...scaleY.ticks.map(tick => words(tick).length));
        this.scaleX = scale('linear', [0, steps || 1], [left, this.width - 14], Math.max(2, this.width / 110));
        this.drawLevels(scaleY, left, tick => words(tick));
        for (const column of columns) this.drawColumn(column, scaleY);
        this.drawGround(this.scaleX, left, bottom, {label: 'steps', words: tick => words(tick, 7)});
        this.svg.setAttribute('aria-label', `Time of a step of ${this.title.textContent}, as it changed over the run.`);
    }

    drawColumn({from, to, values}, scaleY) {
        const x = this.scaleX.at(from);
        const width = Math.max(0.7, this.scaleX.at(to) - x - 0.6);
        let sum = 0;
        for (const {key} of PARTS) {
            const [y, foot] = [Math.max(2, scaleY.at(sum + values[key])), scaleY.at(sum)];
            sum += values[key];
            if (foot > y)
                this.svg.append(shape('rect', {x, y, width, height: foot - y, fill: fillOf(key), 'data-part': key}));
        }
    }

    count() {
        return this.what.columns.length;
    }

    showCurrent() {
        const {from, to, values} = this.what.columns[this.place];
        tip.show(...this.onScreen(this.scaleX.at((from + to) / 2), this.height * 0.4),
            `${this.title.textContent}, steps ${words(from, 7)}–${words(to, 7)}`, partTips(values));
    }

    point(event) {
        if (!this.scaleX || !this.count()) return;
        const box = this.svg.getBoundingClientRect();
        const at = (event.clientX - box.left) / box.width * this.width;
        const far = i => Math.abs(this.scaleX.at((this.what.columns[i].from + this.what.columns[i].to) / 2) - at);
        this.place = this.what.columns.reduce((best, _, i) => far(i) < far(best) ? i : best, 0);
        this.showCurrent();
    }
}
