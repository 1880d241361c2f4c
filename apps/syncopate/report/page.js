// The page: the contents of the runs' files as tables and charts, with a section for each model and data set.

const AXES = [['seconds', 'time'], ['steps', 'steps'], ['bytes', 'bytes']];
const TRACES = [
    {key: 'density', heading: 'Density', unit: 'share of entries sent', spread: 5, limits: [0, 1]},
    {key: 'threshold', heading: 'Threshold τ', unit: 'smallest magnitude sent', spread: 5},
    {key: 'residual_norm', heading: 'Residual', unit: '2-norm, worker 0', spread: 50},
    {key: 'staleness_mean', heading: 'Staleness', unit: 'updates', spread: Infinity},
];
const MOST_COLUMNS = 60;
const UNINTERESTING = new Set(['out', 'overwrite', 'run_steps']); // differences in these do not affect the run

const chosen = {axis: 'seconds', hidden: new Set()};
const isNumber = value => typeof value === 'number' && Number.isFinite(value);
const numberOr = (value, otherwise) => isNumber(value) ? value : otherwise;
const asText = value => value === undefined ? '–' : typeof value === 'number' ? words(value, 6)
    : String(value) || '(none)';

// A run in the form the charts need: its lines, with the bytes sent up to each.
function readRun(entry) {
    const lines = [];
    const evaluated = [];
    const every = entry.settings.log_every;
    let bytes = 0;
    let before = null;
    for (const line of entry.metrics) {
        if (!isNumber(line.step) || !isNumber(line.seconds)) continue;
        if (isNumber(line.loss)) {
            const from = before ?? Math.max(0, line.step - numberOr(every, line.step));
            const span = Math.max(0, line.step - from);
            bytes += numberOr(line.bytes_out, 0) * span;
            before = line.step;
            lines.push({...line, from, span, steps: line.step, bytes});
        }
        if (isNumber(line.test_loss)) evaluated.push({...line, steps: line.step, bytes});
    }
    const onText = evaluated.some(line => 'test_perplexity' in line) || lines.some(line => 'words_per_s' in line);
    return {path: entry.path, settings: entry.settings, summary: entry.summary, isCut: entry.cut, lines, evaluated,
        bytes, onText};
}

// The mean of a field over steps.
function mean(lines, field) {
    const having = lines.filter(line => isNumber(line[field]));
    const steps = having.reduce((sum, line) => sum + line.span, 0);
    return having.reduce((sum, line) => sum + line[field] * line.span, 0) / (steps || NaN);
}

function lastOf(lines, field) {
    const having = lines.filter(line => isNumber(line[field]));
    return having.length ? having[having.length - 1][field] : NaN;
}

// A run is named after its last folder, unless two runs share that.
function nameRuns(runs) {
    const short = run => run.path.replace(/\/+$/, '').split('/').pop() || run.path;
    for (const run of runs)
        run.name = runs.some(other => other !== run && short(other) === short(run)) ? run.path : short(run);
}

// Results from the summary or, if the run has none yet, from its lines so far.
function resultsOf(run) {
    const speed = run.onText ? 'words_per_s' : 'images_per_s';
    const say = (field, otherwise) => run.summary ? numberOr(run.summary[field], NaN) : otherwise;
    return {
        accuracy: say('test_accuracy', lastOf(run.evaluated, 'test_accuracy')),
        perplexity: say('test_perplexity', lastOf(run.evaluated, 'test_perplexity')),
        loss: say('train_loss', lastOf(run.lines, 'loss')),
        ms: say('ms_per_step', mean(run.lines, 'step_ms')),
        speed: say(speed, mean(run.lines, speed)),
        bytes: say('bytes_out_per_step', mean(run.lines, 'bytes_out')),
        ratio: say('ratio_to_dense', NaN),
        steps: say('steps', numberOr(lastOf(run.lines, 'step'), 0)),
        seconds: say('seconds', lastOf(run.lines, 'seconds')),
    };
}

function stateOf(run, isFollowed) {
    const at = run.lines.length ? `step ${words(lastOf(run.lines, 'step'), 7)}` : 'nothing logged';
    if (run.isCut && !isFollowed) return `not finished: its metrics are cut off after ${at}`;
    if (!run.summary) return `${isFollowed ? 'running' : 'not finished'}: ${at}`;
    return run.summary.stopped ? 'stopped early' : '';
}

