import { shownAuthor } from '../../core/author.ts'
import { isJsonObject, type Json, type JsonObject, objectsIn, pathGet } from '../../core/json.ts'
import { type Printers, timeOf } from '../../core/readable.ts'
import { countTable } from '../../engine/print/erased-counts.ts'
import { afterErasure, oldContentLines } from '../../engine/print/job-words.ts'
import { humanStartedJob } from '../../engine/print/jobs.ts'
import { humanPeople } from '../../engine/print/person-list.ts'
import { humanOpen } from '../../engine/print/person-open.ts'
import { commandText } from '../../lib/command-text.ts'
import { copiesAt, outsideText } from '../../lib/copies-at.ts'
import { counted } from '../../lib/counted.ts'
import { defined } from '../../lib/defined.ts'
import { fileSize } from '../../lib/file-size.ts'
import { mentionsSearch, mentionsSentence } from '../../lib/mentions.ts'
import { NOT_COUNTED, NOTHING_FOUND } from '../../lib/nothing-found.ts'
import { openSentences } from '../../lib/open-kinds.ts'
import { sentencesInWidth } from '../../lib/paragraph.ts'
import { typedIdentity } from '../../lib/person-identity.ts'
import { listAge, listText, shortId } from '../../lib/short-text.ts'

export const printers: Printers = {
  'person-list': humanPeople,
  'person-open': humanOpen,
  'person-count': (result) => sentencesInWidth(humanCounted(result)),
  'person-export': (result) => sentencesInWidth(humanExport(result)),
  'person-erase': (result, args) =>
    sentencesInWidth([humanErase(result, nothingText(result)), ...afterwards(result, args)].join('\n')),
  'message-erase': (result) => sentencesInWidth(humanMessages(result)),
}

/** Nothing is stored about this person; with the similar address of a sender. */
function nothingText(result: Json): string {
  const { similar } = Object(result)
  return similar === undefined
    ? `${NOTHING_FOUND} ${NOT_COUNTED}`
    : `${NOTHING_FOUND} Did you mean ${similar}?`
}

/** `person-export`. */
function humanExport(result: Json): string {
  const { file, until, counts, total, output } = Object(result)
  const to = output === '-' ? 'to stdout' : `to ${output ?? Object(file).path}`
  return [
    countTable({ counts }),
    '',
    `${counted(Number(total), 'record')}, ${fileSize(Number(Object(file).size))}, ${to}`,
    `The daemon keeps a copy until ${timeOf(until)}, or until the person is erased. The next count has this file and a record of it, too.`,
    ...elsewhereLines(result, 'person export', 'not exported'),
    ...oldContentLines(result),
  ].join('\n')
}

/** `person-count`: all, or what is counted so far. */
function humanCounted(result: Json): string {
  const { done, at, total } = Object(result)
  const records = counted(Number(total), 'record')
  if (done === true)
    return [
      Number(total) === 0 ? nothingText(result) : `${countTable(Object(result))}\n\n${records}.`,
      ...elsewhereLines(result, 'person count', 'not counted'),
      ...openLines(result),
      ...mentionLines(result),
      ...exportLines(result),
      ...oldContentLines(result),
    ].join('\n')
  return `${records} so far, now reading: ${at}. Run it again to see more.`
}

/** `person-erase` and `message-erase`: the job, or what it would erase. */
function humanErase(result: Json, nothing: string): string {
  const { job, total } = Object(result)
  const elsewhere = elsewhereLines(result, 'person erase', 'not counted, not erased')
  if (isJsonObject(job))
    return [humanStartedJob({ job }), ...afterErasure(job.result ?? null), ...elsewhere].join('\n')
  if (Number(total) === 0)
    return [nothing, ...elsewhere, ...mentionLines(result), ...oldContentLines(result)].join('\n')
  return [
    countTable(Object(result)),
    '',
    `${counted(Number(total), 'record')}. Nothing was erased; --confirm erases them.`,
    ...elsewhere,
    ...openLines(result),
    ...mentionLines(result),
    ...outsideLines(result),
    ...oldContentLines(result),
  ].join('\n')
}

