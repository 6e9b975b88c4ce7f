import { shownAuthor } from '../../core/author.ts'
import type { Trouble } from '../../core/trouble.ts'
import { HOUR } from '../../core/units.ts'
import type { LastRead } from '../../engine/group-last-reads.ts'
import { commandText } from '../../lib/command-text.ts'
import { counted } from '../../lib/counted.ts'
import { noReaderText } from '../../lib/no-reader.ts'
import type { StoredReadings } from './readings.ts'
import { dayAndTime, warning } from './trouble-parts.ts'

/** Events of a group that was read before may wait for this long (ms). */
export const MAX_QUIET = HOUR
/** Events may wait for this many times as long as usual: some groups are read once a day. */
const USUAL_FACTOR = 2

/** How long (ms) a group may be without a reader while events wait. */
function quietOf({ usualWait = 0 }: LastRead): number {
  return Math.max(MAX_QUIET, usualWait * USUAL_FACTOR)
}

/**
 * A group that had a reader, and has none any more: events wait, and nobody has read for longer than
 * `quietOf`. `at`: Unix ms.
 */
export function stalledTrouble(
  { topic, group, behind, oldestAt, lastRead }: StoredReadings['groups'][number],
  at: number,
): Trouble | undefined {
  if (behind === 0 || lastRead === undefined || oldestAt === undefined) return undefined
  const quiet = quietOf(lastRead)
  if (at - lastRead.at < quiet || at - oldestAt < quiet) return undefined
  const title = `Group ${group} has no reader`
  const wait = counted(behind, 'event waits', 'events wait')
  const last = { since: dayAndTime(lastRead.at), by: shownAuthor(lastRead.by) }
  const text = `${wait} in ${topic}. ${noReaderText(last)}`
  const show = commandText('group show', group, '--topic', topic)
  const todo = `Start its reader; retention removes unread events. ${show} has the backlog.`
  return warning('group-stalled', { topic, group }, { title, text, todo, count: behind, since: oldestAt })
}