function timesOf(lines) {
    const at = field => numberOr(mean(lines, field), 0);
    const [select, encode, wait] = [at('select_ms'), at('encode_ms'), at('wait_ms')];
    return {data: at('data_wait_ms'), compute: at('compute_ms'), select, encode, wait,
        update: Math.max(0, at('update_ms') - select - encode - wait), exchange: at('exchange_ms')};
}

// A run's lines, grouped into few enough parts that each is visible.
function columnsOf(run) {
    const few = Math.ceil(run.lines.length / MOST_COLUMNS) || 1;
    const columns = [];
    for (let i = 0; i < run.lines.length; i += few) {
        const part = run.lines.slice(i, i + few);
        columns.push({from: part[0].from, to: part[part.length - 1].step, values: timesOf(part)});
    }
    return columns;
}

// heads are [label, part or unit]; a row is [children of its head, ...cells of {value, text}].
function table(name, caption, heads, rows) {
    const head = heads.map(([label, small]) =>
        element('th', {scope: 'col'}, label, small ? element('small', {}, small) : null));
    const body = rows.map(([first, ...cells]) => element('tr', {}, element('th', {scope: 'row'}, ...first),
        ...cells.map(({value, text}, i) =>
            element('td', {'data-label': heads[i + 1].join(', '), 'data-value': value}, text))));
    return element('table', {class: name}, caption ? element('caption', {}, caption) : null,
        element('thead', {}, element('tr', {}, ...head)), element('tbody', {}, ...body));
}

function summaryTable(runs, isFollowed) {
    const onText = runs.some(run => run.onText);
    const heads = [['Run'], [onText ? 'Perplexity' : 'Accuracy', 'test'], ['Loss', 'train'], ['Step', 'ms'],
        [onText ? 'Words' : 'Images', 'per second'], ['Sent', 'per step, each'], ['Less than dense', 'times'], ['Steps'],
        ['Time', 's']];
    const cell = (value, text) => ({value: isNumber(value) ? value : '', text});
    const rows = runs.map(run => {
        const got = resultsOf(run);
        const state = stateOf(run, isFollowed);
        const percents = isNumber(got.accuracy) ? `${fixed(100 * got.accuracy, 2)} %` : '–';
        return [[swatch(run.index), ' ', run.name, state ? element('span', {class: isFollowed ? 'state going' : 'state'}, state) : ''],
            onText ? cell(got.perplexity, fixed(got.perplexity, 2)) : cell(got.accuracy, percents),
            cell(got.loss, fixed(got.loss, 4)), cell(got.ms, rounded(got.ms, 3)), cell(got.speed, fixed(got.speed, 0)),
            cell(got.bytes, bytesInWords(got.bytes)), cell(got.ratio, rounded(got.ratio, 3)),
            cell(got.steps, words(got.steps, 7)), cell(got.seconds, fixed(got.seconds, 1))];
    });
    const made = table('wide', '', heads, rows);
    made.dataset.table = 'summary';
    return made;
}

function settingsTables(runs) {
    const names = [...new Set(runs.flatMap(run => Object.keys(run.settings)))].filter(name => !UNINTERESTING.has(name));
    const plain = (run, name) => JSON.stringify(run.settings[name]);
    const differing = names.filter(name => runs.some(run => plain(run, name) !== plain(runs[0], name)));
    const heads = [['Setting'], ...runs.map(run => [run.name])];
    const rowsOf = list => list.map(name =>
        [[name.replaceAll('_', '-')], ...runs.map(run => ({text: asText(run.settings[name])}))]);
    const all = element('details', {}, element('summary', {}, `All ${names.length} settings`),
        table('wide values', '', heads, rowsOf(names)));
    if (runs.length === 1) return [all];
    if (!differing.length) return [element('p', {class: 'note'}, 'These runs have the same settings.'), all];
    const made = table('wide values', 'Settings that differ between these runs.', heads, rowsOf(differing));
    made.dataset.table = 'settings';
    return [made, all];
}

// "4 workers", if that holds for all of them.
function shared(runs, field, phrase) {
    const value = runs[0].settings[field];
    return isNumber(value) && runs.every(run => run.settings[field] === value) ? phrase(value) : '';
}

function axisFor(key, runs) {
    if (key === 'steps')
        return {of: line => line.steps, label: 'steps', unit: 'steps', form: 'linear', words: v => words(v, 7)};
    if (key === 'bytes') return bytesAxisFor(runs);
    const ends = runs.flatMap(run => [...run.lines.slice(-1), ...run.evaluated.slice(-1)]).map(line => line.seconds);
    const {name, size} = unitFor(Math.max(0, ...ends), SECONDS);
    return {of: line => line.seconds / size, label: `time, ${name}`, unit: name, form: 'linear', words: v => words(v)};
}

