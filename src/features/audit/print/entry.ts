import { shownAuthor } from '../../../core/author.ts'
import { isJsonObject, type JsonObject, pathGet } from '../../../core/json.ts'
import { secondOf, whenText } from '../../../core/readable.ts'
import { argumentsIn } from '../../../lib/arguments-in-words.ts'
import { errorInWords } from '../../../lib/audit-words.ts'
import { BEGINNING, isBeginning } from '../../../lib/beginning.ts'
import { commandText } from '../../../lib/command-text.ts'
import { factLines } from '../../../lib/fact-lines.ts'
import { paragraph } from '../../../lib/paragraph.ts'
import { type Printable, withNotes } from '../../../lib/printed.ts'
import { age } from '../../../lib/short-text.ts'
import { aboutText, codeOf, coloured, DECISION, sentenceOf, titleOf, wordOf } from './sentence.ts'

/** One entry: a sentence, then its facts, and below them the command that shows its object. */
export function humanEntry(entry: JsonObject, titles: JsonObject): Printable {
  const { at, by, via, from, kind, about, target, result, changes, id, action, reason, error } = entry
  const word = wordOf(entry)
  const facts = factLines([
    ['time', whenText(at)],
    ['by', `${shownAuthor(by)} (${[kind, via, from].filter((part) => part !== undefined).join(', ')})`],
    ['outcome', `${coloured(word, word)}${codeOf(entry, word)}`],
    ['error', error === undefined ? '' : errorInWords(String(error))],
    ['reason', String(reason ?? '')],
    ['request', titleOf(entry, titles) ?? ''],
    ['about', aboutText(about)],
    ...factsIn(Object(target))
      .filter(([name]) => !(name === 'status' && action === DECISION))
      .map(([name, text]): Fact => [NAMES[name] ?? name, text]),
    ...factsIn(Object(result)),
    ...Object.entries(Object(changes)).map(([name, change]): Fact => [name, changeText(Object(change))]),
    ['action', String(action)],
    ['id', String(id)],
  ])
  const sentence = paragraph('', `${shownAuthor(by)} ${sentenceOf(entry, titles)}`)
  const next = showsObject(entry)
  return withNotes([sentence, '', ...facts].join('\n'), ...(next === undefined ? [] : [`→ ${next}`]))
}

type Fact = [title: string, text: string]

/** Names of arguments that read badly, or mean something else in an entry. */
const NAMES: Readonly<Record<string, string>> = { id: 'target id', messageId: 'message' }

function factsIn(record: JsonObject): Fact[] {
  return Object.entries(record).flatMap(([name, value]) =>
    value === undefined || value === null ? [] : [[name, factText(name, value)]],
  )
}

const TIMES = new Set(['since', 'until', 'at'])

function factText(name: string, value: unknown): string {
  if (TIMES.has(name) && isBeginning(value)) return BEGINNING
  if (TIMES.has(name) && typeof value === 'number') return secondOf(value)
  if (name === 'for' && typeof value === 'number') return age(0, value)
  if (name === 'by') return shownAuthor(value)
  if (Array.isArray(value)) return value.map((each) => factText('', each)).join(', ')
  if (typeof value !== 'object' || value === null) return String(value)
  return argumentsIn(value)
    .map(([key, part]) => `${key}: ${factText(key, part)}`)
    .join(', ')
}

function changeText({ before, after }: JsonObject): string {
  const [old, now] = [before, after].map((value) =>
    value === undefined || value === null ? 'nothing' : factText('', value),
  )
  return `${old} → ${now}`
}

/** The command that shows the object of an entry; undefined if it has none, or more than one. */
function showsObject(entry: JsonObject): string | undefined {
  const { action, about, target, result } = entry
  const text = (value: unknown) => (typeof value === 'string' ? value : undefined)
  const of = (name: string) => text(pathGet(target, name))
  const kind = String(action).replace(/-\w+$/, '')
  const id = of('id')
  const job = of('job') ?? text(pathGet(result, 'job'))
  const [gateway, conversation] = [of('gateway'), of('conversation')]
  if (kind === 'approval' && id !== undefined) return commandText('approval show', id)
  if (job !== undefined) return commandText('job show', job)
  if (kind === 'job' && id !== undefined) return commandText('job show', id)
  if (gateway !== undefined && conversation !== undefined)
    return commandText('conversation show', gateway, conversation)
  const message = isJsonObject(about) ? text(about.messageId) : of('messageId')
  if (message !== undefined) return commandText('message show', message)
  if (kind === 'subscription' && of('name') !== undefined) return commandText('subscription show', of('name'))
  const named = (['skill', 'route', 'gateway'] as const).find((name) => of(name) !== undefined)
  return named && commandText(`${named} show`, of(named))
}
