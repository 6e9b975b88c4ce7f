import { counted } from './counted.ts'

/** The parts of a long job that the words need. */
type Job = {
  kind: string
  state: string
  target: { do?: unknown; messages?: unknown }
  done: number
  total: number
  result?:
    | { left?: readonly string[]; records?: unknown; withdrawn?: unknown; withdrawnFrom?: unknown }
    | undefined
}

/**
 * What a cancelled or failed job did not do, and what to do to finish, as sentences. None for other
 * jobs.
 */
export function unfinished({ kind, state, target, done, total, result }: Job): string[] {
  if (state !== 'cancelled' && state !== 'failed') return []
  const left = Math.max(0, total - done)
  if (kind === 'person-erase') return unfinishedErasure(total, target, result)
  if (kind === 'dead-letters') {
    const again = withdrawnLetters(result)
    if (left === 0) return again
    const [verb, past] = target.do === 'drop' ? ['drop', 'dropped'] : ['retry', 'retried']
    const isOne = left === 1
    return [
      `${left} of ${counted(total, 'dead letter')} ${isOne ? 'was' : 'were'} not ${past}, and ${isOne ? 'stays a dead letter' : 'stay dead letters'}.`,
      ...again.slice(0, 1),
      `To finish, ${verb} those that still match.`,
    ]
  }
  return kind === 'replay' ? unfinishedReplay(left, total, result) : []
}

function withdrawnLetters({ withdrawn = 0 }: Result = {}): string[] {
  const many = Number(withdrawn)
  if (many === 0) return []
  const [is, it] = many === 1 ? ['is a dead letter', 'it'] : ['are dead letters', 'them']
  return [
    `${counted(many, 'message')} ${is} again, as before the retry.`,
    `To go on, retry ${it} in the dead letters.`,
  ]
}

function unfinishedReplay(left: number, total: number, result: Result = {}): string[] {
  const many = Number(result.withdrawn ?? 0)
  if (left === 0 && many === 0) return []
  return [
    ...(left > 0 ? [`The job did not get to ${left} of ${counted(total, 'event')} of the range.`] : []),
    ...(many > 0
      ? [`${counted(many, 'event')} ${many === 1 ? 'was' : 'were'} withdrawn before the delivery.`]
      : []),
    many > 0
      ? canDeliverWithdrawn(result)
        ? `${many === 1 ? 'It' : 'They'} can still be delivered, without the others.`
        : 'To deliver them all the same, replay the range again: delivered events would come again.'
      : 'To finish, replay the rest of the range: events that it replayed would come again.',
  ]
}

/** Maximum number of a replay's withdrawn events that are known by id. */
const MOST_KNOWN = 999

/** Whether the withdrawn events of a replay can be delivered separately. */
export function canDeliverWithdrawn({ withdrawn = 0, withdrawnFrom }: Result = {}): boolean {
  const many = Number(withdrawn)
  return many > 0 && many <= MOST_KNOWN && withdrawnFrom !== undefined
}

type Result = NonNullable<Job['result']>

function unfinishedErasure(
  total: number,
  { messages }: Job['target'],
  { left, records, withdrawn }: NonNullable<Job['result']> = {},
): string[] {
  const again = messages === undefined ? 'erase the person again' : 'erase the messages again'
  const gone = records === 0 ? 'Nothing was erased yet.' : 'What was erased until then is gone.'
  const finish = [`To finish, ${again}. ${gone}`, ...resendWithdrawn(withdrawn)].join(' ')
  if (left === undefined) return [finish]
  if (left.length === 0)
    return ['Every place was searched, but not again for what was written meanwhile.', finish]
  if (left.length >= total) return [`None of ${counted(total, 'place')} was searched completely.`, finish]
  const were = left.length === 1 ? 'was' : 'were'
  return [
    `${left.length} of ${counted(total, 'place')} ${were} not searched completely: ${left.join(', ')}.`,
    finish,
  ]
}

/** How to handle messages that an erasure took out of the queue, and did not erase. */
function resendWithdrawn(count: unknown): string[] {
  if (count === undefined) return []
  return [
    count === 1
      ? 'If you do not, resend the message that was taken out of the queue: it is dropped, and no skill gets it.'
      : `If you do not, resend the ${count} messages that were taken out of the queue: they are dropped, and no skill gets them.`,
  ]
}

/** `2 messages that waited`, which an erasure took out of the queue. */
export function waitedText(count: unknown): string {
  return `${counted(count, 'message')} that waited`
}

/** The same as a sentence without its end; undefined without such messages. */
export function withdrawnText({ withdrawn }: { withdrawn?: unknown }): string | undefined {
  if (withdrawn === undefined) return undefined
  return `${waitedText(withdrawn)} ${withdrawn === 1 ? 'was' : 'were'} taken out of the queue`
}

/** Whether a running erasure has searched all places once, and now does so again or cleans up. */
export function isSearchingAgain({ kind, state, done, total }: Omit<Job, 'target'>): boolean {
  return kind === 'person-erase' && state === 'running' && done >= total
}

/** Whether an erasure ended without erasing anything. */
export function isNothingErased(result: unknown): boolean {
  const { records, left, withdrawn }: Record<string, unknown> = Object(result)
  return records === 0 && left !== undefined && withdrawn === undefined
}
