import { setTimeout as pause } from 'node:timers/promises'
import { TriviumError } from '../../../src/core/errors.ts'
import type { JsonObject } from '../../../src/core/json.ts'
import type { Accepted, NewMessage } from '../../../src/core/message.ts'
import type { TransportDeps } from '../../../src/core/transport.ts'
import { inTime } from '../../../src/lib/pause.ts'
import { conversationOf } from '../conversation.ts'
import type { SlackOptions } from '../options.ts'
import type { Workspace, Workspaces } from '../workspaces.ts'
import { type Delivery, deliveryOf, incomplete } from './delivery.ts'
import type { Draft, Read, Standing } from './draft.ts'
import { createFileFetcher, type FetchedFiles } from './fetch-files.ts'
import { messageOf } from './message-of.ts'
import { knownNames, lookUpNames } from './names.ts'
import { readEvent } from './read-event.ts'
import { readCommand, readInteraction } from './read-interaction.ts'
import type { Names } from './to-markdown.ts'
import { workspaceOf } from './workspace-of.ts'

/** The kinds of payload that Slack delivers, on either road. */
export type PayloadKind = 'event' | 'command' | 'interaction'

/** The receiving half of a Slack gateway, for sockets and HTTP alike. */
export type SlackInbound = {
  /**
   * Takes one payload. Resolves when it may be acknowledged: its message is durable, or it starts nothing.
   * Rejects: it must not be acknowledged, so that Slack delivers it again.
   */
  take(kind: PayloadKind, payload: JsonObject): Promise<Accepted | undefined>
  /**
   * Refuses from now on; resolves when all that was taken has an outcome, or after a moment: what still waits for a
   * file then is refused too, and Slack delivers it again.
   */
  stop(): Promise<void>
}

/** How long a stop waits for what was taken (ms). */
const PATIENCE = 2000
/** How long a message that is being prepared holds up those after it in its conversation (ms). */
const HOLD = 2000

/** What is told of each message that was accepted for the first time. */
export type OnAccepted = (where: Standing, accepted: Accepted, workspace: Workspace) => void

/**
 * Nearly every event needs nothing of Slack: its names are known and it has no files. Such an event goes to `accept`
 * in the turn in which it came, so that all events of one read share one commit of the store. Any other waits for Slack
 * as long as Slack waits for us. What is missing then (the name of its channel, by which routes may want it; a file) may
 * be there when the event comes again, so it is refused while it does; the last time it is taken as it is.
 */
