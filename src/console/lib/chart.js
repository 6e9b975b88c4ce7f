import { useEffect, useRef } from 'preact/hooks'
import { html } from './html.js'
import { firstState } from './live.js'
import { besideLabels, highestApart, topOf } from './scale.js'

/** A third of the console's code, so it is loaded after the first view. */
let uPlot
const loaded = firstState.then(async () => {
  uPlot = (await import('uplot')).default
})
const FAILED = 'The chart could not be loaded. Reload the page to try again.'

/** Minimum span in seconds: shortly after its start, a daemon has less than an hour of data. */
const MIN_SPAN = 300
const DAY = 86_400
const HEIGHT = 150
/** Possible intervals between time labels, in seconds. */
const STEPS = [60, 120, 300, 600, 1_800, 3_600, 7_200, 10_800, 21_600, 43_200, DAY]
/** A line is interrupted after this time (ms) without a point; `every`: the interval of points. */
const maxGapOf = (every) => Math.max(30_000, 3 * every)
/** Redraws on a change of the colour scheme, which a canvas does not follow. */
const dark = matchMedia('(prefers-color-scheme: dark)')

/**
 * A line chart of a time span. The values under the pointer, or else the newest ones, are shown
 * above it, in fixed places. `span`: `{ since, until, isWhole, name }`, in Unix ms; without
 * `until`, the span ends now and `since` is its length. `isWhole` shows the whole span even without
 * data. `every`: ms between points. `lines`: `{ name, color, of(point) }`, where `color` is a
 * colour role. `show` formats a value. `least`: minimum upper end of the axis; `steps`: possible
 * intervals between its labels. `isCut`: whether a short burst is cut off, and marked with its
 * highest value, instead of flattening everything else. `first`: the first time that is known (Unix
 * ms), shown if it is within the span.
 */
export function Chart({
  title,
  points,
  lines,
  show,
  least,
  steps,
  span,
  every = 5_000,
  isCut = true,
  first,
}) {
  const box = useRef()
  const values = useRef([])
  const plot = useRef()
  const latest = useRef()
  const withGaps = withBreaks(points, maxGapOf(every))
  const shown = useRef(span)
  shown.current = span
  const data = [
    withGaps.map(({ at }) => at / 1000),
    ...lines.map(({ of }) => withGaps.map((point) => (point.isBreak ? null : (of(point) ?? null)))),
  ]
  const showValues = (chart) => {
    const { idx } = chart.cursor
    lines.forEach((_, at) => {
      const own = chart.data[at + 1]
      const value = idx == null ? own.at(-1) : own[idx]
      values.current[at].textContent = value == null ? '–' : show(value)
    })
  }
  latest.current = data
  const draw = () => {
    if (!uPlot || !box.current) return
    plot.current?.destroy()
    const options = optionsFor(box.current, { lines, show, least, steps, isCut }, () => shown.current)
    plot.current = new uPlot(
      {
        ...options,
        hooks: { setCursor: [showValues], setData: [showValues], draw: [peakMarks(show, options.axes[0])] },
      },
      latest.current,
      box.current,
    )
    showValues(plot.current)
  }
  useEffect(() => {
    if (uPlot) draw()
    else
      loaded.then(draw, () => {
        if (box.current) box.current.textContent = FAILED
      })
    const { current } = box
    const fit = () => plot.current?.setSize({ width: current.clientWidth, height: HEIGHT })
    const observer = new ResizeObserver(fit)
    observer.observe(current)
    dark.addEventListener('change', draw)
    return () => {
      observer.disconnect()
      dark.removeEventListener('change', draw)
      plot.current?.destroy()
      plot.current = undefined
    }
  }, [])
  useEffect(() => plot.current?.setData(data), [points, span.since, span.until])
  return html`<figure class="chart" aria-label=${`${title}, ${span.name}`}>
    <figcaption><span><b>${title}</b>${first - beginOf(span) > 2 * maxGapOf(every) && html` <span class="dim">since ${timeIn([beginOf(span) / 1000, first / 1000])(first / 1000)}</span>`}</span>
      <span class="legend">${lines.map(
        ({ name, color }, at) =>
          html`<span key=${name}><i class=${`line ${color}`}></i>${name} <span class="value" ref=${(
            element,
          ) => {
            values.current[at] = element
          }}>–</span></span>`,
      )}</span>
    </figcaption>
    <div class="plot" ref=${box} style=${{ height: `${HEIGHT}px` }}></div>
  </figure>`
}

/** The start of a span (Unix ms). */
const beginOf = ({ since, until }) => (until === undefined ? Date.now() - since : since)

/**
 * Interrupts lines where nothing was measured for longer than `maxGap` ms, such as while the daemon
 * did not run.
 */
function withBreaks(points, maxGap) {
  return points.flatMap((point, index) => {
    const previous = points[index - 1]?.at ?? point.at
    return point.at - previous > maxGap ? [{ at: previous + 1, isBreak: true }, point] : [point]
  })
}

