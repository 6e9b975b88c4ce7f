import { reasonOf, TriviumError } from '../../src/core/errors.ts'
import type { JsonObject } from '../../src/core/json.ts'
import type { TransportDeps } from '../../src/core/transport.ts'
import { slackFailure } from './failure.ts'
import { objectAt, textAt } from './fields.ts'
import { type Channel, createMarks, KEPT, rememberThread, TICK } from './gap-marks.ts'
import { createGapReader, type GapReader } from './gap-read.ts'
import type { Standing } from './inbound/draft.ts'
import type { PayloadKind, SlackInbound } from './inbound/inbound.ts'
import { workspaceOf } from './inbound/workspace-of.ts'
import type { SlackOptions } from './options.ts'
import { tokenFault } from './token-fault.ts'
import type { Workspace, Workspaces } from './workspaces.ts'

/** What was missed while no socket was open, or the store was away, read back from Slack. */
export type GapFill = {
  /** Goes through `take` unchanged, and notes what is under way and what was refused. */
  watch<T>(kind: PayloadKind, payload: JsonObject, take: () => Promise<T>): Promise<T>
  /** Remembers how far a channel was read. */
  seen(where: Standing): void
  /** What is written from now on comes live; what was written before is read back. */
  connected(): void
  /** Nothing comes live any more; what came until `since` (Unix ms) came whole. */
  lost(since: number): void
  /** For health: what is being read back; undefined where nothing is missing. */
  status(): string | undefined
  /** Keeps what is remembered. */
  stop(): Promise<void>
}

/**
 * Slack may deliver late and in another order, and its clock may differ from ours: so much is read again (s). What
 * is known is recognised by its key.
 */
const OVERLAP = 60
const BACKOFF = { first: 500, longest: 60_000 }
/** Slack or the store is away where this many channels fail one after the other: the others would too. */
const ENOUGH = 3

const MAX_TYPES = 10_000

/** A message on its way in. */
type Spot = { channel: string; ts: number }

/**
 * Slack delivers again what was not acknowledged, but not for ever, and not to an app that was away for longer. So each
 * channel has a mark on the store: every message up to it was taken. What comes live moves the mark only while nothing
 * is missing. A lost connection, a start or a refused message opens the channel: it is read from its mark on, at most
 * `fill-gaps` back and the newest 500 messages, again and again until that succeeds; only then the mark moves on.
 */
