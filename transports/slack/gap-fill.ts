import { reasonOf } from '../../src/core/errors.ts'
import type { JsonObject } from '../../src/core/json.ts'
import type { Health, TransportDeps } from '../../src/core/transport.ts'
import { formatDuration } from '../../src/core/units.ts'
import { backoff } from '../../src/lib/backoff.ts'
import { pause } from '../../src/lib/pause.ts'
import { objectAt, textAt } from './fields.ts'
import { createChannelFill } from './gap-channel.ts'
import { createMarks, KEPT, rememberThread, TICK } from './gap-marks.ts'
import { createGapReader } from './gap-read.ts'
import { BACKOFF, createRounds, LATELY } from './gap-rounds.ts'
import { workspaceOf } from './inbound/delivery.ts'
import type { Standing } from './inbound/draft.ts'
import type { PayloadKind, SlackInbound } from './inbound/inbound.ts'
import type { SlackOptions } from './options.ts'
import type { Workspaces } from './workspaces.ts'

/** What was missed while no socket was open, or the store was away, read back from Slack. */
export type GapFill = {
  /** Goes through `take` unchanged, and notes what is under way and what was refused. */
  watch<T>(kind: PayloadKind, payload: JsonObject, take: () => Promise<T>): Promise<T>
  /** Remembers how far a channel was read. */
  seen(where: Standing): void
  /** What is written from now on comes live; what was written before is read back. */
  connected(): void
  /**
   * Nothing comes live any more; what came until `since` (Unix ms) came whole. `announced`: it was Slack that renews the
   * connection.
   */
  lost(since: number, how: 'announced' | 'broken'): void
  /** For health: what is being read back; undefined where nothing is missing. */
  status(): Health | undefined
  /** Keeps what is remembered. */
  stop(): Promise<void>
}

/**
 * Slack renews a socket every few hours, and delivers again after a minute what it could not meanwhile. A renewal that
 * took no longer than this (ms) is no gap: a look at the most active channels is enough.
 */
const RENEWAL = 30_000
const MAX_RENEWED = 20
/** A channel that cannot be read for so long (ms) makes the gateway red. */
const STUCK = 300_000
const MAX_TYPES = 10_000

/** A message on its way in. `all`: Slack tells of all messages of its channel. */
type Spot = { team: string | undefined; channel: string; ts: number; all: boolean }

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
  /** Kinds of channels, which only events tell. */
  const types = new Map<string, string>()
  let live = false
  let isStopped = false
  /** The store has to be asked what it knows. */
  let isNew = false
  let connections = 0
  let isPreparing = false
  let isWanted = false
  let renewedAt: number | undefined
  let change = new AbortController()

  const stopped = () => isStopped
  const mayRead = () => live && !isNew && !isStopped
  const wait = (ms: number) => pause(ms, change.signal)
  const reader = createGapReader({ wait, stopped, now, log })
  const fill = createChannelFill({
    ...{ marks, workspaces, reader, inbound, reach, stopped, now, log },
    isLive: () => live,
  })
  const rounds = createRounds({ marks, fill, mayRead, wait, settle, reach, deps })

  function oldestUnderWay(): Map<string, number> {
    const oldest = new Map<string, number>()
    for (const { channel, ts } of underWay) oldest.set(channel, Math.min(ts, oldest.get(channel) ?? ts))
    return oldest
  }

  /** Whoever waits looks again. */
  function wake() {
    change.abort()
    if (!isStopped) change = new AbortController()
  }

  function refused({ team, channel: id, ts, all }: Spot) {
    if (team === undefined) return
    const since = ts - TICK
    const channel = marks.channel(team, id, since)
    const wasOpen = channel.open !== undefined
    channel.all ||= all
    marks.reopen(since, channel)
    rounds.startLater(channel)
    if (!wasOpen) wake()
    // Before anything is read the store is told of the gap, also while nothing can be read.
    if (!mayRead()) void prepare()
  }

  /** Tells the store of the gap, asks it what it knows, and begins to read. Never rejects. */
  async function prepare(): Promise<void> {
    isWanted = true
    if (isPreparing) return
    isPreparing = true
    for (let failures = 0; isWanted && !isStopped; ) {
      isWanted = false
      try {
        await marks.persistGap()
        if (live && isNew) await load()
        if (mayRead()) await settle()
        failures = 0
      } catch (error) {
        log.debug({ reason: reasonOf(error) }, 'how far Slack was read is not known yet')
        isWanted = true
        await wait(backoff(failures++, BACKOFF))
      }
    }
    isPreparing = false
    rounds.start()
  }

  /** What the store knows is asked for anew where the next connection came meanwhile. */
  async function load(): Promise<void> {
    const connection = connections
    await marks.load()
    if (connection === connections) isNew = false
  }

  async function settle(): Promise<void> {
    if (marks.open().length === 0) await marks.settle()
  }

  return {
    watch(kind, payload, take) {
      const spot = kind === 'event' ? spotOf(payload, workspaces) : undefined
      if (!spot) return take()
      underWay.add(spot)
      const type = textAt(objectAt(payload, 'event'), 'channel_type')
      if (type !== undefined) types.set(spot.channel, type)
      if (types.size > MAX_TYPES) types.clear()
      // Nothing of the payload is kept while the store takes its time: thousands may wait for it.
      const taking = take()
      taking.then(
        () => underWay.delete(spot),
        () => {
          underWay.delete(spot)
          refused(spot)
        },
      )
      return taking
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
      const isBrief = renewedAt !== undefined && now() - renewedAt <= RENEWAL
      if (renewedAt !== undefined && !isBrief) marks.reopen(renewedAt / 1000)
      renewedAt = undefined
      connections++
      isNew ||= !isBrief
      live = true
      wake()
      void prepare()
    },
    lost(since, how) {
      if (!live) return
      live = false
      if (how === 'announced') {
        renewedAt = since
        const active = marks.active(now() - LATELY).slice(0, MAX_RENEWED)
        for (const channel of active) marks.reopen(since / 1000, channel)
      } else marks.reopen(since / 1000)
      void prepare()
    },
    status() {
      const open = marks.open().length
      if (open === 0) return undefined
      const detail = `catching up: ${open} ${open === 1 ? 'channel' : 'channels'}`
      const { since = now(), reason = '' } = rounds.failing() ?? {}
      const failing = now() - since
      if (failing < STUCK) return { ok: true, detail }
      return { ok: false, detail: `${detail}, failing for ${formatDuration(failing)}: ${reason}` }
    },
    async stop() {
      isStopped = true
      wake()
      await marks.stop()
    },
  }
}

const NOTHING: GapFill = {
  watch: (_kind, _payload, take) => take(),
  seen: () => {},
  connected: () => {},
  lost: () => {},
  status: () => undefined,
  stop: async () => {},
}

/** Only what people write can be read back. */
function spotOf(payload: JsonObject, workspaces: Workspaces): Spot | undefined {
  const event = objectAt(payload, 'event')
  if (event.type !== 'message' && event.type !== 'app_mention') return undefined
  if (event.subtype === 'message_changed' || event.subtype === 'message_deleted') return undefined
  const channel = textAt(event, 'channel')
  const ts = Number(textAt(event, 'ts') ?? Number.NaN)
  if (channel === undefined || Number.isNaN(ts)) return undefined
  return { team: workspaceOf(payload, workspaces)?.team, channel, ts, all: event.type === 'message' }
}