function optionsFor(box, { lines, show, least, steps, isCut }, spanNow) {
  const style = getComputedStyle(box)
  /** Resolves a colour role by an element, because a canvas does not support `light-dark(…)`. */
  const colorOf = (role) => {
    box.style.color = `var(--${role})`
    const { color } = getComputedStyle(box)
    box.style.color = ''
    return color
  }
  const axis = {
    stroke: colorOf('dim'),
    grid: { stroke: colorOf('line'), width: 1 },
    ticks: { show: false },
    font: `11px ${style.fontFamily}`,
  }
  const timeRange = ({ data: [times] }) => {
    const span = spanNow()
    const { until, isWhole } = span
    const end = Math.floor((until ?? Date.now()) / 1000)
    const begin = Math.floor(beginOf(span) / 1000)
    if (isWhole) return [begin, end]
    const first = times.find((time) => time >= begin) ?? end
    return [Math.min(first, end - MIN_SPAN), end]
  }
  return {
    width: box.clientWidth,
    height: HEIGHT,
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false } },
    scales: {
      x: { range: timeRange },
      y: { range: (plot) => [0, topOf(valuesIn(plot), { least, isCut, present: presentIn(plot) })] },
    },
    axes: [
      { ...axis, size: 26, space: 70, incrs: STEPS, values: (_plot, times) => times.map(timeIn(times)) },
      {
        ...axis,
        size: 56,
        space: 30,
        ...(steps && { incrs: steps }),
        values: (_plot, values) => values.map((value) => withoutZeros(show(value))),
      },
    ],
    series: [
      {},
      ...lines.map(({ name, color }) => ({
        label: name,
        stroke: colorOf(color),
        width: 1.5,
        points: { show: true, size: 5, fill: colorOf(color), filter: isolatedIn },
      })),
    ],
  }
}

/** The indexes of values without a neighbour: no line shows them. */
function isolatedIn({ data }, series) {
  const values = data[series]
  return values.flatMap((value, at) =>
    value !== null && values[at - 1] == null && values[at + 1] == null ? [at] : [],
  )
}

/** The values of a chart that are in its time span, by series. */
function visibleIn({ data: [times, ...series], scales: { x } }) {
  const isShown = (at) => times[at] >= (x.min ?? Number.NEGATIVE_INFINITY) && times[at] <= (x.max ?? Infinity)
  return series.map((values) => values.map((value, at) => (isShown(at) ? value : null)))
}

/** All values of a chart that are in its time span. */
function valuesIn(plot) {
  return visibleIn(plot)
    .flat()
    .filter((value) => value !== null)
}

/** The last value of each line. */
function presentIn(plot) {
  return visibleIn(plot).flatMap((values) => values.findLast((value) => value !== null) ?? [])
}

/** Marks each burst above the scale by a triangle and, if there is room, its highest value. */
function peakMarks(show, { stroke, font }) {
  return (plot) => {
    const { ctx, bbox, scales } = plot
    const top = scales.y.max
    ctx.save()
    Object.assign(ctx, { fillStyle: stroke, font, textBaseline: 'top' })
    const end = bbox.left + bbox.width
    const marks = visibleIn(plot).flatMap((values) =>
      peaksIn(values, top).map((at) => {
        const text = show(values[at])
        const x = plot.valToPos(plot.data[0][at], 'x', true)
        return { x, value: values[at], text, ...placeOf(x, ctx.measureText(text).width, end) }
      }),
    )
    const labelled = highestApart(marks)
    for (const mark of labelled) drawMark(ctx, { ...mark, y: bbox.top })
    for (const mark of besideLabels(marks, labelled, TRIANGLE * devicePixelRatio))
      drawMark(ctx, { ...mark, y: bbox.top, text: '' })
    ctx.restore()
  }
}

/** The indexes of the highest value of each run of values above `top`. */
function peaksIn(values, top) {
  const peaks = []
  let peak
  for (const [at, value] of [...values, null].entries()) {
    if (value !== null && value > top) peak = peak === undefined || value > values[peak] ? at : peak
    else if (peak !== undefined) {
      peaks.push(peak)
      peak = undefined
    }
  }
  return peaks
}

/** Size (px) of the triangle of a peak. */
const TRIANGLE = 5

/** Where the label of a peak at `x` is: right of it, or left of it near the end. */
function placeOf(x, width, end) {
  const gap = 1.5 * TRIANGLE * devicePixelRatio
  const isLate = x + gap + width > end
  return isLate
    ? { isLate, from: x - gap - width, to: x + gap }
    : { isLate, from: x - gap, to: x + gap + width }
}

function drawMark(ctx, { x, y, text, isLate, from, to }) {
  const size = TRIANGLE * devicePixelRatio
  ctx.beginPath()
  ctx.moveTo(x, y)
  ctx.lineTo(x - size, y + size)
  ctx.lineTo(x + size, y + size)
  ctx.fill()
  ctx.textAlign = isLate ? 'left' : 'right'
  ctx.fillText(text, isLate ? from : to, y)
}

/** `30.00 s` as `30 s`. */
export function withoutZeros(text) {
  return text.replace(/(\.\d*?)0+(?=\D|$)/, (_, rest) => (rest === '.' ? '' : rest))
}

/** Formats labels: as days if they span more than two days, else as times of day. */
function timeIn(times) {
  const isDays = times.at(-1) - times[0] > 2 * DAY
  const format = isDays ? { day: 'numeric', month: 'short' } : { hour: '2-digit', minute: '2-digit' }
  return (seconds) => new Date(seconds * 1000).toLocaleString('en-GB', format)
}