// Methods may differ by large factors in what they send; then only a logarithmic axis shows all of them.
function bytesAxisFor(runs) {
    const totals = runs.map(run => run.bytes);
    if (spans(totals, 8))
        return {of: line => line.bytes, label: 'sent by a worker, log', unit: '', form: 'log', words: bytesInWords};
    const {name, size} = unitFor(Math.max(0, ...totals), BYTES);
    return {of: line => line.bytes / size, label: `sent by a worker, ${name}`, unit: name, form: 'linear',
        words: v => words(v)};
}

// How training lines are drawn: behind the test lines, if there are any.
const behindTests = run => ({faint: run.evaluated.length > 0, what: 'training'});
const valuesOf = series => series.flatMap(one => one.points.map(point => point[1]));
const plural = (count, word) => `${count} ${word}${count === 1 ? '' : 's'}`;

// One model on one data set: tables and charts, refilled whenever there is new data.
class Section {
    constructor(title, id) {
        this.lead = element('p', {class: 'lead'});
        this.summary = element('div');
        this.legend = element('ul', {class: 'legend', 'aria-label': 'show or hide runs'});
        this.loss = new LineChart('loss', 'Loss', '');
        this.score = new LineChart('accuracy', 'Accuracy', '');
        this.times = new BarChart('times', 'Where the time of a step went', 'mean over the run, ms');
        this.strips = new Map();
        this.stripList = element('div', {class: 'charts small'});
        this.traces = TRACES.map(trace => [trace, new LineChart(trace.key, trace.heading, '', 190)]);
        this.noTraces = element('p', {class: 'note'}, 'These runs do not exchange anything.');
        this.settings = element('div');
        const keys = [...PARTS, EXCHANGE].map(part => element('li', {}, partKey(part.key), part.label));
        this.element = element('section', {id, 'aria-label': title}, element('h2', {}, title), this.lead, this.summary,
            element('h3', {}, 'Learning'),
            element('div', {class: 'bar'}, this.legend, this.makeSwitch(id)),
            element('div', {class: 'charts'}, this.loss.element, this.score.element),
            element('p', {class: 'note'}, 'Thin lines: training batches, each point the mean of a logging interval. ' +
                'Lines with marks: the test set.'),
            element('h3', {}, 'Time'), element('ul', {class: 'keys'}, ...keys), this.times.element,
            element('details', {open: true}, element('summary', {}, 'Over the course of each run'), this.stripList),
            element('h3', {}, 'What is sent and what is kept'), this.noTraces,
            element('div', {class: 'charts small'}, ...this.traces.map(([, chart]) => chart.element)),
            element('h3', {}, 'Settings'), this.settings);
    }

    makeSwitch(id) {
        this.inputs = AXES.map(([axis]) => element('input', {type: 'radio', name: `axis-${id}`, value: axis}));
        for (const input of this.inputs)
            input.addEventListener('change', () => {
                chosen.axis = input.value;
                drawAll();
            });
        const labels = AXES.map(([, label], i) => element('label', {}, this.inputs[i], element('span', {}, label)));
        return element('fieldset', {}, element('legend', {}, 'against'), element('span', {class: 'switch'}, ...labels));
    }

    fill(runs, isFollowed) {
        const isNew = !this.runs || this.runs.length !== runs.length;
        this.runs = runs;
        this.lead.textContent = [plural(runs.length, 'run'), shared(runs, 'workers', n => plural(n, 'worker')),
            shared(runs, 'batch', n => `batches of ${n}`), shared(runs, 'seed', n => `seed ${n}`)]
            .filter(Boolean).join(', ') + '.';
        this.summary.replaceChildren(summaryTable(runs, isFollowed));
        if (isNew) {
            this.settings.replaceChildren(...settingsTables(runs));
            this.legend.replaceChildren(...runs.map(run => element('li', {}, this.makeToggle(run))));
        }
        this.draw();
    }

    makeToggle(run) {
        const button = element('button', {type: 'button', 'aria-pressed': 'true'}, swatch(run.index), run.name);
        button.addEventListener('click', () => {
            const isShown = chosen.hidden.delete(run.path);
            if (!isShown) chosen.hidden.add(run.path);
            button.setAttribute('aria-pressed', String(isShown));
            this.draw();
        });
        return button;
    }

