import { stoppingError } from '../../../src/core/errors.ts'
import { isJsonObject, type JsonObject, objectAt } from '../../../src/core/json.ts'
import type { NewMessage } from '../../../src/core/message.ts'
import { createInFlight } from '../../../src/lib/in-flight.ts'
import { inTime } from '../../../src/lib/pause.ts'
import { conversationOf } from '../conversation.ts'
import type { SlackDeps } from '../host.ts'
import type { SlackOptions } from '../options.ts'
import { STOP_ACTION } from '../outbound/post-blocks.ts'
import type { Workspaces } from '../workspaces/workspaces.ts'
import {
  type AcceptedPayload,
  type Delivery,
  type Draft,
  eventKey,
  lookupLimits,
  type Read,
} from './delivery.ts'
import { createFileFetcher } from './files.ts'
import { createPreparation } from './prepare.ts'
import { readEvent } from './read-event.ts'
import { readCommand, readInteraction } from './read-interaction.ts'

/** How long a stop waits for payloads in progress. */
const STOP_TIMEOUT_MS = 2_000
/** How long a message in preparation delays later ones of its conversation. */
const MAX_HOLD_MS = 2_000

export type SlackInbound = ReturnType<typeof createInbound>

/**
 * The receiving half of a Slack gateway. Most events need no data from Slack and go to `accept` in
 * the same turn: events that arrive in one chunk of the socket share one commit. Others wait for
 * names and files, but not longer than Slack waits for us. An event that still lacks something is
 * then refused if Slack will deliver it again, and otherwise accepted without it. `onAccepted` is
 * called for each newly accepted message.
 */
export function createInbound(
  options: SlackOptions,
  deps: SlackDeps,
  workspaces: Workspaces,
  onAccepted: (draft: Draft, accepted: AcceptedPayload) => void,
  groupsOf: (user: string) => string[] | undefined,
) {
  const files = createFileFetcher(options, deps)
  const prepare = createPreparation(deps, files, groupsOf)
  const inFlight = createInFlight()
  const takeTurn = createTurns()
  /** Set when payloads that were in progress at the stop must no longer be accepted. */
  let hasEnded = false

  /**
   * Takes a payload. Resolves when it may be acknowledged: its message is durable, or it is
   * ignored. Rejects if it must not be acknowledged, so that Slack delivers it again.
   */
  async function take(delivery: Delivery): Promise<AcceptedPayload | undefined> {
    if (inFlight.isStopping()) throw stoppingError()
    const draft = readPayload(delivery, options, workspaces)
    if ('ignored' in draft) return ignore(draft.ignored)
    if (draft.unwantedReason !== undefined && !isListening()) return ignore(draft.unwantedReason)
    const { timeout } = lookupLimits(delivery)
    const preparing = prepare(draft, delivery)
    // Clicks and commands do not queue, because a person is waiting.
    const hold = delivery.payload.event === undefined ? 0 : Math.min(MAX_HOLD_MS, timeout)
    const { turn, leave } = takeTurn(conversationOf(draft), preparing, hold)
    inFlight.enter()
    try {
      const [message] = await Promise.all([preparing, turn])
      if (hasEnded) throw stoppingError()
      return await accept(message, draft, delivery)
    } finally {
      leave()
      inFlight.leave()
    }
  }

  /**
   * Accepts a prepared message, or only calls the listeners of an event that is not accepted as a
   * message.
   */
  async function accept(message: NewMessage, draft: Draft, { payload }: Delivery) {
    if (draft.unwantedReason !== undefined) {
      const isCalled = await deps.listeners.call({ ...message, key: eventKey(payload) })
      return isCalled ? undefined : ignore(draft.unwantedReason)
    }
    const target = deps.listeners.targetOf(message)
    const isListened = target === 'listeners'
    const isFollowed = target === 'other' && canShowProgress(draft, options)
    // Marks the message so that the outcome of its dispatch can be awaited.
    if (isFollowed) message.data = { ...message.data, respond: 'result' }
    const isAnsweredByApp = isListened && !isOwnButton(draft)
    const accepted = { ...(await deps.accept(message)), isListened, isAnsweredByApp, isFollowed }
    if (!accepted.duplicate) onAccepted(draft, accepted)
    else if (isListened) await callForOtherEvent(accepted.id, message, payload, deps)
    return accepted
  }

  const isListening = () => deps.listeners.files().length > 0

  const ignore = (why: string) => void deps.log.debug({ why }, 'a Slack event is ignored')

  return {
    take,
    /**
     * Refuses new payloads. Resolves when all payloads in progress have an outcome, or after two
     * seconds. What is still in preparation is then refused. Slack delivers its events again, but
     * not clicks and commands.
     */
    async stop(): Promise<void> {
      await inTime(inFlight.stop(), AbortSignal.timeout(STOP_TIMEOUT_MS))
      hasEnded = true
      files.stop()
    },
  }
}

/**
 * Whether the gateway can show the progress of a draft. It does so only if something other than a
 * listener will answer: listeners control what the person sees.
 */
function canShowProgress({ ts, responseUrl, extra }: Draft, { progress }: SlackOptions): boolean {
  return progress !== 'off' && (ts ?? responseUrl) !== undefined && !extra.notice
}

/** A click on our Stop button needs no answer from the app: accepting it has already stopped the run. */
const isOwnButton = ({ extra }: Draft) => extra.action === STOP_ACTION

/**
 * Reads a payload by its content, which is the same over a socket and HTTP: an event, a command, or
 * else an interaction.
 */
function readPayload(delivery: Delivery, options: SlackOptions, workspaces: Workspaces): Read {
  const { event, command, user } = delivery.payload
  if (event === undefined && command !== undefined) return readCommand(delivery, options)
  if (event === undefined && isJsonObject(user)) return readInteraction(delivery, options)
  return readEvent(delivery, options, workspaces)
}

/** Keeps the messages of a conversation in order while they are prepared. */
export function createTurns() {
  /** The last message in preparation per conversation. */
  const tails = new Map<string, Promise<void>>()

  /**
   * `turn` resolves when earlier messages are prepared, or after `hold` ms; it is undefined if
   * there is nothing to wait for.
   */
  return (conversation: string, preparing: Promise<unknown>, hold: number) => {
    const before = tails.get(conversation)
    const isQueued = hold > 0
    const earlier = isQueued && before ? inTime(before, AbortSignal.timeout(hold)) : before
    // Later messages wait for this one and the earlier ones, also if this is a click, which does not
    // queue itself. Drops the results, which would keep all earlier messages in memory.
    const tail = Promise.allSettled([preparing, earlier]).then(() => {})
    tails.set(conversation, tail)
    const remove = () => {
      if (tails.get(conversation) === tail) tails.delete(conversation)
    }
    return { turn: isQueued ? earlier : undefined, leave: () => void tail.then(remove) }
  }
}

/**
 * Calls listeners for another event about an accepted post: the post is one message, but listeners
 * get each event.
 */
async function callForOtherEvent(
  id: string,
  message: NewMessage,
  payload: JsonObject,
  { listeners }: SlackDeps,
): Promise<void> {
  if (payload.event === undefined) return
  const key = eventKey(payload)
  const first = await listeners.messageOf(id)
  // With the same key, Slack has repeated the event, and the listeners already have it.
  if (first && eventKey(objectAt(first.data, 'payload')) !== key) await listeners.call({ ...message, key })
}
