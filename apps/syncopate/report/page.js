// The page: what the runs' files say, as tables and charts, a section for each model and data set.

const PARTS = [
    {key: 'data', label: 'wait for data'},
    {key: 'compute', label: 'compute'},
    {key: 'select', label: 'select'},
    {key: 'encode', label: 'encode'},
    {key: 'wait', label: 'wait for the exchange'},
    {key: 'update', label: 'update of the weights'},
];
const BESIDE = {key: 'exchange', label: 'exchange, beside the rest'};
const AXES = [
    {key: 'seconds', label: 'time'},
    {key: 'steps', label: 'steps'},
    {key: 'bytes', label: 'bytes'},
];
const TRACES = [
    {key: 'density', heading: 'Density', unit: 'share of entries sent', form: 'log'},
    {key: 'threshold', heading: 'Threshold τ', unit: 'smallest magnitude sent', form: 'log'},
    {key: 'residual_norm', heading: 'Residual', unit: '2-norm of what worker 0 has not sent', form: 'linear'},
    {key: 'staleness', heading: 'Staleness', unit: 'updates', form: 'linear'},
];
const UNINTERESTING = new Set(['out', 'overwrite', 'run_steps']); // they differ without making a difference

const chosen = {axis: 'seconds', hidden: new Set()};
const isNumber = value => typeof value === 'number' && Number.isFinite(value);
const numberOr = (value, otherwise) => isNumber(value) ? value : otherwise;
const percent = (value, digits = 4) => `${words(100 * value, digits)} %`;

// A run as the charts want it: its lines with the bytes that were sent up to each.
function readRun(entry) {
    const {settings, summary} = entry, lines = [], judged = [];
    let bytes = 0, before = null;
    for (const line of entry.metrics) {
        if (!isNumber(line.step) || !isNumber(line.seconds)) continue;
        if (isNumber(line.loss)) {
            const first = Math.max(0, line.step - numberOr(settings.log_every, line.step));
            const steps = Math.max(0, line.step - (before === null ? first : before));
            bytes += numberOr(line.bytes_out, 0) * steps;
            before = line.step;
            lines.push({...line, span: steps, steps: line.step, bytes});
        }
        if (isNumber(line.test_loss)) judged.push({...line, steps: line.step, bytes});
    }
    return {entry, settings, summary, lines, judged, path: entry.path, bytes, onText: judged.some(line => isNumber(line.test_perplexity)) ||
        lines.some(line => isNumber(line.words_per_s))};
}

function mean(run, field) {
    let sum = 0, steps = 0;
    for (const line of run.lines) if (isNumber(line[field])) { sum += line[field] * line.span; steps += line.span; }
    return steps ? sum / steps : NaN;
}

function lastOf(list, field) {
    for (let i = list.length - 1; i >= 0; i--) if (isNumber(list[i][field])) return list[i][field];
    return NaN;
}

// Last folders are names enough, unless two runs share one.
function nameRuns(runs) {
    const short = path => path.replace(/\/+$/, '').split('/').pop() || path;
    for (const run of runs) run.name = runs.some(other => other !== run && short(other.path) === short(run.path)) ? run.path : short(run.path);
}

// What the summary says; where a run has none, what its lines say so far.
function resultsOf(run) {
    const sum = run.summary || {}, speed = run.onText ? 'words_per_s' : 'images_per_s', last = run.lines[run.lines.length - 1] || {};
    const at = (field, otherwise) => isNumber(sum[field]) ? sum[field] : run.summary ? NaN : otherwise;
    return {
        accuracy: at('test_accuracy', lastOf(run.judged, 'test_accuracy')),
        perplexity: at('test_perplexity', lastOf(run.judged, 'test_perplexity')),
        loss: at('train_loss', numberOr(last.loss, NaN)),
        ms: at('ms_per_step', mean(run, 'step_ms')),
        speed: at(speed, mean(run, speed)),
        bytes: at('bytes_out_per_step', mean(run, 'bytes_out')),
        ratio: at('ratio_to_dense', NaN),
        steps: at('steps', numberOr(last.step, 0)),
        seconds: at('seconds', numberOr(last.seconds, NaN)),
    };
}