    draw() {
        const hasBytes = this.runs.some(run => run.bytes > 0);
        const axis = chosen.axis === 'bytes' && !hasBytes ? 'steps' : chosen.axis;
        const seen = this.runs.filter(run => !chosen.hidden.has(run.path));
        const drawn = axis === 'bytes' ? seen.filter(run => run.bytes > 0) : seen;
        const x = axisFor(axis, drawn);
        for (const input of this.inputs) {
            input.checked = input.value === axis;
            input.disabled = input.value === 'bytes' && !hasBytes;
        }
        const series = (run, lines, field, more = {}, times = 1) => ({name: run.name, index: run.index, ...more,
            points: lines.filter(line => isNumber(line[field])).map(line => [x.of(line), line[field] * times])});
        this.drawLoss(drawn, x, series);
        this.drawScore(drawn, x, series);
        this.drawTimes(seen.filter(run => run.lines.length > 0));
        this.drawTraces(drawn, x, series);
    }

    drawLoss(runs, x, series) {
        const lines = [...runs.map(run => series(run, run.lines, 'loss', behindTests(run))),
            ...runs.map(run => series(run, run.evaluated, 'test_loss', {marks: true, what: 'test'}))];
        const isLog = spans(valuesOf(lines), 8);
        this.loss.setHeading('Loss', isLog ? 'nats per label, log' : 'nats per label');
        this.loss.show({series: lines, x, y: {form: isLog ? 'log' : 'linear', words}});
    }

    // The test values set the visible range: they are what is compared, and training starts far below.
    drawScore(runs, x, series) {
        const onText = this.runs.some(run => run.onText);
        const [field, times] = onText ? ['test_perplexity', 1] : ['test_accuracy', 100];
        const tested = runs.map(run => series(run, run.evaluated, field, {marks: true, what: 'test'}, times));
        const trained = (onText ? [] : runs)
            .map(run => series(run, run.lines, 'accuracy', behindTests(run), 100));
        this.score.setHeading(onText ? 'Perplexity' : 'Accuracy', onText ? 'test set' : '%');
        const y = {form: 'linear', words, range: valuesOf(tested), limits: onText ? [1, Infinity] : [0, 100]};
        this.score.show({series: [...trained, ...tested], x, y});
    }

    drawTimes(runs) {
        const columns = runs.map(columnsOf);
        const sums = columns.flat().map(({values}) => sumOf(values)).sort((a, b) => a - b);
        const most = 1.15 * (sums[Math.floor(0.97 * sums.length)] || 1); // a single slow interval must not flatten all the others
        const steps = Math.max(1, ...columns.flat().map(({to}) => to));
        this.times.show(runs.map(run => ({name: run.name, values: timesOf(run.lines)})));
        this.stripList.replaceChildren(...runs.map((run, i) => {
            if (!this.strips.has(run.path)) this.strips.set(run.path, new StripChart('strip', run.name));
            const chart = this.strips.get(run.path);
            chart.show({columns: columns[i], most, steps});
            return chart.element;
        }));
    }

    drawTraces(runs, x, series) {
        for (const [trace, chart] of this.traces) {
            const having = runs.filter(run => run.lines.some(line => line[trace.key] > 0));
            const lines = having.map(run => series(run, run.lines, trace.key));
            const isLog = spans(valuesOf(lines), trace.spread);
            chart.element.hidden = having.length === 0;
            chart.setHeading(trace.heading, isLog ? `${trace.unit}, log` : trace.unit);
            const y = {form: isLog ? 'log' : 'linear', words, limits: trace.limits};
            if (having.length) chart.show({series: lines, x, y});
        }
        this.noTraces.hidden = this.traces.some(([, chart]) => !chart.element.hidden);
    }
}

// Results of `syncopate simulate`.
class Simulation {
    constructor(title, id) {
        this.title = title;
        this.element = element('section', {id, 'aria-label': title});
    }

    fill({x, charts, note}) {
        const names = [...new Set(charts.flatMap(chart => chart.series.map(one => one.name)))];
        const axis = {label: x.unit ? `${x.label}, ${x.unit}` : x.label, unit: x.unit || x.label, form: 'log2',
            words: v => words(v, 7)};
        const drawn = charts.map((chart, i) => this.makeChart(chart, i, names, axis));
        this.element.replaceChildren(element('h2', {}, this.title),
            element('p', {class: 'lead'}, typeof note === 'string' ? note : 'Simulated, not measured.'),
            element('ul', {class: 'keys'}, ...names.map((name, i) => element('li', {}, swatch(i), name))),
            element('div', {class: 'charts'}, ...drawn.map(chart => chart.element)),
            ...charts.map(chart => this.makeTable(chart, x)));
    }

