// The chart of a board's progress: uPlot over the data in the page. The tables beside it need no script.

const STEP = [1, 2, 2.5, 5, 10];
const DAY_S = 86_400;
const HEIGHT = () => (innerWidth < 640 ? 280 : 380);
const root = document.getElementById("trend");

// Colours and dashes are those of the legend's swatches, so that both themes and the legend agree.
function looks() {
  return [...root.querySelectorAll(".trend-legend path")].map((path) => {
    const style = getComputedStyle(path);
    const dash = style.strokeDasharray === "none" ? [] : style.strokeDasharray.split(/[ ,]+/).map(parseFloat);
    return { stroke: style.stroke, width: parseFloat(style.strokeWidth), dash };
  });
}

function ink(name) {
  const probe = document.createElement("span");
  probe.className = `ink-${name}`;
  root.append(probe);
  const colour = getComputedStyle(probe).color;
  probe.remove();
  return colour;
}

function said(value) {
  return value === null || value === undefined ? "–" : `${value < 1 ? value.toPrecision(3) : value.toPrecision(4)}×`;
}

// "12 Nov" for days; for hours the time, with the day below where it changes.
function dates(splits, step) {
  const day = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short" });
  const hour = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
  let before = "";
  return splits.map((split) => {
    const at = new Date(split * 1000);
    const date = day.format(at);
    const text = step >= DAY_S ? date : `${hour.format(at)}${date === before ? "" : `\n${date}`}`;
    before = date;
    return text;
  });
}

function byDay(points, now) {
  const last = new Map();
  for (const [at, value] of points) last.set(Math.floor(at / DAY_S), value);
  return [...last].map(([day, value]) => [Math.min((day + 1) * DAY_S, now), value]);
}

// One column of times for all lines; between its own points, a line keeps its value until now.
function aligned(lines, now) {
  const times = [...new Set([...lines.flatMap((points) => points.map(([at]) => at)), now])].sort((a, b) => a - b);
  const own = [];
  const columns = lines.map((points) => {
    const at = new Map(points);
    const marks = [];
    let value = null;
    const column = times.map((time, index) => {
      if (at.has(time)) {
        value = at.get(time);
        marks.push(index);
      }
      return value;
    });
    own.push(marks);
    return column;
  });
  return { data: [times, ...columns], own };
}

function linearTicks(low, high) {
  const least = (high - low) / 6 || 1;
  const power = 10 ** Math.floor(Math.log10(least));
  const step = power * STEP.find((digit) => digit * power >= least);
  const ticks = [];
  for (let at = Math.ceil(low / step); at * step <= high; at += 1) ticks.push(Number((at * step).toPrecision(12)));
  return ticks;
}

function logTicks(low, high) {
  if (high / low < 3) return linearTicks(low, high);
  const ticks = [];
  for (let power = 10 ** Math.floor(Math.log10(low)); power <= high; power *= 10) {
    for (const digit of [1, 2, 5]) if (digit * power >= low && digit * power <= high) ticks.push(digit * power);
  }
  return ticks;
}