function stateOf(run, followed) {
    const at = run.lines.length ? `step ${words(lastOf(run.lines, 'step'), 7)}` : 'nothing logged yet';
    if (run.entry.cut && !followed) return `not finished: metrics cut off after ${at}`;
    if (!run.summary) return followed ? `running: ${at}` : `not finished: ${at}`;
    return run.summary.stopped ? 'stopped early' : '';
}

function table(className, captionText, heads, rows) {
    const head = element('tr', {}, ...heads.map(([label, small]) => element('th', {scope: 'col'}, label, small ? element('small', {}, small) : null)));
    const body = rows.map(([name, ...cells]) => element('tr', {}, element('th', {scope: 'row'}, ...name),
        ...cells.map((cell, i) => element('td', {'data-label': heads[i + 1].join(' ').trim(), 'data-value': cell.value, class: cell.class}, cell.text))));
    return element('table', {class: className}, element('caption', {}, captionText), element('thead', {}, head), element('tbody', {}, ...body));
}

function summaryTable(runs, followed) {
    const onText = runs.some(run => run.onText), cell = (value, text) => ({value: isNumber(value) ? value : '', text});
    const heads = [['Run'], onText ? ['Perplexity', 'test'] : ['Accuracy', 'test'], ['Loss', 'train'], ['Step', 'ms'], [onText ? 'Words' : 'Images', 'a second'],
        ['Sent', 'a step, worker'], ['Less than dense', 'times'], ['Steps'], ['Time', 's']];
    const rows = runs.map(run => {
        const got = resultsOf(run), state = stateOf(run, followed);
        return [[run.name, state ? element('span', {class: 'state'}, state) : null].filter(Boolean),
            onText ? cell(got.perplexity, words(got.perplexity)) : cell(got.accuracy, isNumber(got.accuracy) ? percent(got.accuracy) : '–'),
            cell(got.loss, words(got.loss, 3)), cell(got.ms, words(got.ms, 3)), cell(got.speed, words(got.speed, 3)), cell(got.bytes, bytesInWords(got.bytes)),
            cell(got.ratio, words(got.ratio, 3)), cell(got.steps, words(got.steps, 7)), cell(got.seconds, words(got.seconds, 4))];
    });
    const made = table('wide', 'What came of the runs.', heads, rows);
    made.dataset.table = 'summary';
    return made;
}

const asText = value => value === undefined ? '–' : typeof value === 'string' ? value || '(none)' : typeof value === 'number' ? words(value, 6) : String(value);

function settingsTable(runs) {
    const names = [...new Set(runs.flatMap(run => Object.keys(run.settings)))].filter(name => !UNINTERESTING.has(name));
    const differing = names.filter(name => runs.some(run => JSON.stringify(run.settings[name]) !== JSON.stringify(runs[0].settings[name])));
    const heads = [['Setting'], ...runs.map(run => [run.name])];
    const rowsOf = list => list.map(name => [[name.replaceAll('_', '-')], ...runs.map(run => ({value: undefined, text: asText(run.settings[name])}))]);
    const all = element('details', {}, element('summary', {}, `All ${names.length} settings`), table('wide values', '', heads, rowsOf(names)));
    if (runs.length === 1) return [all];
    if (!differing.length) return [element('p', {class: 'note'}, 'These runs have the same settings.'), all];
    const made = table('wide values', 'Settings that differ between these runs.', heads, rowsOf(differing));
    made.dataset.table = 'settings';
    return [made, all];
}

function timesOf(run) {
    const at = field => numberOr(mean(run, field), 0);
    const [select, encode, wait] = [at('select_ms'), at('encode_ms'), at('wait_ms')];
    return {data: at('data_wait_ms'), compute: at('compute_ms'), select, encode, wait,
        update: Math.max(0, at('update_ms') - select - encode - wait), exchange: at('exchange_ms')};
}

