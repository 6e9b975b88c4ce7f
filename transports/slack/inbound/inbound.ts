import { stoppingError, TriviumError } from '../../../src/core/errors.ts'
import { isJsonObject, objectAt, textAt } from '../../../src/core/json.ts'
import { completeMessage, type NewMessage } from '../../../src/core/message.ts'
import type { Route } from '../../../src/core/route.ts'
import { defined } from '../../../src/lib/defined.ts'
import { createInFlight } from '../../../src/lib/in-flight.ts'
import { inTime } from '../../../src/lib/pause.ts'
import { conversationOf, targetSchema } from '../conversation.ts'
import type { SlackDeps } from '../host.ts'
import type { SlackOptions } from '../options.ts'
import type { Workspace, Workspaces } from '../workspaces.ts'
import { idsIn, mrkdwnToMarkdown } from './content.ts'
import {
  type Delivery,
  type Draft,
  eventKey,
  isExternal,
  patienceWith,
  type Read,
  type TakenIn,
} from './delivery.ts'
import { createFileFetcher } from './files.ts'
import { isDirect, readEvent } from './read-event.ts'
import { readCommand, readInteraction } from './read-interaction.ts'

/** How long (ms) a stop waits for payloads in progress. */
const LAST_WAIT = 2000
/** How long (ms) a message in preparation delays later ones of its conversation. */
const HOLD = 2000

export type SlackInbound = ReturnType<typeof createInbound>

/**
 * The receiving half of a Slack gateway. Most events need no data from Slack and go to `accept` in the same turn, so that the events of
 * one socket read share one commit. Others wait for names and files as long as Slack waits for us. If something is still missing,
 * the event is refused as long as Slack will deliver it again. `onAccepted` is called for each newly accepted message.
 */
