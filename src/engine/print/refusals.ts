import { isJsonObject, type Json, type JsonObject, objectsIn, pathGet } from '../../core/json.ts'
import { timeOf } from '../../core/readable.ts'
import { ageText } from '../../lib/age-text.ts'
import { counted } from '../../lib/counted.ts'
import { type Column, lineTable } from '../../lib/line-table.ts'
import { paragraph } from '../../lib/paragraph.ts'
import { noData, type Printable, withNotes } from '../../lib/printed.ts'
import { age, listAge, listText, shortId } from '../../lib/short-text.ts'

/** Maximum number of rows on a screen, below the causes. */
const MAX_SHOWN = 10

/** How refusals are shown. */
type Shown = {
  /** Shows each one. Otherwise those of a sender with the same reason are one row. */
  isEach: boolean
  /** Shows as many as fit on the screen. */
  isScreen: boolean
}

/** `refused`: the causes, then the refusals. */
export function humanRefused(result: Json, { isEach, isScreen }: Shown): Printable {
  const maxRows = isScreen && !isEach ? MAX_SHOWN : Number.POSITIVE_INFINITY
  const daemon = `in the memory of ${pathGet(result, 'daemon')}`
  const all = objectsIn(pathGet(result, 'refusals'))
  const groups = objectsIn(pathGet(result, 'groups'))
  if (all.length === 0) return noData(`Nothing was refused, ${daemon}.`)
  const shown: JsonObject[] = isEach ? [...all] : alikeIn(all)
  const rows = shown
    .slice(0, maxRows)
    .map(({ id, count, at, gateway, from, reason, why, body }) => [
      isEach ? (id === undefined ? '–' : shortId(id)) : count,
      listAge(at),
      gateway,
      from,
      listText(String(body ?? ''), LONGEST_BODY),
      listText(String(why ?? reason), 100),
    ])
  const left = shown.length - rows.length
  const more = left > 0 ? [paragraph('', `… and ${left} more: \`trivium refusal list | cat\``)] : []
  const [first, second] = isEach ? ['id', 'age'] : ['kept', 'newest']
  const list = lineTable(
    [{ title: first }, { title: second, ...(isEach && { piped: 'time' }) }, ...columnsOf(isEach)],
    rows,
  )
  const each = isEach ? '' : '`trivium refusal list --each` shows each; '
  const kept = paragraph('', `(${each}${keptText(all, groups)}${daemon})`)
  const causes = groups.map((group) => causeText({ ...group, todo: inThisList(group.todo) }))
  // A pipe gets only the list.
  if (!isScreen) return withNotes(list, ...causes, ...more, kept)
  return withNotes([...causes, list].join('\n\n'), ...more, kept)
}

/** What to do, as said in the list of refusals itself. */
function inThisList(todo: Json | undefined): string {
  return String(todo).replace('`trivium refusal list` shows', 'the list below shows').replace(/^the/, 'The')
}

const LONGEST_BODY = 120

/**
 * In a narrow terminal, one column is left out. With a row for each refusal, it is `why`, which is
 * the same in most rows; otherwise it is `body`.
 */
function columnsOf(isEach: boolean): Column[] {
  return [
    { title: 'gateway', least: 8 },
    { title: 'from', least: 12 },
    { title: 'body', least: 20, ...(!isEach && { leftOut: 1 }) },
    { title: 'why', least: 20, ...(isEach && { leftOut: 1 }) },
  ]
}

/**
 * How many refusals of the last hour are kept with their details: only the newest of each gateway.
 */
function keptText(all: readonly JsonObject[], groups: readonly JsonObject[]): string {
  const keyOf = ({ gateway, reason }: JsonObject) => JSON.stringify([gateway, reason])
  const kept = Map.groupBy(all, keyOf)
  const pairs = groups.map((group) => ({ group, shown: kept.get(keyOf(group))?.length ?? 0 }))
  const cut = pairs.filter(({ group, shown }) => shown < Number(group.count))
  const parts = cut.map(({ group, shown }) => `${shown} of ${group.count} of ${group.gateway}`)
  return parts.length === 0 ? '' : `the newest ${parts.join(', ')}; the others are only counted; `
}

/** Refusals of the same gateway, sender and reason as one, which has the newest body. */
function alikeIn(refusals: readonly JsonObject[]): JsonObject[] {
  const groups = Map.groupBy(refusals, ({ gateway, from, why, reason }) =>
    JSON.stringify([gateway, from, why ?? reason]),
  )
  return [...groups.values()].map((group) => ({ ...group[0], count: group.length }))
}

/**
 * The refusals of one gateway for one reason in the last hour, with the likely cause and what to
 * do.
 */
export function causeText(group: JsonObject): string {
  const { gateway, reason, count, total, likely, todo, changed, endedAt, acceptedAfter } = group
  const { refused, accepted } = Object(total)
  // Those after the last refusal have a number of their own.
  const within = endedAt === undefined ? accepted : accepted - Number(acceptedAfter)
  const recent = Number(count) < Number(refused) ? `, ${count} in the last hour` : ''
  const many = `${refused} of ${counted(refused + within, 'delivery', 'deliveries')} refused`
  const head = `${gateway}: ${many} ${periodText(group)}${recent} (${reason})`
  const isSigned = String(reason) === 'signature_invalid'
  const other = `Has the sender another secret? \`trivium refusal try --gateway ${gateway}\` asks for one, and tries it on the refused deliveries.`
  return [
    paragraph('', head),
    ...(isJsonObject(changed) ? [paragraph('  ', changedText(changed))] : []),
    paragraph('  ', String(likely)),
    ...objectsIn(group.earlier).map((before) => paragraph('  ', earlierText(before))),
    paragraph('  → ', String(todo)),
    ...(isSigned && endedAt === undefined ? [paragraph('  → ', other)] : []),
  ].join('\n')
}

/** `Changed at 21:40 (20 s ago), after the last refusal; nothing was delivered since.` */
function changedText({ at, accepted, refused }: JsonObject): string {
  const since =
    Number(accepted) + Number(refused) === 0
      ? 'nothing was delivered since'
      : `${accepted} accepted and ${refused} refused since`
  return `Changed at ${timeOf(at)} (${age(at)} ago), after the last refusal; ${since}.`
}

/** `Before that: 122 refused from 20:39 to 21:39 (60 min), then 14 accepted.` */
function earlierText({ since, last, refused, acceptedAfter }: JsonObject): string {
  const lasted = ageText(Number(last) - Number(since))
  return `Before that: ${refused} refused from ${timeOf(since)} to ${timeOf(last)} (${lasted}), then ${acceptedAfter} accepted.`
}

/** `since 20:39 (5 min)`; if it is over: `from 20:39 to 21:39 (60 min), 12 accepted since`. */
function periodText({ since, endedAt, acceptedAfter, cause }: JsonObject): string {
  if (typeof endedAt !== 'number') return `since ${timeOf(since)} (${age(since)})`
  const lasted = ageText(endedAt - Number(since))
  // The change of the gateway is later: the number would be from before it.
  const after = cause === 'changed' ? '' : `, ${acceptedAfter} accepted since`
  return `from ${timeOf(since)} to ${timeOf(endedAt)} (${lasted})${after}`
}
