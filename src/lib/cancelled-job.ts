import { counted } from './counted.ts'
import { retriedWord } from './retried-words.ts'

/** The parts of a cancelled job that the words need. */
type Job = {
  kind?: unknown
  target?: object
  withdrawing?: unknown
  outcomes?: object | undefined
  result?: unknown
  done?: unknown
  total?: unknown
}

/**
 * What became of what a cancelled job had queued: `12 delivered, 257 withdrawn, 2 were being
 * sent`. Undefined if it is not known, or nothing was queued.
 */
export function cancelledText({ kind, withdrawing, outcomes = {}, result, ...job }: Job): string | undefined {
  if (kind === 'person-erase') return erasedText(Number(Object(result).records ?? 0), job)
  const known: ReadonlyMap<string, unknown> = new Map(Object.entries(outcomes))
  const part = new Map<string, unknown>([...Object.entries(Object(result)), ...known])
  const of = (name: string) => Number(part.get(name) ?? 0)
  const isPending = withdrawing === true
  const isRetry = kind === 'dead-letters'
  if (isPending && !(isRetry && part.has('withdrawn'))) return 'what it queued is still being withdrawn'
  if (!part.has('withdrawn')) return undefined
  // The outcomes are those of the first letters.
  if (isRetry) return retryText(known, Number(Object(result).withdrawn ?? 0), isPending)
  return [
    of('delivered') > 0 && `${of('delivered')} delivered`,
    of('read') > 0 && `${of('read')} read`,
    `${of('withdrawn')} withdrawn`,
    of('leased') > 0 && `${of('leased')} ${of('leased') === 1 ? 'was' : 'were'} being read`,
    of('interrupted') > 0 && `${of('interrupted')} ${of('interrupted') === 1 ? 'was' : 'were'} being sent`,
    of('kept') > 0 && `${of('kept')} kept for a later replay`,
    of('dead') > 0 && `${of('dead')} dead`,
  ]
    .filter(Boolean)
    .join(', ')
}

/** `100 records erased, in 7 of 20 places`: how far it got. */
function erasedText(records: number, { done, total }: Pick<Job, 'done' | 'total'>): string {
  return `${counted(records, 'record')} erased, ${done} of ${counted(total, 'place')} searched`
}

/** `12 done, 1 failed again, 4 are dead letters again, 1 is running, and is not tried again`. */
function retryText(outcomes: ReadonlyMap<string, unknown>, withdrawn: number, isPending: boolean): string {
  const of = (name: string) => Number(outcomes.get(name) ?? 0)
  const isAre = (many: number) => (many === 1 ? 'is' : 'are')
  const own = ['done', 'dead', 'withdrawn', 'running']
  const others = [...outcomes].filter(([name, many]) => !own.includes(name) && Number(many) > 0)
  return [
    of('done') > 0 && `${of('done')} done`,
    of('dead') > 0 && `${of('dead')} failed again`,
    (withdrawn > 0 || !isPending) &&
      `${withdrawn} ${withdrawn === 1 ? 'is a dead letter' : 'are dead letters'} again`,
    of('running') > 0 &&
      `${of('running')} ${isAre(of('running'))} running${isPending ? ', and not tried again' : ''}`,
    ...others.map(([name, many]) => `${many} ${retriedWord(name, Number(many))}`),
  ]
    .filter(Boolean)
    .join(', ')
}

/** Whether retried messages of a job run, or wait: for their turn, a pause or another attempt. */
export function isStoppable({ target = {}, outcomes = {} }: Pick<Job, 'target' | 'outcomes'>): boolean {
  const running = Number(Object(outcomes).running ?? 0)
  return 'do' in target && target.do === 'retry' && waitingOf(outcomes) + running > 0
}

/** How many retried messages wait. */
export function waitingOf(outcomes: object): number {
  const known: ReadonlyMap<string, unknown> = new Map(Object.entries(outcomes))
  return Number(known.get('waiting') ?? 0) + Number(known.get('retrying') ?? 0)
}
