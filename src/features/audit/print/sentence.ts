import { isJsonObject, type Json, type JsonObject, pathGet } from '../../../core/json.ts'
import { secondOf } from '../../../core/readable.ts'
import {
  actionInWords,
  errorInWords,
  isSaidInWords,
  outcomeInWords,
  shownTarget,
} from '../../../lib/audit-words.ts'
import { BEGINNING, isBeginning } from '../../../lib/beginning.ts'
import { paint } from '../../../lib/paint.ts'
import { age, shorten, shortId } from '../../../lib/short-text.ts'

export const DECISION = 'approval-decide'

/** Outcomes that the words for an action say. */
const IN_WORDS = new Set(['done', 'begun', 'approved', 'denied', 'expired'])

/** `paused a route: contacts, for 3 h; reason: the CRM is being imported`. */
export function sentenceOf(entry: JsonObject, titles: JsonObject): string {
  const { error, reason } = entry
  const word = wordOf(entry)
  const isSaid = IN_WORDS.has(word)
  const words = actionInWords(entryOf(entry))
  const what = [isSaid ? coloured(word, words) : words, objectsOf(entry, titles, words)]
  const why = error === undefined ? '' : `: ${errorInWords(String(error))}`
  return [
    what.filter((part) => part !== '').join(': '),
    ...(isSaid ? [] : [`${coloured(word, word)}${codeOf(entry, word)}${why}`]),
    ...(reason === undefined ? [] : [`reason: ${reason}`]),
  ].join('; ')
}

/** An entry as the words for it need it. */
export function entryOf({ action, status, target, result, changes }: JsonObject) {
  return {
    action: String(action),
    status: String(status),
    target: Object(target),
    result: Object(result),
    changes: Object(changes),
  }
}

/** The word for an outcome. An older daemon sends none. */
export function wordOf(entry: JsonObject): string {
  return String(entry.word ?? outcomeInWords(entryOf(entry)))
}

const COLOURS: Readonly<Record<string, 'red' | 'yellow' | 'green'>> = {
  approved: 'green',
  denied: 'red',
  expired: 'red',
  failed: 'red',
  'nothing changed': 'yellow',
  'not allowed': 'yellow',
  cancelled: 'yellow',
}

/** A text in the colour of an outcome; the usual `done` has none. */
export function coloured(word: string, text: string): string {
  const colour = COLOURS[word]
  return colour === undefined ? text : paint(colour, text)
}

/** The error code of a failure, or of another refusal than `forbidden`: ` (gateway_not_running)`. */
export function codeOf({ action, outcome }: JsonObject, word: string): string {
  if (word !== 'failed' && (word !== 'not allowed' || outcome === 'forbidden')) return ''
  return ` (${action === DECISION && outcome === 'approval_decided' ? 'already decided' : outcome})`
}

/** The title of the request that an entry decided, or tried to decide. */
export function titleOf({ action, target }: JsonObject, titles: JsonObject): string | undefined {
  const title = action === DECISION ? titles[String(pathGet(target, 'id'))] : undefined
  return typeof title === 'string' ? title : undefined
}

/** The person and the subject that an entry is about: `Ada Byron: Order 47117`, or only the person. */
export function aboutText(about: Json | undefined, isPersonOnly = false): string {
  if (!isJsonObject(about)) return ''
  const { from, subject } = about
  const { name, address, id } = Object(from)
  return [name ?? address ?? id, isPersonOnly ? undefined : subject]
    .filter((part) => part !== undefined)
    .join(': ')
}

/** What an entry is about: the title of its request, the person, and names, filters and ids. */
function objectsOf(entry: JsonObject, titles: JsonObject, words: string): string {
  const { about, result } = entry
  const said = entryOf(entry)
  const title = titleOf(entry, titles)
  const isElsewhere = (name: string) =>
    isSaidInWords(name, said) ||
    (title !== undefined && (name === 'id' || name === 'skill')) ||
    (about !== undefined && (name === 'messageId' || name === 'conversation'))
  const targets = shownTarget({ ...said, at: entry.at }).filter(([name]) => !isElsewhere(name))
  const job = pathGet(result, 'job')
  return [
    title ?? '',
    aboutText(about, title !== undefined),
    ...targets.map(([name, value]) => `${labelOf(name, words)}${valueText(name, value)}`),
    typeof job === 'string' ? `job ${valueText('job', job)}` : '',
  ]
    .filter((part) => part !== '')
    .join(', ')
}

/** The name of an argument before its value, unless the words end with it, as in `paused a route`. */
function labelOf(name: string, words: string): string {
  return name === 'id' || name === 'name' || words.endsWith(` ${name}`) ? '' : `${name} `
}

const TIMES = new Set(['since', 'until', 'at'])
/** Maximum characters of a value that is not a text. */
const MAX_SHOWN = 100

/** A value of an entry at a terminal: times and durations in words, short ids. */
function valueText(name: string, value: unknown): string {
  if (TIMES.has(name) && isBeginning(value)) return BEGINNING
  if (TIMES.has(name) && typeof value === 'number') return secondOf(value)
  if (name === 'for' && typeof value === 'number') return age(0, value)
  if (typeof value !== 'string') return shorten(JSON.stringify(value), MAX_SHOWN)
  return shortId(value.replace(OF_JOB, ''))
}

/** The beginning of the id of a job, which its list leaves out too. */
const OF_JOB = /^[a-z][a-z-]*-(?=[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$)/
