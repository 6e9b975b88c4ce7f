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

/** How long a stop waits for what was taken (ms). */
const LAST_WAIT = 2000
/** How long a message that is being prepared holds up those after it in its conversation (ms). */
const HOLD = 2000

export type SlackInbound = ReturnType<typeof createInbound>

/**
 * The receiving half of a Slack gateway. An event that needs nothing of Slack, as nearly all, goes to `accept` in the turn in
 * which it came, so that all of one read share one commit of the store. Any other waits as long as Slack waits for us. What
 * is missing then (a file; the name of its channel, by which routes may want it) may be there when the event comes again, so
 * it is refused while it does. `onAccepted` is told of each message that is accepted for the first time.
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
  /** The last of each conversation that is being prepared: messages stay in order while names and files are awaited. */
  const tails = new Map<string, Promise<unknown>>()
  /** Nothing more is accepted of what was taken before the stop. */
  let ended = false

  /**
   * Takes one payload. Resolves when it may be acknowledged: its message is durable, or it starts nothing.
   * Rejects: it must not be acknowledged, so that Slack delivers it again.
   */
  async function take(delivery: Delivery): Promise<TakenIn | undefined> {
    if (inFlight.isStopping()) throw stoppingError()
    const draft = readPayload(delivery, options, workspaces)
    if (typeof draft === 'string') return unheard(draft)
    if (draft.unwanted !== undefined && !isListening()) return unheard(draft.unwanted)
    const conversation = conversationOf(draft)
    const { patience } = patienceWith(delivery)
    // A person waits for what is done with a click or a command.
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
      // Listeners say what the person sees, and when; what nobody answers has no progress.
      const isShown = options.progress !== 'off' && (draft.ts ?? draft.responseUrl) !== undefined
      const isFollowed = isShown && !draft.extra.notice && route !== undefined && !isListened
      // So marked, how its dispatch ends can be waited for.
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

  /** Slack tells of one post by several events. On the roads it is one message; listeners hear each event. */
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
      // What is on no road needs no artifacts: the app fetches what it wants.
      draft.files?.length && draft.unwanted === undefined
        ? files.fetch(draft.files, workspace, patience)
        : undefined,
      // A reaction belongs to the conversation of the message that it is on, which may be inside a thread.
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
    // Who calls the bot may go on before it has answered.
    if (draft.mention && draft.unwanted === undefined) void threads.join(channel, placed.thread)
    // Commands and clicks say names, too, though not as people see them, and no private channel's.
    const said = (of: string) => textAt(payload, `${of}_name`) ?? textAt(payload, `${of}.name`)
    const name = draft.userName ?? names.get(user) ?? said('user')
    const isSaid = !/^(privategroup|directmessage)$/.test(said('channel') ?? '')
    const channelName = names.get(channel) ?? (isSaid ? said('channel') : undefined)
    const external = isExternal(delivery) || undefined
    const previous = textAt(draft.extra, 'previousText')
    // Nobody of another workspace is in a group of this one.
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
     * Refuses from now on; resolves when all that was taken has an outcome, or after a moment: what still waits for a
     * file then is refused too, and Slack delivers it again.
     */
    async stop(): Promise<void> {
      await inTime(inFlight.stop(), AbortSignal.timeout(LAST_WAIT))
      ended = true
      files.stop()
    },
  }
}

/** What a payload is shows in what it holds, over a socket as in HTTP mode; all but an event and a command is somebody's. */
function readPayload(delivery: Delivery, options: SlackOptions, workspaces: Workspaces): Read {
  const { event, command, user } = delivery.payload
  if (event === undefined && command !== undefined) return readCommand(delivery, options)
  if (event === undefined && isJsonObject(user)) return readInteraction(delivery, options)
  return readEvent(delivery, options, workspaces)
}

/**
 * Names for all that a draft mentions; who has none is not among them. `areKnown`: Slack has told those of its own channel
 * and author, which may decide who answers, within `patience` ms. Nothing is waited for where all are known.
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
    // Those whom it only mentions decide nothing.
    if (name === undefined && [draft.channel, draft.user].includes(id)) areKnown = false
  }
  await Promise.all(Array.from(ids, look))
  return { names, areKnown }
}