export function createGapFill(
  options: SlackOptions,
  deps: TransportDeps,
  workspaces: Workspaces,
  inbound: Pick<SlackInbound, 'take'>,
): GapFill {
  const { now, log } = deps
  if (options['fill-gaps'] === 'off') return NOTHING
  const reach = Math.min(options['fill-gaps'], KEPT)
  const underWay = new Set<Spot>()
  const marks = createMarks(deps, { reach, underWay: oldestUnderWay })
  const stopping = new AbortController()
  const stopped = () => stopping.signal.aborted
  let wake = () => {}
  const reader = createGapReader({ wait, stopped, now, log })
  /** Kinds of channels, which only events tell. */
  const types = new Map<string, string>()
  let live = false
  let isNew = false
  let isStuck = false
  let isRunning = false

  function oldestUnderWay(): Map<string, number> {
    const oldest = new Map<string, number>()
    for (const { channel, ts } of underWay) oldest.set(channel, Math.min(ts, oldest.get(channel) ?? ts))
    return oldest
  }

  function refused({ channel: id, ts }: Spot, payload: JsonObject) {
    const workspace = workspaceOf(payload, workspaces)
    if (!workspace) return
    const since = ts - TICK
    const channel = marks.channel(workspace.team, id, since)
    if (textAt(objectAt(payload, 'event'), 'type') === 'message') channel.all = true
    marks.reopen(since, channel)
    // What refused it is not well yet.
    start(BACKOFF.first)
  }

  function start(delay = 0) {
    if (isRunning || stopped()) return
    isRunning = true
    void run(delay)
  }

  /** Never rejects. */
  async function run(delay: number): Promise<void> {
    if (delay > 0) await wait(delay)
    for (let failures = 0; !stopped(); ) {
      const trouble = await pass()
      if (!trouble && (!live || (!isNew && marks.open().length === 0))) break
      failures = trouble ? failures + 1 : 0
      if (trouble && !isStuck && !stopped()) {
        isStuck = true
        log.warn(
          { reason: trouble.reason },
          'what was missed in Slack could not be read; trying again until it can',
        )
      }
      await wait(trouble?.wait ?? backoff(failures))
    }
    isRunning = false
  }

  /** Fills what is open; resolves with what stood in the way. */
  async function pass(): Promise<Trouble | undefined> {
    try {
      await marks.persistGap()
      if (!live) return undefined
      await load()
      const trouble = await fillAll()
      if (trouble || !live || isNew || marks.open().length > 0) return trouble
      await marks.settle()
      if (isStuck) log.info({}, 'all that was missed in Slack was read')
      isStuck = false
      return undefined
    } catch (error) {
      return { reason: reasonOf(error) }
    }
  }

  async function load(): Promise<void> {
    if (!isNew) return
    isNew = false
    try {
      await marks.load()
    } catch (error) {
      isNew = true
      throw error
    }
  }

  async function fillAll(): Promise<Trouble | undefined> {
    let trouble: Trouble | undefined
    let failed = 0
    for (const channel of marks.open()) {
      if (stopped() || !live || isNew) break
      const found = await fill(channel)
      trouble = found ?? trouble
      failed = found ? failed + 1 : 0
      if (found?.wait !== undefined || failed >= ENOUGH) break
    }
    return trouble
  }

  async function fill(channel: Channel): Promise<Trouble | undefined> {
    const { team, id, turn, mark = 0, first, open = now() } = channel
    const workspace = workspaces.find(team)
    if (!workspace) {
      marks.leave(channel)
      return undefined
    }
    if (open < now() - reach) {
      log.error({ channel: id }, 'what was missed in Slack is too long ago to be read')
      marks.close(channel, mark)
      return undefined
    }
    const from = Math.max(mark - OVERLAP, first, (now() - reach) / 1000)
    const found = await read(channel, workspace, from)
    if (!found || 'reason' in found) return found
    try {
      for (const event of found.events) {
        if (stopped()) return undefined
        await takeOne({ type: 'event_callback', team_id: team, event })
      }
    } catch (error) {
      return { reason: reasonOf(error) }
    }
    if (found.events.length > 0) {
      log.info({ channel: id, read: found.events.length }, 'read in Slack what may have been missed')
    }
    if (!stopped() && live && turn === channel.turn) marks.close(channel, found.readTo)
    return undefined
  }

  /** What may pass is tried again; of a channel that cannot be read at all there is nothing to take. */
  async function read(
    channel: Channel,
    workspace: Workspace,
    from: number,
  ): Promise<Found | Trouble | undefined> {
    try {
      return await reader.read(channel, workspace, from)
    } catch (error) {
      const failure = slackFailure(error)
      const { reason } = failure
      if (failure.kind === 'rate-limited') return { reason, wait: failure.seconds * 1000 }
      if (failure.kind !== 'rejected' || tokenFault(error) !== undefined) return { reason }
      log.debug({ channel: channel.id, reason }, 'a channel of Slack cannot be read')
      marks.leave(channel)
      return undefined
    }
  }

  /** A message that is refused for good must not hold up the others. */
  async function takeOne(payload: JsonObject): Promise<void> {
    try {
      await inbound.take('event', payload)
    } catch (error) {
      if (!(error instanceof TriviumError) || error.retryable) throw error
      log.warn({ err: error }, 'a message of Slack that was missed cannot be taken')
    }
  }

  /** Resolves after so many ms, or earlier when a connection was made, or at the end. */
  function wait(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(done, ms)
      stopping.signal.addEventListener('abort', done)
      wake = done
      function done() {
        clearTimeout(timer)
        stopping.signal.removeEventListener('abort', done)
        resolve()
      }
    })
  }

  return {
    async watch(kind, payload, take) {
      const spot = kind === 'event' ? spotOf(payload) : undefined
      if (!spot) return take()
      underWay.add(spot)
      const type = textAt(objectAt(payload, 'event'), 'channel_type')
      if (type !== undefined) types.set(spot.channel, type)
      if (types.size > MAX_TYPES) types.clear()
      try {
        const taken = await take()
        underWay.delete(spot)
        return taken
      } catch (error) {
        underWay.delete(spot)
        refused(spot, payload)
        throw error
      }
    },
    seen({ channel: id, team, ts, thread, source }) {
      if (source === undefined || !id || !ts) return
      const at = Number(ts)
      const channel = marks.channel(team, id, at)
      if (at > channel.newest) channel.newest = at
      if (source === 'message') channel.all = true
      const type = types.get(id)
      if (type !== undefined) channel.type = type
      if (thread !== undefined) rememberThread(channel, thread, at)
      marks.touch(channel)
    },
    connected() {
      live = true
      isNew = true
      wake()
      start()
    },
    lost(since) {
      if (!live) return
      live = false
      marks.reopen(since / 1000)
      start()
    },
    status() {
      const open = marks.open().length
      return open === 0 ? undefined : `catching up: ${open} ${open === 1 ? 'channel' : 'channels'}`
    },
    async stop() {
      stopping.abort()
      await marks.stop()
    },
  }
}

type Found = Awaited<ReturnType<GapReader['read']>>

/** Why a pass ended early, and for how long Slack wants to be left alone (ms). */
type Trouble = { reason: string; wait?: number }

const NOTHING: GapFill = {
  watch: (_kind, _payload, take) => take(),
  seen: () => {},
  connected: () => {},
  lost: () => {},
  status: () => undefined,
  stop: async () => {},
}

/** Only what people write can be read back. */
function spotOf(payload: JsonObject): Spot | undefined {
  const event = objectAt(payload, 'event')
  if (event.type !== 'message' && event.type !== 'app_mention') return undefined
  if (event.subtype === 'message_changed' || event.subtype === 'message_deleted') return undefined
  const channel = textAt(event, 'channel')
  const ts = Number(textAt(event, 'ts') ?? Number.NaN)
  return channel === undefined || Number.isNaN(ts) ? undefined : { channel, ts }
}

function backoff(failures: number): number {
  const delay = Math.min(BACKOFF.longest, BACKOFF.first * 2 ** failures)
  return delay * (0.5 + Math.random() / 2)
}
