import { counted } from './counted.ts'
import { handledSince, sinceCounts } from './later-word.ts'

/** The parts of a long job that the words need. */
type Job = {
  kind: string
  state: string
  target: { do?: unknown; messages?: unknown }
  done: number
  total: number
  later?: unknown
  outcomes?: object | undefined
  result?:
    | {
        left?: readonly string[]
        records?: unknown
        count?: unknown
        withdrawn?: unknown
        withdrawnFrom?: unknown
        erased?: unknown
      }
    | undefined
}

/**
 * What a cancelled or failed job did not do, and what to do to finish, as sentences. None for other
 * jobs.
 */
export function unfinished(job: Job): string[] {
  const { kind, state, target, done, total, result, later } = job
  if (state !== 'cancelled' && state !== 'failed') return []
  const left = Math.max(0, total - done)
  if (kind === 'person-erase') return unfinishedErasure(total, target, result)
  if (kind === 'dead-letters') {
    const again = withdrawnLetters(job)
    if (left === 0) return again
    const [verb, past] = target.do === 'drop' ? ['drop', 'dropped'] : ['retry', 'retried']
    const isOne = left === 1
    return [
      `${left} of ${counted(total, 'dead letter')} ${isOne ? 'was' : 'were'} not ${past}, and ${isOne ? 'stays a dead letter' : 'stay dead letters'}.`,
      ...again.slice(0, 1),
      `To finish, ${verb} those that still match.`,
    ]
  }
  return kind === 'replay' ? unfinishedReplay(left, total, { result, later }) : []
}

function withdrawnLetters(job: Pick<Job, 'result' | 'outcomes' | 'later'>): string[] {
  const many = Number(job.result?.withdrawn ?? 0)
  if (many === 0) return []
  const left = withdrawnLeft(job)
  const [is, was, it] =
    many === 1
      ? ['is a dead letter', 'was a dead letter', 'it']
      : ['are dead letters', 'were dead letters', 'them']
  const messages = counted(many, 'message')
  if (left === many)
    return [`${messages} ${is} again, as before the retry.`, `To go on, retry ${it} in the dead letters.`]
  const since = sinceCounts(laterOfWithdrawn(job.later)).map(({ count, word }) => `${count} ${word}`)
  const became = since.length === 0 ? '' : ` Since then: ${since.join(', ')}.`
  const were = `${messages} ${was} again, as before the retry.${became}`
  if (left === 0) return [were]
  return [
    were,
    `To go on, retry the ${left === 1 ? 'one that is' : `${left} that are`} left in the dead letters.`,
  ]
}

function laterOfWithdrawn(later: unknown): unknown[] {
  return (Array.isArray(later) ? later : []).filter((each) => Object(each).withdrawn === true)
}

/** The most letters of a retry whose outcomes are known. */
const MOST_LETTERS = 1_000

/** How many messages of a cancelled retry still are the dead letters that they became again. */
function withdrawnLeft({ result, outcomes, later }: Pick<Job, 'result' | 'outcomes' | 'later'>): number {
  const many = Number(result?.withdrawn ?? 0)
  const areKnown = outcomes !== undefined && Number(result?.count ?? 0) <= MOST_LETTERS
  // Some may have been erased since.
  const open = areKnown ? Math.min(many, Number(Object(outcomes).withdrawn ?? 0)) : many
  return Math.max(0, open - handledSince(later).withdrawn)
}

/** Whether nothing is left to do for what a cancelled or failed job left. */
export function isFinishedSince(job: Job): boolean {
  if (job.kind === 'replay') return replayedSince(job.later).count > 0 && deliverable(job) === 0
  return job.kind === 'dead-letters' && job.done >= job.total && withdrawnLeft(job) === 0
}

function unfinishedReplay(left: number, total: number, job: Pick<Job, 'result' | 'later'>): string[] {
  const many = Number(job.result?.withdrawn ?? 0)
  if (left === 0 && many === 0) return []
  return [
    ...(left > 0 ? [`The job did not get to ${left} of ${counted(total, 'event')} of the range.`] : []),
    ...(many > 0 ? withdrawnEvents(many, job) : []),
    ...(many > 0
      ? []
      : ['To finish, replay the rest of the range: events that it replayed would come again.']),
  ]
}

function withdrawnEvents(many: number, job: Pick<Job, 'result' | 'later'>): string[] {
  const { count: again, areDelivered } = replayedSince(job.later)
  const since = `${areDelivered ? 'delivered' : 'replayed again'} since`
  const left = deliverable(job)
  const erased = Number(job.result?.erased ?? 0)
  const rest = Math.max(0, many - erased)
  const gone = erased > 0 ? [`${erased} ${erased === 1 ? 'was' : 'were'} erased since.`] : []
  const were = [
    `${counted(many, 'event')} ${many === 1 ? 'was' : 'were'} withdrawn before the delivery.`,
    ...gone,
  ]
  if (rest === 0) return were
  if (again >= rest && erased > 0) return [...were, `All others were ${since}.`]
  if (again >= rest) return [...were, `${rest === 1 ? 'It was' : 'All were'} ${since}.`]
  if (again > 0) return [...were, `${again} ${again === 1 ? 'was' : 'were'} ${since}, ${rest - again} not.`]
  const they = erased > 0 ? `The other ${rest === 1 ? 'one' : rest}` : many === 1 ? 'It' : 'They'
  if (left > 0)
    return [
      ...were,
      `${they} can still be delivered, without ${erased > 0 ? 'the rest of the range' : 'the others'}.`,
    ]
  return [...were, 'To deliver them all the same, replay the range again: delivered events would come again.']
}

/** How many of the events that a cancelled replay withdrew were replayed later, and whether all of these were delivered. */
export function replayedSince(later: unknown): { count: number; areDelivered: boolean } {
  const replays = (Array.isArray(later) ? later : []).filter((each) => Object(each).do === 'replay')
  const count = replays.reduce<number>((sum, each) => sum + Number(Object(each).count), 0)
  return { count, areDelivered: replays.every((each) => Object(each).delivered === true) }
}

/** Maximum number of a replay's withdrawn events that are known by id. */
const MOST_KNOWN = 999

/** How many events a cancelled replay withdrew that can still be delivered, without the others. */
export function deliverable({ result = {}, later }: Pick<Job, 'result' | 'later'>): number {
  const many = Number(result.withdrawn ?? 0)
  const erased = Number(result.erased ?? 0)
  // An erasure may have removed the first one.
  const isKnown = many <= MOST_KNOWN && (result.withdrawnFrom !== undefined || erased > 0)
  return isKnown ? Math.max(0, many - erased - replayedSince(later).count) : 0
}

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
