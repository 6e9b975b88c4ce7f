import { isJsonObject, type Json, type JsonObject, pathGet } from '../../core/json.ts'
import { type Message, messageSchema } from '../../core/message.ts'
import { rowOf } from '../../engine/search.ts'
import { counted } from '../../lib/counted.ts'
import { meaningOfPlace } from '../../lib/erased-places.ts'
import { fileSize } from '../../lib/file-size.ts'
import { escaped, pageHead } from '../../lib/html-page.ts'
import { shownIn } from '../../lib/people-in.ts'
import { typedIdentity } from '../../lib/person-identity.ts'
import { dayAndTime } from '../../lib/utc-time.ts'
import { isEvent } from './event.ts'

/** Maximum numbers of what the page has in memory; the rest is only in the JSON lines. */
const LIMITS = { texts: 20_000, records: 500, characters: 20_000, names: 5 }

/** A body that a machine wrote. */
const JSON_BODY = /^\s*[{[]/

/** Places whose records are technical copies of the messages and answers. */
const COPIES = new Set(['jobs', 'histories', 'events', 'transcript', 'activity', 'search index', 'calls'])

/** Something that the person wrote, or that was answered. */
type Said = {
  at: number
  /** `event`: a machine sent it about the person. */
  who: 'you' | 'we' | 'event'
  gateway: string
  subject?: string | undefined
  text: string
  event?: string | undefined
  files: string[]
  /** The body of a webhook. */
  body?: string | undefined
}

/**
 * Makes a page (HTML) of the records of an export, for the person whom they are about: their messages
 * with our answers, and the other records. It has no scripts, loads nothing, and everything that
 * somebody wrote is escaped.
 */
export function createReadablePage({ identities, at }: { identities: readonly string[]; at: number }) {
  const said: Said[] = []
  /** Lines of the transcript by message: those of messages that are not kept any more stay. */
  const lines = new Map<string, Said>()
  const others = new Map<string, string[]>()
  const counts: Record<string, number> = {}
  const names = new Set<string>()
  let leftOut = 0
  const addSaid = (one: Said) => {
    if (said.length + lines.size < LIMITS.texts) said.push(one)
    else leftOut++
  }

  /** A line of the transcript. */
  const addLine = (line: JsonObject) => {
    const { role, content, channel, time, meta = null } = line
    const of = { at: Date.parse(String(time)), gateway: String(channel), text: String(content), files: [] }
    const subject = pathGet(meta, 'subject')
    const one = { ...of, subject: typeof subject === 'string' ? subject : undefined }
    if (role === 'assistant') addSaid({ ...one, who: 'we' })
    const message = pathGet(meta, 'messageId')
    if (role === 'user' && typeof message === 'string')
      lines.set(message, { ...one, who: JSON_BODY.test(one.text) ? 'event' : 'you' })
  }

  const addOther = (place: string, record: Json) => {
    const known = others.get(place) ?? []
    if (known.length < LIMITS.records) known.push(shortened(JSON.stringify(record, readableTime, 2)))
    others.set(place, known)
  }

  return {
    add(place: string, record: Json): void {
      counts[place] = (counts[place] ?? 0) + 1
      const message =
        place === 'messages' ? messageSchema.safeParse(pathGet(record, 'message')).data : undefined
      if (message) {
        lines.delete(message.id)
        const name = shownIn(message.from)
        if (name !== undefined && names.size < LIMITS.names) names.add(name)
        addSaid(saidIn(message))
      } else if (place === 'transcript' && isJsonObject(record)) addLine(record)
      else if (!COPIES.has(place)) addOther(place, record)
    },
    /** The page, in parts. */
    *page(): Generator<string> {
      const all = [...said, ...lines.values()].sort((a, b) => a.at - b.at)
      const known = identities.map(typedIdentity).join(', ')
      const who = names.size > 0 ? `${[...names].join(', ')} (${known})` : known
      yield `${pageHead(`Data about ${who}`, STYLE)}\n`
      yield `<p>From ${escaped(dayAndTime(at))}. Times are in UTC. The same data with all technical fields is in the export as JSON lines.</p>\n`
      yield tableOf(counts)
      yield `<h2>Messages and answers</h2>\n`
      if (all.length === 0) yield '<p>No message is stored.</p>\n'
      for (const one of all) yield saidHtml(one)
      if (leftOut > 0)
        yield `<p>${counted(leftOut, 'more message')} and answers are only in the JSON lines.</p>\n`
      if (others.size > 0)
        yield '<p>The following parts are technical: what the messaging system keeps to handle these messages.</p>\n'
      for (const [place, records] of others) yield otherHtml(place, records, counts[place] ?? 0)
      yield '</main></html>\n'
    },
  }
}

function saidIn(message: Message): Said {
  const { event, summary, subject } = rowOf(message, 'done')
  const { gateway, receivedAt, text, attachments } = message
  const files = attachments.map(({ name, size }) => `${name} (${fileSize(size)})`)
  const isBody = summary !== undefined && summary !== text
  return {
    ...{ at: receivedAt, who: isEvent(message) ? 'event' : 'you', gateway, subject, event, files },
    text: isBody ? summary : text,
    body: isBody ? text : undefined,
  }
}

const STYLE =
  'body{font:16px/1.5 system-ui,sans-serif;margin:0;color:#1c1c1c;background:#fff}main{max-width:48rem;margin:0 auto;padding:1.5rem}h1{font-size:1.5rem;overflow-wrap:anywhere}h2{font-size:1.15rem;margin-top:2rem}article{border-left:4px solid #8aa;padding:.2rem 0 .2rem 1rem;margin:1rem 0}article.event{border-color:#ccc}article.we{border-color:#4a6fe3;margin-left:2rem}.about{color:#555;font-size:.875rem;margin:0}.said{white-space:pre-wrap;overflow-wrap:anywhere;margin:.2rem 0}pre{white-space:pre-wrap;overflow-wrap:anywhere;background:#f4f4f4;padding:.6rem;font-size:.8rem}td,th{text-align:left;padding:.15rem 1.5rem .15rem 0}td:last-child{text-align:right}@media print{article{break-inside:avoid}}'

function tableOf(counts: Readonly<Record<string, number>>): string {
  const rows = Object.entries(counts).map(
    ([place, count]) =>
      `<tr><td>${escaped(place)}</td><td>${escaped(meaningOfPlace(place) ?? '')}</td><td>${count.toLocaleString('en')}</td></tr>`,
  )
  return `<details><summary>What is stored</summary><table><tr><th>place</th><th>what it has</th><th>records</th></tr>${rows.join('')}</table></details>\n`
}

function saidHtml({ at, who, gateway, subject, text, event, files, body }: Said): string {
  const by = who === 'event' ? `from ${gateway}` : `${who} · on ${gateway}`
  const about = [dayAndTime(at), by, event].filter((part) => part !== undefined).join(' · ')
  return [
    `<article class="${who}"><p class="about">${escaped(about)}</p>`,
    subject === undefined ? '' : `<p class="said"><b>${escaped(subject)}</b></p>`,
    `<p class="said">${escaped(shortened(text))}</p>`,
    files.length === 0 ? '' : `<p class="about">Files: ${escaped(files.join(', '))}</p>`,
    body === undefined
      ? ''
      : `<details><summary>As it was sent</summary><pre>${escaped(shortened(body))}</pre></details>`,
    '</article>\n',
  ].join('')
}

function otherHtml(place: string, records: readonly string[], count: number): string {
  const more =
    count > records.length ? `<p>${count - records.length} more are only in the JSON lines.</p>` : ''
  const all = records.map((record) => `<pre>${escaped(record)}</pre>`).join('')
  const meaning = meaningOfPlace(place)
  const about = meaning === undefined ? '' : `<p class="about">${escaped(meaning)}</p>`
  return `<h2>${escaped(place)}</h2>\n${about}<details><summary>${counted(count, 'record')}</summary>${all}${more}</details>\n`
}

function shortened(text: string): string {
  return text.length <= LIMITS.characters ? text : `${text.slice(0, LIMITS.characters)} …`
}

/** Fields with a time in Unix ms, in words. */
const TIME_FIELD = /(^|[a-z])(at|since|until|due|time)$/i
/** Unix ms of the years 2001 to 2096. */
const TIMES = { from: 1e12, to: 4e12 }

/** For \`JSON.stringify\`: times that people can read. */
function readableTime(key: string, value: unknown): unknown {
  const isTime = typeof value === 'number' && value >= TIMES.from && value < TIMES.to
  return isTime && TIME_FIELD.test(key) ? dayAndTime(value) : value
}
