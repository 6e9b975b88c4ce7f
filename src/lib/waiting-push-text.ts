import { counted } from './counted.ts'

/** What a push has still to send of somebody's messages, as `person-show` has it. */
export type WaitingPushInfo = {
  name: string
  count: number
  replayed?: number
  /** There may be others. */
  more?: boolean
  /** Set if it is paused, or its attempts fail. */
  state?: string
  failingSince?: number
  reason?: string
}

/** `3 messages wait to be sent again to crm-sync by a replay`, and those that were never sent. */
export function waitingPushTexts({ name, count, replayed = 0, more }: WaitingPushInfo): string[] {
  const fresh = count - replayed
  const wait = (many: number) =>
    `${more ? 'at least ' : ''}${counted(many, 'message')} ${many === 1 ? 'waits' : 'wait'} to be sent`
  return [
    ...(fresh > 0 ? [`${wait(fresh)} to ${name}`] : []),
    ...(replayed > 0 ? [`${wait(replayed)} again to ${name} by a replay`] : []),
  ]
}

/** Why they wait: the word of the state, its colour, and the last error, or who paused it. */
export function whyPushWaits({ state, reason }: WaitingPushInfo): {
  said: string
  kind: string
  why?: string
} {
  const why = reason === undefined ? {} : { why: reason }
  if (state === undefined) return { said: 'waiting', kind: 'dim' }
  if (state === 'active') return { said: 'retrying', kind: 'warn', ...why }
  return { said: state, kind: state === 'paused' ? 'warn' : 'bad', ...why }
}