// The x axis that was chosen, for these runs.
function axisOf(runs) {
    const most = Math.max(1e-9, ...runs.flatMap(run => [...run.lines, ...run.judged].map(line => line[chosen.axis])));
    if (chosen.axis === 'steps') return {of: line => line.steps, label: 'steps', unit: 'steps', form: 'linear', words: v => words(v, 7)};
    const unit = chosen.axis === 'bytes' ? unitFor(most, BYTES) : timeUnit(most);
    const label = chosen.axis === 'bytes' ? `sent by a worker so far, ${unit.name}` : `time, ${unit.name}`;
    return {of: line => line[chosen.axis] / unit.size, label, unit: unit.name, form: 'linear', words: v => words(v)};
}

const spans = (values, times) => values.length > 0 && Math.min(...values) > 0 && Math.max(...values) / Math.min(...values) >= times;

// Of one model on one data set: tables and charts, filled again whenever there are news.
class Section {
    constructor(title) {
        this.title = title;
        this.lead = element('p', {class: 'lead'});
        this.summary = element('div');
        this.legend = element('ul', {class: 'legend', 'aria-label': 'runs'});
        this.settings = element('div');
        this.loss = new LineChart('loss', 'Loss', '');
        this.score = new LineChart('accuracy', 'Accuracy', 'test set, %');
        this.times = new BarChart('times', 'Where the time of a step went', 'mean, ms');
        this.traces = TRACES.map(trace => [trace, new LineChart(trace.key, trace.heading, trace.unit, 190)]);
        this.none = element('p', {class: 'empty'}, 'Nothing is selected in these runs, and nothing kept back.');
        this.timeline = element('div', {class: 'charts small'});
        this.element = element('section', {'aria-label': title}, element('h2', {}, title), this.lead, this.summary,
            element('h3', {}, 'Learning'), element('div', {class: 'bar'}, this.legend, this.axisSwitch()),
            element('div', {class: 'charts'}, this.loss.element, this.score.element),
            element('p', {class: 'note'}, 'Thin lines: the training batches, smoothed over a logging interval. Lines with marks: the test set.'),
            element('h3', {}, 'Time'),
            element('ul', {class: 'keys'}, ...[...PARTS, BESIDE].map(part => element('li', {}, key(part.key), part.label))),
            this.times.element,
            element('h3', {}, 'What is sent and what is kept'), this.none, element('div', {class: 'charts small'}, ...this.traces.map(([, chart]) => chart.element)),
            element('h3', {}, 'Settings'), this.settings);
    }

    axisSwitch() {
        const name = `axis-${this.title}`;
        this.inputs = AXES.map(({key: axis}) => element('input', {type: 'radio', name, value: axis, checked: axis === chosen.axis}));
        this.inputs.forEach(input => input.addEventListener('change', () => { chosen.axis = input.value; drawAll(); }));
        return element('fieldset', {class: 'axis-switch'}, element('legend', {}, 'against'),
            element('span', {class: 'switch'}, ...AXES.map((axis, i) => element('label', {}, this.inputs[i], element('span', {}, axis.label)))));
    }

    fill(runs, followed) {
        const first = runs[0].settings;
        this.runs = runs;
        this.lead.textContent = [`${runs.length} run${runs.length > 1 ? 's' : ''}`, shared(runs, 'workers', n => `${n} worker${n > 1 ? 's' : ''}`),
            shared(runs, 'batch', n => `batches of ${n}`), shared(runs, 'seed', n => `seed ${n}`)].filter(Boolean).join(', ') + '.';
        this.summary.replaceChildren(summaryTable(runs, followed));
        this.settings.replaceChildren(...settingsTable(runs));
        this.fillLegend();
        this.draw();
        return first;
    }

