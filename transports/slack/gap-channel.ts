import { reasonOf, TriviumError } from '../../src/core/errors.ts'
import type { JsonObject } from '../../src/core/json.ts'
import type { Log } from '../../src/core/log.ts'
import { slackFailure } from './failure.ts'
import { textAt } from './fields.ts'
import { type Channel, KEPT, type Marks } from './gap-marks.ts'
import type { GapReader } from './gap-read.ts'
import { isIncomplete, LAST_RETRY, SLACK_IS_DONE } from './inbound/delivery.ts'
import type { SlackInbound } from './inbound/inbound.ts'
import { tokenFault } from './token-fault.ts'
import type { Workspaces } from './workspaces.ts'

/**
 * What came of reading one channel. `late`: something in it is not whole yet, and Slack may still deliver it. `failed`:
 * this channel could not be read. `barred`: nothing of its workspace can be, for `wait` ms.
 */
export type Filled =
  | { end: 'done' }
  | { end: 'late' }
  | { end: 'failed'; reason: string }
  | { end: 'barred'; reason: string; wait: number }

/** Takes what may have been missed in a channel, and closes it where nothing is missing any more. Never rejects. */
export type FillChannel = (channel: Channel) => Promise<Filled>

/**
 * Slack may deliver late and in another order, and its clock may differ from ours: so much is read again (s). What
 * is known is recognised by its key.
 */
const OVERLAP = 60
/** A token that Slack does not accept is tried again so soon (ms). */
const TOKEN = 60_000
/** Each message of which something is missing costs 2 s: the others come first after so many. */
const MAX_LATE = 3
/** As long as a file is being downloaded (ms), its message is left for it. */
const PATIENCE = 330_000

export function createChannelFill(options: {
  marks: Marks
  workspaces: Pick<Workspaces, 'find'>
  reader: GapReader
  inbound: Pick<SlackInbound, 'take'>
  /** How far back is read, in ms. */
  reach: number
  /** False while nothing comes live: a channel is not closed then. */
  isLive(): boolean
  stopped(): boolean
  now(): number
  log: Log
}): FillChannel {
  const { marks, workspaces, reader, inbound, reach, now, log } = options
  /** When each message of which something was missing was first left (Unix ms). */
  const leftAt = new WeakMap<Channel, Map<string, number>>()

  /** A message that is refused for good must not hold up the others. */
  const takeOne = async (payload: JsonObject): Promise<'taken' | 'late'> => {
    try {
      await inbound.take('event', payload)
    } catch (error) {
      if (isIncomplete(error)) return 'late'
      if (!(error instanceof TriviumError) || error.retryable) throw error
      log.warn({ err: error }, 'a message of Slack that was missed cannot be taken')
    }
    return 'taken'
  }

  /** How many were left for later. Those that were before come last, so that they keep no other waiting. */
  const takeAll = async (channel: Channel, events: readonly JsonObject[]): Promise<number> => {
    const before = leftAt.get(channel)
    const left = new Map<string, number>()
    const tsOf = (event: JsonObject) => textAt(event, 'ts') ?? ''
    const inOrder = [
      ...events.filter((event) => !before?.has(tsOf(event))),
      ...events.filter((event) => before?.has(tsOf(event))),
    ]
    for (const event of inOrder) {
      if (options.stopped()) break
      const ts = tsOf(event)
      const since = before?.get(ts) ?? now()
      const isDone = now() - Number(ts) * 1000 > SLACK_IS_DONE && now() - since > PATIENCE
      const payload = { type: 'event_callback', team_id: channel.team, event }
      const end = await takeOne(isDone ? { ...payload, retry_attempt: LAST_RETRY } : payload)
      if (end === 'late') left.set(ts, since)
      if (left.size === MAX_LATE) break
    }
    // Of what its turn did not come to this time, it is still known since when it waits.
    if (left.size > 0) leftAt.set(channel, new Map([...(before ?? []), ...left]))
    else leftAt.delete(channel)
    return left.size
  }

  return async (channel) => {
    const { team, id, turn, mark = 0, first, open = now() } = channel
    const workspace = workspaces.find(team)
    if (!workspace) {
      marks.leave(channel)
      return { end: 'done' }
    }
    const from = Math.max(mark - OVERLAP, first, (open - reach) / 1000, (now() - KEPT) / 1000)
    let found: Awaited<ReturnType<GapReader['read']>>
    try {
      found = await reader.read(channel, workspace, from)
    } catch (error) {
      const failure = slackFailure(error)
      const { reason } = failure
      if (failure.kind === 'rate-limited') return { end: 'barred', reason, wait: failure.seconds * 1000 }
      if (tokenFault(error) !== undefined) return { end: 'barred', reason, wait: TOKEN }
      if (failure.kind !== 'rejected') return { end: 'failed', reason }
      // Of a channel that cannot be read at all there is nothing to take.
      log.debug({ channel: id, reason }, 'a channel of Slack cannot be read')
      marks.leave(channel)
      return { end: 'done' }
    }
    try {
      if ((await takeAll(channel, found.events)) > 0) return { end: 'late' }
    } catch (error) {
      return { end: 'failed', reason: reasonOf(error) }
    }
    if (options.stopped() || !options.isLive() || turn !== channel.turn) return { end: 'done' }
    if (found.events.length > 0) {
      log.info({ channel: id, read: found.events.length }, 'read in Slack what may have been missed')
    }
    marks.close(channel, found.readTo)
    return { end: 'done' }
  }
}