/** `message-erase`. With `naming`, also the messages of others that name the person. */
function humanMessages(result: Json): string {
  const { found, mentions, job, ...counts } = Object(result)
  const erased = humanErase({ ...counts, ...defined({ job }) }, 'Nothing was found about these messages.')
  if (mentions === undefined || job !== undefined) return erased
  const rows = objectsIn(found)
  if (rows.length === 0) return namingSentence(mentions)
  return [
    namingSentence(mentions),
    ...rows.slice(0, MOST_NAMING).map(namingLine),
    ...moreNaming(rows),
    erased,
  ].join('\n')
}

/** Maximum number of messages of others that are named. */
const MOST_NAMING = 20

function namingLine({ id, at, gateway, subject, summary, text }: JsonObject): string {
  const gist = listText(String(subject ?? summary ?? text ?? ''), 80)
  return `- ${shortId(id)}  ${listAge(at)}  ${gateway}  ${gist}`
}

function moreNaming(rows: readonly JsonObject[]): string[] {
  const more = rows.length - MOST_NAMING
  return more > 0 ? [`  … and ${more} more`, ''] : ['']
}

function namingSentence(mentions: Json): string {
  const { names, messages, done, searchedTo }: JsonObject = Object(mentions)
  const known = { names: [names].flat().map(String), messages: Number(messages), done: done === true }
  return mentionsSentence({ ...known, searchedTo: Number(searchedTo) }, timeOf)
}

/** After an erasure: how the messages of others that name the person are erased. */
function afterwards(result: Json, args: JsonObject = {}): string[] {
  const who = [args.identity ?? []].flat().map((identity) => typedIdentity(String(identity)))
  if (!isJsonObject(pathGet(result, 'job')) || who.length === 0) return []
  return [`Messages of others may still name them: ${commandText(NAMING, ...who)} lists and counts them.`]
}

/** The command for the messages of others. */
const NAMING = 'message erase --naming'

/** `1 open approval goes too: Refund 1240.00 EUR · order 4890`, for each kind that is unfinished. */
function openLines(result: Json): string[] {
  const { open = {}, openItems = [] }: JsonObject = Object(result)
  return openSentences(Object(open), objectsIn(openItems), { time: timeOf, author: shownAuthor })
}

const isNobody = (result: Json) => pathGet(result, 'total') === 0

/** Whether messages of others name the person: these are neither counted nor erased. */
function mentionLines(result: Json): string[] {
  const { names, messages, done, searchedTo }: JsonObject = Object(Object(result).mentions)
  if (!Array.isArray(names) || typeof messages !== 'number') return []
  const known = { names: names.map(String), messages, done: done === true, searchedTo: Number(searchedTo) }
  // Of a mistyped person, the messages may be from the one who is meant.
  const sentence = mentionsSentence(known, timeOf).replace(
    isNobody(result) && messages > 0 ? ' of others' : '',
    '',
  )
  if (messages === 0) return [sentence]
  return [
    `${sentence} Not counted, not erased: ${commandText('message list', '--search', mentionsSearch(known.names, String(known.names[0])))}`,
    ...(isNobody(result) ? [] : [`To erase them, too: ${commandText(NAMING, ...known.names)}`]),
  ]
}

/** Messages of the same addresses on gateways that were not named, with the command for all. */
function elsewhereLines(result: Json, command: string, whatNot: string): string[] {
  const { identities, gateways = {}, done }: JsonObject = Object(Object(result).elsewhere)
  const counts = Object.entries(Object(gateways)).map(
    ([gateway, many]) => `on ${gateway}: ${counted(Number(many), 'message')}`,
  )
  if (counts.length === 0 || !Array.isArray(identities)) return []
  const all = identities.map((identity) => typedIdentity(String(identity)))
  const more = done === true ? '' : ' or more'
  return [`Also ${counts.join(', ')}${more}, ${whatNot}. To cover all: ${commandText(command, ...all)}`]
}

/** Where copies may be that an erasure does not reach. */
function outsideLines(result: Json): string[] {
  const outside = pathGet(result, 'outside')
  return outside === undefined ? [] : [...copiesAt(pathGet(outside, 'receivers')), outsideText(outside)]
}

/** The exports of the person whose files are still kept. */
function exportLines(result: Json): string[] {
  return objectsIn(Object(result).exports).map(({ at, until, file }) => {
    const { path, size } = Object(file)
    return `Exported ${timeOf(at)}, kept until ${timeOf(until)}: ${path} (${fileSize(Number(size))})`
  })
}
