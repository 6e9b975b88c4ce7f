import type { JsonObject } from '../../core/json.ts'
import { counted } from '../../lib/counted.ts'
import { heldText } from '../../lib/held-text.ts'
import { age } from '../../lib/short-text.ts'
import { table } from '../../lib/text-table.ts'
import { deadOf } from '../dead-of.ts'
import { NOT_PULLED, workersNote } from '../road-note.ts'

/** Narrower screens show only what is not normal. */
const WIDE = 100

/** The roads with their backlog. `onlyBusy`: without those that have no work and no dead letters. */
export function roadTable(
  roads: readonly JsonObject[],
  waiting: readonly JsonObject[],
  { onlyBusy = false }: { onlyBusy?: boolean } = {},
): string {
  const isNarrow = (process.stdout.columns || WIDE) < WIDE
  const shown = onlyBusy ? roads.filter(isBusy) : roads
  const rows = shown.map((each) => {
    const { road, messages, oldestAt } = each
    const retries = retriesOf(road, waiting, onlyBusy)
    return [road, messages, age(oldestAt), deadOf(each), roadNote(each, retries, isNarrow)]
  })
  return table(['Roads', 'messages', 'oldest', 'dead', ''], rows)
}

/** The journal only says how much is kept. */
function isBusy(each: JsonObject): boolean {
  return each.road !== 'journal' && (Number(each.messages) > 0 || Number(deadOf(each) ?? 0) > 0)
}

/** What the messages of a road are; in a narrow terminal only what is not normal. */
function roadNote(each: JsonObject, retries: string, isNarrow: boolean): string {
  const { road, lost } = each
  if (road === 'receive') {
    const inWork = workersNote(each)
    // Messages that expired unread, of gateways with a consumer.
    const losses = Object.entries(Object(lost)).map(([gateway, count]) => `${gateway} ${count}`)
    if (losses.length > 0) return `${inWork || 'not pulled'}; EXPIRED UNREAD so far: ${losses.join(', ')}`
    return inWork || (isNarrow ? '' : NOT_PULLED)
  }
  const notes = [heldText(each.held), retries]
  if (isNarrow) return notes.filter(Boolean).join('; ')
  return road === 'journal' ? 'kept' : ['waiting or running', ...notes].filter(Boolean).join('; ')
}

/** How many messages of a road wait for their next attempt, and when the first of these is due. */
function retriesOf(road: unknown, waiting: readonly JsonObject[], isShort: boolean): string {
  const retrying = waiting.filter((one) => one.road === road && one.state === 'retrying')
  if (retrying.length === 0) return ''
  const count = retrying.reduce((sum, one) => sum + Number(one.count), 0)
  const nextAt = Math.min(...retrying.map((one) => Number(one.nextAt)))
  // Due, but not started yet: its lane or its receiver has no capacity.
  const time = nextAt <= Date.now() ? 'due now' : `at ${new Date(nextAt).toISOString().slice(11, 16)} UTC`
  if (isShort) return nextAt <= Date.now() ? `${count} retry now` : `${count} retry from ${time.slice(3)}`
  return `${counted(count, 'is', 'are')} tried again, next attempt ${time}`
}