    makeChart({label, unit, series}, number, names, axis) {
        const chart = new LineChart(`simulation-${number}`, label, unit);
        const lines = series.map(({name, points}) =>
            ({name, index: names.indexOf(name), points: [...points].sort((a, b) => a[0] - b[0]), marks: true}));
        const isShare = extremes(valuesOf(lines))[1] <= 1; // for which the distance from zero matters
        const isLog = !isShare && spans(valuesOf(lines), 20);
        if (isLog) chart.setHeading(label, unit ? `${unit}, log` : 'log');
        const y = isLog ? {form: 'log', words} : {form: 'linear', words, range: [0, ...valuesOf(lines)]};
        chart.show({series: lines, x: axis, y});
        return chart;
    }

    makeTable({label, unit, series}, x) {
        const places = [...new Set(series.flatMap(one => one.points.map(point => point[0])))].sort((a, b) => a - b);
        const rows = places.map(place => [[words(place, 7)], ...series.map(one => {
            const found = one.points.find(point => point[0] === place);
            return {value: found ? found[1] : '', text: found ? words(found[1]) : '–'};
        })]);
        return element('details', {}, element('summary', {}, `Table: ${label}${unit ? `, ${unit}` : ''}`),
            table('wide', '', [[x.label], ...series.map(one => [one.name])], rows));
    }

    draw() {} // does not depend on the chosen axis or runs
}

const sections = new Map();

function sectionFor(title, type) {
    if (!sections.has(title)) {
        sections.set(title, new type(title, `part-${sections.size + 1}`));
        document.getElementById('main').append(sections.get(title).element);
    }
    return sections.get(title);
}

function drawAll() {
    for (const section of sections.values()) section.draw();
}

function showTitle(runs, simulations) {
    const counts = [runs && plural(runs, 'run'), simulations && plural(simulations, 'simulation')].filter(Boolean);
    document.getElementById('title').textContent = `Report of ${counts.join(' and ')}`;
    document.title = [...sections.keys()].join('; ');
    const contents = document.getElementById('contents');
    contents.hidden = sections.size < 2;
    contents.replaceChildren(...[...sections].map(([title, {element: {id}}]) =>
        element('li', {}, element('a', {href: `#${id}`}, title))));
}

function show({runs: entries, follow: isFollowed}) {
    const runs = entries.filter(entry => entry.settings).map(readRun);
    const simulations = entries.filter(entry => entry.simulation);
    const groups = new Map();
    nameRuns(runs);
    for (const run of runs) {
        const title = `${asText(run.settings.model)} on ${asText(run.settings.data)}`;
        groups.set(title, [...groups.get(title) || [], run]);
    }
    for (const [title, members] of groups) {
        members.forEach((run, index) => Object.assign(run, {index}));
        sectionFor(title, Section).fill(members, isFollowed);
    }
    simulations.forEach(({path, simulation: {title}, simulation}) => {
        const isShared = groups.has(title) || simulations.filter(other => other.simulation.title === title).length > 1;
        sectionFor(isShared ? `${title} (${path})` : title, Simulation).fill(simulation);
    });
    showTitle(runs.length, simulations.length);
}

function showState(name, text) {
    const state = document.getElementById('state');
    if (state.textContent !== text) state.textContent = text;
    state.className = name;
}

function showFollowing({runs}) {
    const goesOn = runs.some(entry => entry.settings && !entry.summary);
    showState('live', goesOn ? 'Following: this page updates automatically.' : 'All runs have ended.');
}

// Poll our server once a second, less often while it does not respond; the response is empty if nothing is new.
async function follow(latest) {
    let pause = 1000;
    showFollowing(latest);
    for (;;) {
        await new Promise(done => setTimeout(done, pause));
        try {
            const answer = await fetch(`data?have=${latest.version}`, {cache: 'no-store'});
            const text = await answer.text();
            if (!answer.ok) throw new Error(text);
            if (text) show(latest = JSON.parse(text));
            showFollowing(latest);
            pause = 1000;
        } catch (error) {
            showState('lost', `No connection (${error.message}). Showing the last known state.`);
            pause = Math.min(2 * pause, 15000);
        }
    }
}

const shown = JSON.parse(document.getElementById('data').textContent);
show(shown);
if (shown.follow) follow(shown);
