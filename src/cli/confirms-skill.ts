import { type JsonObject, objectsIn } from '../core/json.ts'
import { letterGroups } from '../engine/print/dead-letters.ts'
import { skippedTimes } from '../engine/print/events.ts'
import { replayCountText } from '../engine/print/jobs.ts'
import { counted } from '../lib/counted.ts'
import { paragraph } from '../lib/paragraph.ts'
import { type Confirmation, confirms } from './confirms.ts'
import type { Connection } from './connection.ts'
import type { Terminal } from './terminal.ts'

type Daemon = Pick<Connection, 'invoke'>
type Bulk = Omit<Confirmation, 'yes'>

/** Makes the question about an invocation; undefined if none is necessary. */
type Asks = (name: string, args: JsonObject, daemon: Daemon) => Promise<Bulk | undefined>

/**
 * Built-in skills that may act on everything. At a terminal they ask. Without one they need `--yes`,
 * unless the arguments say how much is meant: a range, a filter, `--since all`, or `seek --to`.
 */
export const CONFIRMED: Readonly<Record<string, Asks>> = {
  'dead-letter-bulk': lettersOf,
  'event-replay': replayOf,
  'event-seek': seekOf,
  'event-skip': seekOf,
  'subscription-replay': replayOf,
}

/** The help of `--yes` for a skill in `CONFIRMED`. */
export function helpOfYes(name: string): string {
  if (name === 'event-seek' || name === 'event-skip') return 'do not ask at a terminal'
  const when = name === 'dead-letter-bulk' ? 'to drop, or without a filter' : 'without a range'
  return `do not ask; required ${when} if there is no terminal`
}

/** `confirms`, for a skill in `CONFIRMED`. Other skills need no confirmation. */
export async function confirmsSkill(
  name: string,
  args: JsonObject,
  daemon: Daemon,
  { terminal, yes }: { terminal: Terminal; yes: boolean },
): Promise<boolean> {
  const asks = Object.hasOwn(CONFIRMED, name) && !yes ? CONFIRMED[name] : undefined
  const bulk = await asks?.(name, args, daemon)
  return bulk === undefined || confirms(terminal, { yes, ...bulk })
}

/** `dead-letter bulk`. */
async function lettersOf(_: string, { do: verb, reason: __, ...filter }: JsonObject, daemon: Daemon) {
  const groups = objectsIn(await daemon.invoke('dead-letter-groups', filter))
  const count = groups.reduce((sum, group) => sum + Number(group.count), 0)
  if (count === 0) return undefined
  return {
    isRequired: verb === 'drop' || Object.keys(filter).length === 0,
    what: `${verb} ${counted(count, 'dead letter')}`,
    about: letterGroups(groups),
    question: `${verb === 'drop' ? 'Drop' : 'Retry'} all of these? (y/N) `,
    hint: '`trivium dead-letter groups` shows the causes.',
  }
}

const ENDS = ['since', 'until', 'from', 'to', 'withdrawn']

/** A replay without a range. */
async function replayOf(name: string, args: JsonObject, daemon: Daemon) {
  if (args.dryRun === true || ENDS.some((end) => args[end] !== undefined)) return undefined
  const counts: JsonObject = Object(await daemon.invoke(name, { ...args, dryRun: true }))
  const { redelivered, more } = counts
  if (Number(redelivered ?? 0) === 0 && more !== true) return undefined
  const many = `${more === true ? 'at least ' : ''}${counted(redelivered, 'event')}`
  return {
    isRequired: true,
    what: `deliver all retained events again: ${many}`,
    about: paragraph('', replayCountText(counts)),
    question: `Deliver all of these to ${args.name ?? args.queue} again? (y/N) `,
    hint: '`--since 2h` selects a range; `--since all` means all of them.',
  }
}

/** Moving a group to an end of its topic, or skipping unread events. The command says what is meant. */
async function seekOf(name: string, args: JsonObject, daemon: Daemon) {
  if (args.dryRun === true) return undefined
  const counts = Object(await daemon.invoke(name, { ...args, dryRun: true }))
  const { redelivered = 0, skipped = 0, more } = counts
  const isSkip = Number(skipped) > 0
  const count = isSkip ? skipped : redelivered
  if (Number(count) === 0) return undefined
  const many = `${more === true ? 'At least ' : ''}${counted(count, 'event')}`
  const what = isSkip ? `be skipped${skippedTimes(counts)}` : 'be delivered again'
  return {
    isRequired: false,
    what: `${isSkip ? 'skip events of' : 'move'} group ${args.queue} of topic ${args.topic}`,
    about: `${many} would ${what}.`,
    question: isSkip ? 'Skip them? (y/N) ' : `Move the group ${args.queue}? (y/N) `,
    hint: '',
  }
}