export function createInbound(
  options: SlackOptions,
  deps: TransportDeps,
  workspaces: Workspaces,
  onAccepted: OnAccepted,
): SlackInbound {
  /** Slack repeats what takes long; a repetition waits for the first. */
  const underWay = new Map<string, Promise<Accepted>>()
  const files = createFileFetcher(options, deps)
  /** The last of each conversation that is being prepared: messages stay in order while names and files are awaited. */
  const tails = new Map<string, Promise<unknown>>()
  /** No more events; and later, nothing more of those that were taken. */
  let stopped = false
  let ended = false

  async function take(kind: PayloadKind, payload: JsonObject): Promise<Accepted | undefined> {
    if (stopped) throw stopping()
    const workspace = workspaceOf(payload, workspaces)
    if (!workspace) {
      deps.refused('unknown_team')
      return skip('its workspace has no bot token here')
    }
    const read = readPayload(kind, payload, workspace)
    if ('skip' in read) return skip(read.skip)
    const { draft } = read
    return underWay.get(draft.key) ?? begin(draft, workspace, accept(draft, workspace, kind, payload))
  }

  function begin(draft: Draft, workspace: Workspace, accepted: Promise<Accepted>): Promise<Accepted> {
    const { key } = draft
    const where = standingOf(draft)
    const accepting = accepted.then(
      (accepted) => {
        underWay.delete(key)
        if (!accepted.duplicate) onAccepted(where, accepted, workspace)
        return accepted
      },
      (error: unknown) => {
        underWay.delete(key)
        throw error
      },
    )
    underWay.set(key, accepting)
    return accepting
  }

  function readPayload(kind: PayloadKind, payload: JsonObject, workspace: Workspace): Read {
    if (kind === 'event') return readEvent(payload, workspace, options, workspaces)
    return kind === 'command'
      ? readCommand(payload, workspace.team, options, deps.now())
      : readInteraction(payload, workspace, options, deps.now())
  }

  function accept(
    draft: Draft,
    workspace: Workspace,
    kind: PayloadKind,
    payload: JsonObject,
  ): Promise<Accepted> {
    const before = tails.get(draft.conversation)
    const names = before || needsSlack(draft) ? undefined : knownNames(draft, workspace)
    if (names) return deps.accept(toMessage(draft, workspace, names))
    return acceptLater(before, draft, workspace, deliveryOf(kind, payload, deps.now()))
  }

  async function acceptLater(
    before: Promise<unknown> | undefined,
    draft: Draft,
    workspace: Workspace,
    delivery: Delivery,
  ): Promise<Accepted> {
    const hold = AbortSignal.timeout(Math.min(HOLD, delivery.patience))
    const turn = before && inTime(before, hold)
    const preparing = prepare(draft, workspace, delivery)
    const tail = inTime(Promise.allSettled([preparing, turn]), hold)
    tails.set(draft.conversation, tail)
    try {
      const [message] = await Promise.all([preparing, turn])
      if (ended) throw stopping()
      return await deps.accept(message)
    } finally {
      if (tails.get(draft.conversation) === tail) tails.delete(draft.conversation)
    }
  }

  async function prepare(draft: Draft, workspace: Workspace, delivery: Delivery): Promise<NewMessage> {
    const late = AbortSignal.timeout(delivery.patience)
    const [named, fetched, placed] = await Promise.all([
      lookUpNames(draft, workspace, late),
      draft.files.length === 0 ? undefined : files.fetch(draft.files, workspace, late),
      place(draft, workspace, late),
    ])
    const isWhole = named.isWhole && fetched?.isWhole !== false && placed !== undefined
    if (!isWhole && delivery.comesAgain) throw leftForLater(draft)
    return toMessage(placed ?? draft, workspace, named.names, fetched)
  }

  function leftForLater({ channel, ts }: Draft): TriviumError {
    deps.refused('incomplete')
    deps.log.info({ channel, ts }, 'an event of Slack is left for later: not all that it needs could be read')
    return incomplete()
  }

  function toMessage(draft: Draft, workspace: Workspace, names: Names, fetched?: FetchedFiles): NewMessage {
    // So marked, how the dispatch of a message ends can be waited for; progress reactions do.
    const awaited = draft.source !== undefined && options.progress !== 'off'
    return messageOf(deps.gateway, draft, workspace, { names, fetched, awaited })
  }

  function skip(why: string): undefined {
    deps.log.debug({ why }, 'an event of Slack starts nothing')
    return undefined
  }

  return {
    take,
    async stop() {
      stopped = true
      const patience = new AbortController()
      const late = pause(PATIENCE, undefined, { signal: patience.signal }).catch(() => undefined)
      await Promise.race([Promise.allSettled(underWay.values()), late])
      patience.abort()
      ended = true
      files.stop()
    },
  }
}

function stopping(): TriviumError {
  return new TriviumError('store_unavailable', { store: 'gateway', reason: 'the daemon is stopping' })
}

function standingOf({ team, channel, ts, thread, source }: Draft): Standing {
  return {
    team,
    ...(channel === undefined ? {} : { channel }),
    ...(ts === undefined ? {} : { ts }),
    ...(thread === undefined ? {} : { thread }),
    ...(source === undefined ? {} : { source }),
  }
}

function needsSlack({ files, threadUnknown }: Draft): boolean {
  return files.length > 0 || threadUnknown === true
}

/**
 * A reaction belongs to the conversation of the message that it is on, which may be inside a thread. Undefined where
 * Slack could not tell in time.
 */
async function place(draft: Draft, workspace: Workspace, late: AbortSignal): Promise<Draft | undefined> {
  const { channel, ts, team } = draft
  if (!draft.threadUnknown || channel === undefined || ts === undefined) return draft
  const known = await workspace.directory.threadOf(channel, ts, late)
  if (!known) return undefined
  const thread = known.name ?? ts
  return {
    ...draft,
    thread,
    conversation: conversationOf({ team, channel, thread }),
    target: { ...draft.target, thread },
  }
}