    fillLegend() {
        if (this.legend.children.length === this.runs.length) return;
        this.legend.replaceChildren(...this.runs.map(run => {
            const button = element('button', {type: 'button', 'aria-pressed': 'true', title: 'show or hide'}, swatch(run.index), run.name);
            button.addEventListener('click', () => {
                const hide = !chosen.hidden.delete(run.path);
                if (hide) chosen.hidden.add(run.path);
                button.setAttribute('aria-pressed', String(!hide));
                this.draw();
            });
            return element('li', {}, button);
        }));
    }

    draw() {
        const seen = this.runs.filter(run => !chosen.hidden.has(run.path));
        const hasBytes = this.runs.some(run => run.bytes > 0);
        this.inputs.forEach(input => {
            input.checked = input.value === chosen.axis;
            input.disabled = input.value === 'bytes' && !hasBytes;
        });
        const drawn = chosen.axis === 'bytes' ? seen.filter(run => run.bytes > 0) : seen, x = axisOf(drawn);
        const line = (run, list, field, more) => ({name: run.name, index: run.index, points: list.filter(l => isNumber(l[field])).map(l => [x.of(l), l[field] * (more.times || 1)]), ...more});
        this.drawLearning(drawn, x, line);
        this.times.show({rows: seen.filter(run => run.lines.length).map(run => ({name: run.name, index: run.index, values: timesOf(run)})), parts: PARTS, beside: BESIDE});
        let any = false;
        for (const [trace, chart] of this.traces) {
            const series = drawn.filter(run => run.lines.some(l => numberOr(l[trace.key], 0) > 0)).map(run => line(run, run.lines, trace.key, {}));
            chart.element.hidden = series.length === 0;
            any = any || series.length > 0;
            const values = series.flatMap(one => one.points.map(p => p[1]));
            if (series.length) chart.show({series, x, y: {form: trace.form === 'log' && spans(values, 5) ? 'log' : 'linear', words}});
        }
        this.none.hidden = any;
    }

    drawLearning(drawn, x, line) {
        const onText = this.runs.some(run => run.onText), field = onText ? 'test_perplexity' : 'test_accuracy', times = onText ? 1 : 100;
        const losses = [...drawn.map(run => line(run, run.lines, 'loss', {faint: true, what: 'train'})), ...drawn.map(run => line(run, run.judged, 'test_loss', {marks: true, what: 'test'}))];
        const values = losses.flatMap(one => one.points.map(p => p[1]));
        this.loss.show({series: losses, x, y: {form: spans(values, 8) ? 'log' : 'linear', words}});
        const tested = drawn.map(run => line(run, run.judged, field, {marks: true, times, what: 'test'}));
        const trained = onText ? [] : drawn.map(run => line(run, run.lines, 'accuracy', {faint: true, times, what: 'train'}));
        const range = tested.flatMap(one => one.points.map(p => p[1]));
        this.score.heading.firstChild.textContent = this.score.name = onText ? 'Perplexity' : 'Accuracy';
        this.score.setUnit(onText ? 'test set' : '%');
        this.loss.setUnit('nats a label' + (spans(values, 8) ? ', logarithmic' : ''));
        this.score.show({series: [...trained, ...tested], x, y: {form: 'linear', words, range}});
    }
}

function shared(runs, field, phrase) {
    const value = runs[0].settings[field];
    return isNumber(value) && runs.every(run => run.settings[field] === value) ? phrase(value) : '';
}

// What `syncopate simulate` found.
class Simulation {
    constructor(title) {
        this.element = element('section', {'aria-label': title});
        this.title = title;
        this.charts = [];
    }

