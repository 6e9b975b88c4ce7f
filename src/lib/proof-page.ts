import { copiesAt, outsideText } from './copies-at.ts'
import { counted } from './counted.ts'
import { countedBefore } from './counted-before.ts'
import { meaningOfKind, meaningOfPlace } from './erased-places.ts'
import { escaped, pageHead } from './html-page.ts'
import { countedOpen, openCounts } from './open-kinds.ts'
import { dayAndTime } from './utc-time.ts'

/** An erasure that has ended, as `job-show` has it. */
export type ErasureJob = {
  id: string
  state: string
  by: string
  startedAt: number
  endedAt?: number
  target?: { reference?: string; messages?: number }
  result?: ErasureResult
}
type ErasureResult = {
  counts?: Record<string, number>
  kinds?: Record<string, Record<string, number>>
  open?: Record<string, number>
  records?: number
  receivers?: string[]
  outside?: object
  counted?: number
  since?: object
}

/** The file name of a proof, without its ending. */
export function proofName({ id, target }: Pick<ErasureJob, 'id' | 'target'>): string {
  const name = target?.reference?.replaceAll(/[^\w.-]+/g, '-') ?? id.replace(/^person-erase-/, '')
  return `erasure-${name}`
}

/**
 * The proof of an erasure as a page (HTML) that prints on one or two sheets: who erased, when, and how
 * much of what. It has no scripts, loads nothing, and does not name the person. `by`: the author.
 */
export function proofPage(job: ErasureJob, by: string): string {
  const { id, state, startedAt, endedAt, target = {}, result = {} } = job
  const { counts = {}, kinds = {}, open = {}, records = 0, receivers, outside } = result
  const what = target.messages === undefined ? 'the data of a person' : counted(target.messages, 'message')
  const facts: [string, string | undefined][] = [
    ['Request', target.reference],
    ['Erased', `${what}: ${counted(records, 'record')}`],
    ['By', by],
    ['Began', dayAndTime(startedAt)],
    ['Ended', endedAt === undefined ? undefined : dayAndTime(endedAt)],
    ['State', state],
    ['Job', id],
  ]
  const went = openCounts(open).map(({ kind, count }) => countedOpen(kind, count))
  const notes = [
    countedBefore(result),
    went.length > 0 ? `Open until then, and erased too: ${went.join(', ')}.` : undefined,
    ...(records > 0 ? [...copiesAt(receivers), outsideText(outside)] : []),
  ].filter((note) => note !== undefined)
  return [
    pageHead('Proof of an erasure', STYLE),
    `<table class="facts">${facts.map(factRow).join('')}</table>`,
    records > 0 ? `<h2>What was erased</h2>\n<table>${placeRows(counts, kinds)}</table>` : '',
    ...notes.map((note) => `<p>${escaped(note)}</p>`),
    '<p class="dim">The audit log of Trivium has the same numbers, at the action person-erased.</p>',
    '</main></body></html>',
    '',
  ].join('\n')
}

const STYLE =
  'body{font:16px/1.5 system-ui,sans-serif;margin:0;color:#1c1c1c;background:#fff}main{max-width:44rem;margin:0 auto;padding:1.5rem}h1{font-size:1.5rem}h2{font-size:1.1rem;margin-top:1.5rem}table{border-collapse:collapse;width:100%}td,th{text-align:left;vertical-align:top;padding:.2rem 1rem .2rem 0;border-bottom:1px solid #ddd;overflow-wrap:anywhere}.facts th{width:7rem;font-weight:normal;color:#555}td.number{text-align:right}.kind td:first-child{padding-left:1.2rem}.dim{color:#555}@page{margin:18mm}@media print{main{padding:0}tr{break-inside:avoid}}'

function factRow([title, text]: [string, string | undefined]): string {
  return text === undefined ? '' : `<tr><th scope="row">${title}</th><td>${escaped(text)}</td></tr>`
}

function placeRows(
  counts: Readonly<Record<string, number>>,
  kinds: Readonly<Record<string, Readonly<Record<string, number>>>>,
): string {
  const row = (name: string, meaning: string | undefined, many: number, kind = '') =>
    `<tr${kind}><td>${escaped(name)}${meaning === undefined ? '' : ` <span class="dim">${escaped(meaning)}</span>`}</td><td class="number">${many.toLocaleString('en')}</td></tr>`
  return Object.entries(counts)
    .filter(([, many]) => many > 0)
    .flatMap(([place, many]) => [
      row(place, meaningOfPlace(place), many),
      ...Object.entries(kinds[place] ?? {}).map(([name, of]) =>
        row(name, meaningOfKind(name), of, ' class="kind"'),
      ),
    ])
    .join('\n')
}