function start() {
  const { now, series } = JSON.parse(document.getElementById("trend-data").textContent);
  const stage = root.querySelector(".trend-plot");
  const values = [...root.querySelectorAll("[data-value]")];
  const note = root.querySelector("[data-at]");
  const hint = note.textContent;
  const state = { scale: "linear", points: "all", days: 0, hidden: new Set() };
  let chart = null;

  function follow(plot) {
    const { idx } = plot.cursor;
    if (idx === null || idx === undefined) {
      note.textContent = hint;
      values.forEach((cell, index) => { cell.textContent = said(series[index].points.at(-1)[1]); });
      return;
    }
    const at = new Date(plot.data[0][idx] * 1000);
    note.textContent = at.toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" });
    values.forEach((cell, index) => { cell.textContent = said(plot.data[index + 1][idx]); });
  }

  function draw() {
    const lines = series.map(({ points }) => (state.points === "day" ? byDay(points, now) : points));
    const { data, own } = aligned(lines, now);
    const style = looks();
    const [text, grid] = [ink("muted"), ink("line")];
    const isLog = state.scale === "log";
    const axis = { stroke: text, grid: { stroke: grid, width: 1 }, ticks: { stroke: grid, width: 1 }, font: "12px system-ui, sans-serif" };
    const options = {
      width: stage.clientWidth,
      height: HEIGHT(),
      legend: { show: false },
      cursor: { drag: { x: true, y: false, setScale: true }, points: { size: 7 }, focus: { prox: 24 } },
      focus: { alpha: 0.35 },
      scales: {
        x: { time: true, min: state.days ? now - state.days * DAY_S : undefined, max: state.days ? now : undefined },
        y: {
          distr: isLog ? 3 : 1,
          range: (_, low, high) => {
            if (low === null || high === null) return [0.5, 2];
            return isLog ? [low / 1.05, high * 1.05] : [low - (high - low || low) * 0.06, high + (high - low || high) * 0.06];
          },
        },
      },
      axes: [
        { ...axis, space: 60, values: (_, splits, __, ___, step) => dates(splits, step) },
        {
          ...axis,
          size: 56,
          splits: (_, __, low, high) => (isLog ? logTicks : linearTicks)(low, high),
          filter: (_, splits) => splits,
          values: (_, splits) => splits.map((value) => (value === null ? "" : `${Number(value.toPrecision(4))}×`)),
        },
      ],
      series: [
        {},
        ...series.map((one, index) => ({
          label: one.name,
          ...style[index],
          show: !state.hidden.has(index),
          paths: uPlot.paths.stepped({ align: 1 }),
          points: { show: true, size: 5, stroke: style[index].stroke, fill: style[index].stroke, filter: () => own[index] },
        })),
      ],
      hooks: { setCursor: [follow] },
    };
    if (!state.days) Object.assign(options.scales.x, { min: data[0][0], max: Math.max(now, data[0][0] + 60) });
    chart?.destroy();
    chart = new uPlot(options, data, stage);
    follow(chart);
  }

  function press(button, name) {
    for (const other of root.querySelectorAll(`[data-${name}]`)) other.setAttribute("aria-pressed", String(other === button));
    state[name] = name === "days" ? Number(button.dataset[name]) : button.dataset[name];
    draw();
  }

  root.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (!button) return;
    for (const name of ["scale", "points", "days"]) if (name in button.dataset) press(button, name);
    if ("series" in button.dataset) {
      const index = Number(button.dataset.series);
      const isShown = state.hidden.delete(index);
      if (!isShown) state.hidden.add(index);
      button.setAttribute("aria-pressed", String(isShown));
      chart.setSeries(index + 1, { show: isShown });
    }
    if ("save" in button.dataset) save();
  });

  // The picture has its own background, title and legend, because it leaves the page.
  function save() {
    const { canvas } = chart.ctx;
    const ratio = devicePixelRatio || 1;
    const shown = series.map((one, index) => ({ ...one, index })).filter(({ index }) => !state.hidden.has(index));
    const row = 22 * ratio;
    const picture = document.createElement("canvas");
    picture.width = canvas.width + 2 * row;
    picture.height = canvas.height + (3.5 + Math.ceil(shown.length / 3)) * row;
    const pen = picture.getContext("2d");
    pen.fillStyle = ink("surface");
    pen.fillRect(0, 0, picture.width, picture.height);
    pen.fillStyle = ink("ink");
    pen.font = `600 ${16 * ratio}px system-ui, sans-serif`;
    pen.fillText(`${root.dataset.title}: speedup over time`, row, 1.4 * row);
    pen.drawImage(canvas, row, 2 * row);
    pen.font = `${13 * ratio}px system-ui, sans-serif`;
    const style = looks();
    shown.forEach(({ name, index }, place) => {
      const left = row + (place % 3) * (canvas.width / 3);
      const top = 2.8 * row + canvas.height + Math.floor(place / 3) * row;
      pen.strokeStyle = style[index].stroke;
      pen.lineWidth = style[index].width * ratio;
      pen.setLineDash(style[index].dash.map((length) => length * ratio));
      pen.beginPath();
      pen.moveTo(left, top - 4 * ratio);
      pen.lineTo(left + 26 * ratio, top - 4 * ratio);
      pen.stroke();
      pen.fillText(`${name} ${said(series[index].points.at(-1)[1])}`, left + 34 * ratio, top, canvas.width / 3 - 40 * ratio);
    });
    picture.toBlob((blob) => {
      const link = document.createElement("a");
      link.href = URL.createObjectURL(blob);
      link.download = `${root.dataset.title.toLowerCase().replace(/[^a-z0-9]+/g, "-")}-progress.png`;
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
    }, "image/png");
  }

  new ResizeObserver(() => {
    if (chart && stage.clientWidth !== chart.width) chart.setSize({ width: stage.clientWidth, height: HEIGHT() });
  }).observe(stage);
  new MutationObserver(draw).observe(document.documentElement, { attributeFilter: ["data-theme"] });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  draw();
}

if (root && window.uPlot) start();
