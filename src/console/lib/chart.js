import { useEffect, useRef } from 'preact/hooks'
import { html } from './html.js'
import { known as isKnown } from './live.js'

/** A third of all that the console loads: it comes when the first view is there. */
let uPlot
const loaded = isKnown.then(async () => {
  uPlot = (await import('uplot')).default
})
const FAILED = 'The chart could not be loaded. Reload the page to try again.'

/** Seconds that are shown at least: soon after its start a daemon knows of less than an hour. */
const LEAST = 300
const DAY = 86_400
const HEIGHT = 150
/** Seconds between two marks of the time. */
const STEPS = [60, 120, 300, 600, 1_800, 3_600, 7_200, 10_800, 21_600, 43_200, DAY]
/** Ms without a point after which a line ends: `every` lies between two. */
const breakOf = (every) => Math.max(30_000, 3 * every)
/** At once where somebody changes between light and dark: a canvas does not follow by itself. */
const dark = matchMedia('(prefers-color-scheme: dark)')

/**
 * A span of time, or what is known of it, as lines. `span` is `{ since, until, isWhole, name }`: Unix ms, or without `until` how long ago it began; `isWhole` shows all of it, also where nothing is known. `every`: ms between points. `lines` are `{ name, color, of(point) }`, with the name of a colour role; `show` writes a value, and `least` is how far up the axis goes at least. The values under
 * the pointer, or else the newest, stand above: in places that do not move.
 */
export function Chart({ title, points, lines, show, least, span, every = 5_000 }) {
  const box = useRef()
  const values = useRef([])
  const kept = useRef()
  const latest = useRef()
  const known = withBreaks(points, breakOf(every))
  const shown = useRef(span)
  shown.current = span
  const data = [
    known.map(({ at }) => at / 1000),
    ...lines.map(({ of }) => known.map((point) => (point.isBreak ? null : (of(point) ?? null)))),
  ]
  const write = (plot) => {
    const { idx } = plot.cursor
    lines.forEach((_, at) => {
      const own = plot.data[at + 1]
      const value = idx == null ? own.at(-1) : own[idx]
      values.current[at].textContent = value == null ? '–' : show(value)
    })
  }
  latest.current = data
  const draw = () => {
    if (!uPlot || !box.current) return
    kept.current?.destroy()
    const options = optionsFor(box.current, lines, show, least, () => shown.current)
    kept.current = new uPlot(
      { ...options, hooks: { setCursor: [write], setData: [write] } },
      latest.current,
      box.current,
    )
    write(kept.current)
  }
  useEffect(() => {
    if (uPlot) draw()
    else
      loaded.then(draw, () => {
        if (box.current) box.current.textContent = FAILED
      })
    const { current } = box
    const fit = () => kept.current?.setSize({ width: current.clientWidth, height: HEIGHT })
    const observer = new ResizeObserver(fit)
    observer.observe(current)
    dark.addEventListener('change', draw)
    return () => {
      observer.disconnect()
      dark.removeEventListener('change', draw)
      kept.current?.destroy()
      kept.current = undefined
    }
  }, [])
  useEffect(() => kept.current?.setData(data), [points, span.since, span.until])
  return html`<figure class="chart" aria-label=${`${title}, ${span.name}`}>
    <figcaption><b>${title}</b>
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

/** A line ends where nothing was measured, as while the daemon was away. */
function withBreaks(points, longest) {
  return points.flatMap((point, at) => {
    const before = points[at - 1]?.at ?? point.at
    return point.at - before > longest ? [{ at: before + 1, isBreak: true }, point] : [point]
  })
}

function optionsFor(box, lines, show, least, spanNow) {
  const style = getComputedStyle(box)
  /** A role may be `light-dark(…)`, which a canvas does not know: the browser resolves it for an element. */
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
  const known = ({ data: [times] }) => {
    const { since, until, isWhole } = spanNow()
    const end = Math.floor((until ?? Date.now()) / 1000)
    const begin = Math.floor((until === undefined ? Date.now() - since : since) / 1000)
    if (isWhole) return [begin, end]
    const first = times.find((time) => time >= begin) ?? end
    return [Math.min(first, end - LEAST), end]
  }
  return {
    width: box.clientWidth,
    height: HEIGHT,
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false } },
    scales: {
      x: { range: known },
      y: { range: (_plot, _lowest, most) => [0, Math.max((most ?? 0) * 1.15, least)] },
    },
    axes: [
      { ...axis, size: 26, space: 70, incrs: STEPS, values: (_plot, times) => times.map(timeIn(times)) },
      { ...axis, size: 56, space: 30, values: (_plot, values) => values.map((value) => show(value)) },
    ],
    series: [
      {},
      ...lines.map(({ name, color }) => ({
        label: name,
        stroke: colorOf(color),
        width: 1.5,
        points: { show: false },
      })),
    ],
  }
}

/** With the day, where the marks are days. */
function timeIn(times) {
  const isDays = times.at(-1) - times[0] > 2 * DAY
  const format = isDays
    ? { day: '2-digit', month: 'short' }
    : { hour: '2-digit', minute: '2-digit', hour12: false }
  return (seconds) => new Date(seconds * 1000).toLocaleString([], format)
}
