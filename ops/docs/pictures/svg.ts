/** A part of a picture: SVG elements. */
export type Part = string

/** Fills of boxes, by meaning: from outside, done by Trivium, stored, good end, bad end. */
export type Kind = 'outside' | 'step' | 'store' | 'good' | 'bad'

type Point = readonly [x: number, y: number]
type Size = readonly [width: number, height: number]

/**
 * The colours, for a light and a dark page. The picture has its own background, because a site may
 * have another theme than the browser, which decides here.
 */
const STYLE = `
    svg { --paper: #fbfbfd; --edge: #d9dbe3; --ink: #20222b; --soft: #5c6070; --line: #7a7f90;
      --outside: #eceef4; --step: #e2ebff; --store: #fdf0d0; --good: #dcf3e2; --bad: #fbe1e0 }
    @media (prefers-color-scheme: dark) {
      svg { --paper: #1b1d24; --edge: #363a46; --ink: #eceef4; --soft: #a5aaba; --line: #8b90a2;
        --outside: #2b2f3a; --step: #22365f; --store: #4a3b14; --good: #1d4229; --bad: #57282a } }
    text { font: 13px system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif; fill: var(--ink); text-anchor: middle }
    .small { font-size: 12px; fill: var(--soft) }
    .left { text-anchor: start }
    .strong { font-weight: 600 }
    .code { font-family: ui-monospace, 'SF Mono', Menlo, Consolas, monospace; font-size: 12px }
    path { fill: none; stroke: var(--line); stroke-width: 1.5 }
    .dashed { stroke-dasharray: 4 3 }
    .tip { fill: var(--line); stroke: none }
    rect { stroke: var(--edge) }`

/** A picture as an SVG file. `title` and `description` are what a screen reader reads. */
export function picture(
  {
    width,
    height,
    title,
    description,
  }: { width: number; height: number; title: string; description: string },
  parts: readonly Part[],
): string {
  const lines = [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-labelledby="title description">`,
    `  <title id="title">${escaped(title)}</title>`,
    `  <desc id="description">${escaped(description)}</desc>`,
    `  <style>${STYLE}\n  </style>`,
    '  <defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto-start-reverse">' +
      '<path class="tip" d="M0 0 8 4 0 8z"/></marker></defs>',
    `  <rect x="0.5" y="0.5" width="${width - 1}" height="${height - 1}" rx="10" fill="var(--paper)"/>`,
    ...parts.map((part) => `  ${part}`),
    '</svg>',
  ]
  return `${lines.join('\n')}\n`
}

/** A box with centred lines of text, the first one bold if there are several. */
export function box([x, y]: Point, [width, height]: Size, kind: Kind, ...lines: string[]): Part {
  const top = y + height / 2 - ((lines.length - 1) * LINE) / 2 + BASELINE
  const texts = lines.map((line, index) => {
    const strong = index === 0 && lines.length > 1 ? 'strong' : ''
    return text([x + width / 2, top + index * LINE], line, index === 0 ? strong : 'small')
  })
  return [
    `<rect x="${x}" y="${y}" width="${width}" height="${height}" rx="6" fill="var(--${kind})"/>`,
    ...texts,
  ].join('')
}

const LINE = 17
/** From the middle of a line to its baseline. */
const BASELINE = 4.5

/** A text at its baseline. `look`: classes of the style. */
export function text([x, y]: Point, words: string, look = ''): Part {
  return `<text x="${x}" y="${y}"${look && ` class="${look}"`}>${escaped(words)}</text>`
}

/** A line through points, with a tip at its end. */
export function arrow(...points: Point[]): Part {
  return `<path d="M${points.map((point) => point.join(' ')).join('L')}" marker-end="url(#tip)"/>`
}

/** A dashed line with a tip: an answer, or a way that is taken only sometimes. */
export function dashed(...points: Point[]): Part {
  return arrow(...points).replace('<path', '<path class="dashed"')
}

/** A dashed line without a tip, between two halves of a picture. */
export function border(from: Point, to: Point): Part {
  return `<path class="dashed" d="M${from.join(' ')}L${to.join(' ')}"/>`
}

function escaped(words: string): string {
  return words.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
}
