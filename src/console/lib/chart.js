import { useEffect, useRef } from 'preact/hooks'
import { html } from './html.js'

/** A third of all that the console loads: it comes when the first view is there. */
let uPlot
const loaded = import('uplot').then((library) => {
  uPlot = library.default
})

const HOUR = 3_600
/** Seconds that are shown at least: soon after its start a daemon knows of less than an hour. */
const LEAST = 300
const HEIGHT = 150
/** Seconds between two marks of the time. */
const MINUTES = [60, 120, 300, 600]
/** Ms between two points, five seconds apart otherwise. */
const BREAK = 30_000
/** At once where somebody changes between light and dark: a canvas does not follow by itself. */
const dark = matchMedia('(prefers-color-scheme: dark)')

/**
 * The last hour, or what is known of it, as lines. `lines` are `{ name, color, of(point) }`, with the name of a colour role; `show` writes a value, and `least` is how far up the axis goes at least. The values under
 * the pointer, or else the newest, stand above: in places that do not move.
 */
export function Chart({ title, points, lines, show, least }) {
  const box = useRef()
  const values = useRef([])
  const kept = useRef()
  const latest = useRef()
  const known = withBreaks(points)
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
    const options = optionsFor(box.current, lines, show, least)
    kept.current = new uPlot(
      { ...options, hooks: { setCursor: [write], setData: [write] } },
      latest.current,
      box.current,
    )
    write(kept.current)
  }
  useEffect(() => {
    if (uPlot) draw()
    else loaded.then(draw)
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
  useEffect(() => kept.current?.setData(data), [points])
  return html`<figure class="chart" aria-label=${`${title}, the last hour`}>
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
function withBreaks(points) {
  return points.flatMap((point, at) => {
    const before = points[at - 1]?.at ?? point.at
    return point.at - before > BREAK ? [{ at: before + 1, isBreak: true }, point] : [point]
  })
}

function optionsFor(box, lines, show, least) {
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
    const now = Math.floor(Date.now() / 1000)
    const first = times.find((time) => time >= now - HOUR) ?? now
    return [Math.min(first, now - LEAST), now]
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
      { ...axis, size: 26, space: 70, incrs: MINUTES, values: (_plot, times) => times.map(timeOf) },
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

function timeOf(seconds) {
  return new Date(seconds * 1000).toLocaleTimeString([], {
    hour: '2-digit',
    minute: '2-digit',
    hour12: false,
  })
}