export function createInbound(
  options: SlackOptions,
  deps: SlackDeps,
  workspaces: Workspaces,
  onAccepted: (draft: Draft, taken: TakenIn) => void,
  groupsOf: (user: string) => string[] | undefined,
) {
  const files = createFileFetcher(options, deps)
  const inFlight = createInFlight()
  /** The last message in preparation per conversation, which keeps messages in order. */
  const tails = new Map<string, Promise<unknown>>()
  /** Set when payloads taken before the stop must no longer be accepted. */
  let ended = false

  /**
   * Takes a payload. Resolves when it may be acknowledged: its message is durable, or it is ignored. Rejects if it must not be
   * acknowledged, so that Slack delivers it again.
   */
  async function take(delivery: Delivery): Promise<TakenIn | undefined> {
    if (inFlight.isStopping()) throw stoppingError()
    const draft = readPayload(delivery, options, workspaces)
    if (typeof draft === 'string') return unheard(draft)
    if (draft.unwanted !== undefined && !isListening()) return unheard(draft.unwanted)
    const conversation = conversationOf(draft)
    const { patience } = patienceWith(delivery)
    // Clicks and commands do not queue, as a person is waiting.
    const before = delivery.payload.event === undefined ? undefined : tails.get(conversation)
    const preparing = prepare(draft, delivery)
    const turn = before && inTime(before, AbortSignal.timeout(Math.min(HOLD, patience)))
    const tail = Promise.allSettled([preparing, turn])
    tails.set(conversation, tail)
    inFlight.enter()
    try {
      const [message] = await Promise.all([preparing, turn])
      if (ended) throw stoppingError()
      const head = { id: '', gateway: deps.gateway, receivedAt: deps.now() }
      const route = deps.router.match(completeMessage(head, message))
      const isListened = route?.bolt !== undefined
      if (draft.unwanted !== undefined) {
        if (!isListened) return unheard(draft.unwanted)
        await deps.listeners.call(route, { ...message, key: eventKey(delivery.payload) })
        return undefined
      }
      // Listeners control what the person sees; unanswered messages show no progress.
      const isShown = options.progress !== 'off' && (draft.ts ?? draft.responseUrl) !== undefined
      const isFollowed = isShown && !draft.extra.notice && route !== undefined && !isListened
      // Marks the message so that the outcome of its dispatch can be awaited.
      if (isFollowed) message.data = { ...message.data, respond: 'result' }
      const taken = { ...(await deps.accept(message)), isListened, isFollowed }
      if (!taken.duplicate) onAccepted(draft, taken)
      else if (isListened) await callAgain(taken.id, route, message, delivery)
      return taken
    } finally {
      if (tails.get(conversation) === tail) tails.delete(conversation)
      inFlight.leave()
    }
  }

  const isListening = () => deps.router.routes().some(({ bolt }) => bolt !== undefined)

  const unheard = (why: string) => void deps.log.debug({ why }, 'an event of Slack starts nothing')

  /** Passes on further events about the same post: they are one message on the roads, but listeners get each event. */
  async function callAgain(id: string, route: Route, message: NewMessage, { payload }: Delivery) {
    if (payload.event === undefined) return
    const key = eventKey(payload)
    const first = await deps.listeners.accepted(id)
    if (first && eventKey(objectAt(first.data, 'payload')) !== key)
      await deps.listeners.call(route, { ...message, key })
  }

  async function prepare(draft: Draft, delivery: Delivery): Promise<NewMessage> {
    const { channel, ts, user, inThread } = draft
    const { workspace, payload } = delivery
    const { threads, directory } = workspace
    const { patience, comesAgain } = patienceWith(delivery)
    const [{ names, areKnown }, fetched, found, isMine, context] = await Promise.all([
      namesFor(draft, workspace, patience),
      // Events outside the roads need no artifacts: the app fetches files itself.
      draft.files?.length && draft.unwanted === undefined
        ? files.fetch(draft.files, workspace, patience)
        : undefined,
      // A reaction belongs to the conversation of its message, which may be in a thread.
      draft.threadUnknown ? directory.threadOf(channel, ts ?? '', patience) : '',
      inThread === 'unknown' ? threads.has(channel, draft.thread ?? '') : inThread === 'mine',
      draft.thread && isDirect(channel) && !draft.startsThread
        ? threads.context(channel, draft.thread, draft.extra.context)
        : draft.extra.context,
    ])
    if (
      comesAgain &&
      draft.unwanted === undefined &&
      !(areKnown && fetched?.isWhole !== false && found !== undefined)
    ) {
      const reason = 'not all that the event needs could be read in time'
      deps.refused('incomplete', { from: draft.user, why: reason, body: draft.content?.text })
      deps.log.info({ channel, ts, reason }, 'an event of Slack is left for later')
      throw new TriviumError('store_unavailable', { store: 'Slack', reason })
    }
    const placed = { ...draft, thread: found || draft.thread }
    // The person may write again before the bot has answered.
    if (draft.mention && draft.unwanted === undefined) void threads.join(channel, placed.thread)
    // Commands and clicks contain names too, but not display names, and none of private channels.
    const said = (of: string) => textAt(payload, `${of}_name`) ?? textAt(payload, `${of}.name`)
    const name = draft.userName ?? names.get(user) ?? said('user')
    const isSaid = !/^(privategroup|directmessage)$/.test(said('channel') ?? '')
    const channelName = names.get(channel) ?? (isSaid ? said('channel') : undefined)
    const external = isExternal(delivery) || undefined
    const previous = textAt(draft.extra, 'previousText')
    // People of other workspaces are in no group of this one.
    const groups = external ? undefined : groupsOf(user)
    return {
      gateway: deps.gateway,
      transport: 'slack',
      conversation: conversationOf(placed),
      key: draft.key,
      from: defined({ id: user, name, address: user, verified: true, external, groups }),
      to: channelName ?? channel,
      text: mrkdwnToMarkdown(draft.content?.text ?? '', names),
      attachments: fetched?.attachments ?? [],
      data: defined({
        event: draft.event,
        team: workspace.team,
        teamName: workspace.name,
        channel: channelName === undefined ? [channel] : [channel, channelName],
        thread: placed.thread,
        mine: isMine || undefined,
        ts,
        direct: isDirect(channel),
        mention: draft.mention ?? false,
        ...draft.content?.shown,
        ...draft.extra,
        ...defined({ previousText: previous && mrkdwnToMarkdown(previous, names) }),
        context,
        files: fetched?.files,
        replyTarget: defined(targetSchema.parse(placed)),
        payload,
      }),
    }
  }

  return {
    take,
    /**
     * Refuses new payloads. Resolves when all payloads in progress have an outcome, or after a moment: those still waiting for a
     * file are then refused too, and Slack delivers them again.
     */
    async stop(): Promise<void> {
      await inTime(inFlight.stop(), AbortSignal.timeout(LAST_WAIT))
      ended = true
      files.stop()
    },
  }
}

/** Reads a payload by its content, which is the same over a socket and HTTP: an event, a command, or else an interaction. */
function readPayload(delivery: Delivery, options: SlackOptions, workspaces: Workspaces): Read {
  const { event, command, user } = delivery.payload
  if (event === undefined && command !== undefined) return readCommand(delivery, options)
  if (event === undefined && isJsonObject(user)) return readInteraction(delivery, options)
  return readEvent(delivery, options, workspaces)
}

/**
 * Resolves names for all ids in a draft. `areKnown`: the names of its channel and author, which may affect routing, were found within
 * `patience` ms. Does not wait if all names are known.
 */
async function namesFor(draft: Draft, { directory, botUser }: Workspace, patience: number) {
  const ids = idsIn(draft.content?.text ?? '')
  ids.delete(botUser)
  if (draft.userName === undefined && /^[UW]/.test(draft.user)) ids.add(draft.user)
  if (/^[CG]/.test(draft.channel)) ids.add(draft.channel)
  const names = new Map<string, string>()
  let areKnown = true
  const look = async (id: string) => {
    const name = await directory.nameOf(id, patience)
    if (name) names.set(id, name)
    // Names of mentioned people do not affect routing.
    if (name === undefined && [draft.channel, draft.user].includes(id)) areKnown = false
  }
  await Promise.all(Array.from(ids, look))
  return { names, areKnown }
}