    fill({x, charts, note}) {
        const names = [...new Set(charts.flatMap(chart => chart.series.map(one => one.name)))];
        const unit = x.unit ? `${x.label}, ${x.unit}` : x.label;
        this.charts = charts.map((chart, i) => {
            const made = new LineChart(`simulation-${i}`, chart.label, chart.unit);
            const series = chart.series.map(one => ({name: one.name, index: names.indexOf(one.name), points: [...one.points].sort((a, b) => a[0] - b[0]), marks: true}));
            const form = spans(series.flatMap(one => one.points.map(p => p[1])), 20) ? 'log' : 'linear';
            const range = form === 'linear' ? [0, ...series.flatMap(one => one.points.map(p => p[1]))] : undefined;
            made.show({series, x: {label: unit, unit: x.unit || x.label, form: 'log2', words: v => words(v, 7)}, y: {form, words, range}});
            return made;
        });
        this.element.replaceChildren(element('h2', {}, this.title), element('p', {class: 'lead'}, typeof note === 'string' ? note : 'Simulated, not measured.'),
            element('ul', {class: 'legend'}, ...names.map((name, i) => element('li', {}, element('button', {type: 'button', disabled: true}, swatch(i), name)))),
            element('div', {class: 'charts'}, ...this.charts.map(chart => chart.element)), ...charts.map(chart => this.values(chart, x)));
    }

    values(chart, x) {
        const places = [...new Set(chart.series.flatMap(one => one.points.map(p => p[0])))].sort((a, b) => a - b);
        const rows = places.map(place => [[words(place, 7)], ...chart.series.map(one => {
            const found = one.points.find(p => p[0] === place);
            return {value: found ? found[1] : '', text: found ? words(found[1]) : '–'};
        })]);
        return element('details', {}, element('summary', {}, `${chart.label} in figures`), table('wide', chart.unit || '', [[x.label], ...chart.series.map(one => [one.name])], rows));
    }

    draw() {}
}

const sections = new Map();

function sectionFor(title, type) {
    if (!sections.has(title)) {
        sections.set(title, new type(title));
        document.getElementById('main').append(sections.get(title).element);
    }
    return sections.get(title);
}

function drawAll() {
    for (const section of sections.values()) section.draw();
}

function show(data) {
    const runs = data.runs.filter(entry => entry.settings).map(readRun), groups = new Map();
    nameRuns(runs);
    for (const run of runs) {
        const title = `${asText(run.settings.model)} on ${asText(run.settings.data)}`;
        groups.set(title, [...(groups.get(title) || []), run]);
    }
    for (const [title, members] of groups) {
        members.forEach((run, index) => { run.index = index; });
        sectionFor(title, Section).fill(members, data.follow);
    }
    const simulations = data.runs.filter(entry => entry.simulation);
    simulations.forEach((entry, i) => sectionFor(entry.simulation.title + (simulations.some((other, j) => j < i && other.simulation.title === entry.simulation.title) ? ` (${i + 1})` : ''),
        Simulation).fill(entry.simulation));
    const titles = [...sections.keys()];
    document.getElementById('title').textContent = titles.length <= 2 ? titles.join('; ') : `${titles.length} comparisons`;
    document.title = `${document.getElementById('title').textContent} – Syncopate`;
}

// Ask our server once a second; it answers with nothing while there is nothing new.
async function follow(data) {
    const state = document.getElementById('state');
    let version = data.version;
    for (let pause = 1000;; pause = Math.min(pause, 10000)) {
        await new Promise(done => setTimeout(done, pause));
        try {
            const answer = await fetch(`data?have=${version}`, {cache: 'no-store'}), text = await answer.text();
            if (!answer.ok) throw new Error(text);
            if (text) {
                const news = JSON.parse(text);
                version = news.version;
                show(news);
            }
            pause = 1000;
            const goesOn = (text ? JSON.parse(text) : data).runs.some(entry => entry.settings && !entry.summary);
            state.className = 'live';
            state.textContent = goesOn || !text ? 'Following; new lines appear by themselves.' : 'All runs have ended.';
        } catch (error) {
            pause *= 2;
            state.className = 'lost';
            state.textContent = `No news: ${error.message || error}. What was known last is shown.`;
        }
    }
}

const data = JSON.parse(document.getElementById('data').textContent);
show(data);
if (data.follow) follow(data);
