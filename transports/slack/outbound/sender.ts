import type { ModalView } from '@slack/web-api'
import { z } from 'zod'
import { TriviumError } from '../../../src/core/errors.ts'
import { type JsonObject, textAt } from '../../../src/core/json.ts'
import { type Probed, type Receipt, type Reply, SendPostponed } from '../../../src/core/transport.ts'
import { defined } from '../../../src/lib/defined.ts'
import { ifRefused, slackFailure } from '../api.ts'
import { conversationOf, type Target, targetOf } from '../conversation.ts'
import type { SlackDeps } from '../host.ts'
import type { SlackOptions } from '../options.ts'
import type { Workspaces } from '../workspaces.ts'
import { type createCalls, KEPT } from './calls.ts'
import { type Extras, handOverBlock, type Post, postsOf, readExtras } from './extras.ts'
import { openDirect } from './find-posts.ts'
import { addBlock } from './fit-blocks.ts'
import { hashOf } from './methods.ts'
import { postAll, type Sending, type Sent, sentSchema, shareFiles } from './posts.ts'
import { directChannel, isPrivate, isShutOut, whisper } from './private.ts'
import { createStreams } from './stream.ts'

/** How long (ms) the place of an opened modal is remembered. */
const MODAL_KEPT = 7 * 86_400_000

/** The place in which a modal was opened. */
const placeSchema = z.object({ channel: z.string(), thread: z.string().exactOptional() })

/** Posts that a reply takes over; `after` is called afterwards. */
type Earlier = { channel: string; posted: readonly string[]; after?(): Promise<void> }

/** Errors for the outbox by kind of failure: permanent, to be probed first, or retryable. */
const SEND_ERRORS = { rejected: 'send_rejected', unknown: 'send_ambiguous', unsent: 'send_failed' } as const

/** The sending half of a Slack gateway. */
export function createSender(
  options: Pick<SlackOptions, 'handover'>,
  deps: SlackDeps,
  workspaces: Workspaces,
  { during, doubt }: ReturnType<typeof createCalls>,
) {
  const { gateway, kv } = deps
  const stopping = new AbortController()
  const streams = createStreams(deps, workspaces, stopping.signal)
  /** Keys of sends that may have happened without a record in the store. */
  const unsure = new Set<string>()
  const modalName = (view: string) => `slack/${gateway}/modal/${view}`
  const sentName = (key: string) => `slack/${gateway}/sent/${hashOf(key)}`
  const read = async (key: string) => sentSchema.optional().parse((await kv.get(sentName(key)))?.value)
  const keep = (key: string, sent: Sent) => kv.set(sentName(key), sent, { ttl: KEPT })

  async function begin(reply: Reply): Promise<Sending> {
    await workspaces.ready()
    const target = targetOf(reply, workspaces.only()?.team)
    const workspace = target && (await workspaces.find(target.team))
    if (!workspace) throw noPlace(reply, target)
    const extras = readExtras(reply)
    // Direct messages need a channel. A modal needs none, and must be opened within three seconds.
    const isUser = /^[UW][A-Z0-9]+$/.test(target.channel) && !isModalOnly(reply, extras)
    return {
      reply,
      extras,
      posts: options.handover ? withTakeOver(reply, extras, target) : postsOf(reply, extras),
      workspace,
      target: isUser ? { ...target, channel: await openDirect(target.channel, workspace) } : target,
      // Approval requests belong to no conversation.
      sent: {
        posted: [],
        ...(extras.approval ? {} : defined({ conversation: reply.conversation, thread: target.thread })),
      },
    }
  }

  async function deliver(sending: Sending): Promise<void> {
    const { reply, extras, sent, target, workspace } = sending
    const { approval, view } = extras
    // Files cannot be ephemeral, so everything goes to direct messages, or nothing is sent.
    const direct = reply.attachments?.length && isPrivate(sending) ? await directChannel(sending) : undefined
    if (view) await openModal(view, sending)
    if (isModalOnly(reply, extras)) return
    const earlier = approval?.status === 'pending' ? undefined : await takenOver(sending)
    if (earlier) {
      await postAll(sending, { ...target, channel: earlier.channel }, earlier.posted)
      await earlier.after?.()
    } else await show(sending)
    const place = { ...target, channel: sent.channel ?? target.channel }
    await shareFiles(sending, direct === undefined ? place : { channel: direct }, deps.artifacts)
    if (!isPrivate(sending)) await workspace.threads.join(place.channel, target.thread)
  }

  /**
   * Opens a modal (https://docs.slack.dev/surfaces/modals), on top of the modal that was clicked, and stores its place, which Slack
   * does not report later.
   */
  async function openModal(view: ModalView, { workspace, target, sent }: Sending): Promise<void> {
    const { triggerId, inModal, channel, thread, responseUrl } = target
    if (triggerId === undefined) {
      const reason =
        'a modal can only answer a slash command, a button, a select, a shortcut or another modal'
      throw new TriviumError('send_rejected', { gateway, reason })
    }
    const answer = await workspace.api.views[inModal ? 'push' : 'open']({ trigger_id: triggerId, view })
    sent.view = answer.view?.id ?? ''
    // An ephemeral interaction is not answered in the channel.
    if (responseUrl === undefined && !/^[UW]/.test(channel))
      await kv.set(modalName(sent.view), defined({ channel, thread }), { ttl: MODAL_KEPT })
  }

  /** Posts a reply. Approval requests are visible to the channel, as approvers must see them. */
  async function show(sending: Sending): Promise<void> {
    const isQuestion = sending.extras.approval?.status === 'pending'
    if (!isQuestion && isPrivate(sending)) return whisper(sending)
    try {
      await postAll(sending, sending.target)
    } catch (error) {
      if (!isPrivate(sending) || !isShutOut(error)) throw error
      await whisper(sending)
    }
  }

  /** Existing posts that the reply takes over: of an earlier reply, or of its stream. */
  async function takenOver(sending: Sending): Promise<Earlier | undefined> {
    const { reply, extras, posts, target, sent, workspace } = sending
    if (posts.length === 0 || extras.ephemeral !== undefined) return undefined
    const { update, approval } = extras
    // `gateway-send` prefixes given keys.
    const given =
      update === undefined ? [] : [update, `${gateway}:${update}`, `answer:${reply.inReplyTo}:${update}`]
    // The daemon's key of the approval request.
    for (const key of approval ? [`approval:${approval.id}`] : given) {
      const earlier = await read(key)
      if (!earlier?.posted.length) continue
      // Ephemeral posts cannot be changed.
      if (earlier.seenBy !== undefined) return undefined
      const { posted, channel = target.channel } = earlier
      if (approval ? channel !== target.channel : !standsHere(earlier, reply, target)) continue
      // The next replacement must find the current posts.
      const after = async () => {
        // Deletes surplus posts of a longer reply, if they still exist and may be deleted.
        for (const ts of posted.filter((each) => !sent.posted.includes(each)))
          await workspace.api.chat.delete({ channel, ts }).catch(ifRefused)
        await keep(key, { ...earlier, posted: sent.posted })
      }
      return { channel, posted, after }
    }
    if (update !== undefined) {
      const reason = `no post was sent with the key ${update} through this gateway in this conversation, so there is none to replace`
      throw new TriviumError('send_rejected', { gateway, reason })
    }
    if (approval || target.responseUrl !== undefined || reply.to !== undefined) return undefined
    const begun = await streams.claim(sending)
    return begun && { channel: begun.channel, posted: [begun.ts] }
  }

  return {
    stream: streams.show,
    streamed: streams.end,
    close: () => stopping.abort(),
    /** The place in which an interaction's modal was opened; undefined if it is ephemeral. */
    async placeOf(payload: JsonObject) {
      const view = textAt(payload, 'view.id')
      return placeSchema.safeParse(view && (await kv.get(modalName(view)))?.value).data
    },
    async send(reply: Reply): Promise<Receipt> {
      const { key } = reply
      try {
        const known = await read(key)
        if (known) return receiptOf(known)
        const sending = await begin(reply)
        const { workspace, target, sent } = sending
        const { signal } = stopping
        const run = { key, workspace, signal, responseUrls: [target.responseUrl], isUnsure: unsure.has(key) }
        await during(run, () => deliver(sending))
        signal.throwIfAborted()
        sent.channel ??= target.channel
        await keep(key, sent)
        unsure.delete(key)
        return receiptOf(sent)
      } catch (error) {
        if (error instanceof TriviumError) throw error
        const { kind: failed, seconds, reason } = slackFailure(error)
        if (failed === 'rate-limited') throw new SendPostponed(seconds * 1000)
        // The failed call may be invisible, such as an upload.
        const isDoubtful = await doubt(key).then(
          ({ mayBeMade }) => mayBeMade,
          () => true,
        )
        const kind = failed === 'unknown' && !isDoubtful ? 'unsent' : failed
        throw new TriviumError(SEND_ERRORS[kind], { gateway, key, reason }, { cause: error })
      }
    },
    /** The next `send` checks for existing posts. */
    async probe({ key }: Reply): Promise<Probed> {
      const known = await read(key)
      if (known) return { sent: true, receipt: receiptOf(known) }
      if ((await doubt(key)).isUnclear) return { sent: 'unknown' }
      unsure.add(key)
      return { sent: false }
    },
  }
}

function noPlace({ gateway, to, conversation }: Reply, target: Target | undefined): TriviumError {
  const reason = target
    ? `there is no bot token for the workspace ${target.team}`
    : `${to ?? conversation} is no place in Slack; expected CHANNEL or CHANNEL/THREAD`
  return new TriviumError('send_rejected', { gateway, reason })
}

/** The posts of a reply. A reply that is visible to all ends with the take-over button. */
function withTakeOver(reply: Reply, extras: Extras, { responseUrl }: Target): Post[] {
  const posts = postsOf(reply, extras)
  const isOwn = extras.approval !== undefined || extras.handover !== undefined
  const isShown = posts.length > 0 && extras.ephemeral === undefined && responseUrl === undefined
  if (reply.inReplyTo !== undefined && isShown && !isOwn)
    addBlock(posts, handOverBlock(reply.conversation, 'take'))
  return posts
}

/**
 * Whether a reply may replace an earlier one, as keys can be guessed: it must belong to the same conversation, or to the one in which
 * the earlier one was clicked. Approval requests belong to none.
 */
function standsHere(
  { conversation, channel = '', thread, posted }: Sent,
  reply: Reply,
  { team }: Target,
): boolean {
  if (conversation === undefined) return false
  const clicked = [thread, posted[0]].map((root) => conversationOf({ team, channel, thread: root }))
  return [conversation, ...clicked].includes(reply.conversation)
}

/** Whether a reply consists of a modal only, and posts nothing in the channel. */
function isModalOnly({ text, attachments = [] }: Reply, { view, blocks }: Extras): boolean {
  return view !== undefined && text === '' && blocks === undefined && attachments.length === 0
}

function receiptOf({ channel = '', posted, files, view }: Sent): Receipt {
  const id = `${channel}/${posted[0] ?? files?.[0] ?? view ?? ''}`
  return { id, data: defined({ channel, ts: posted, files, view }) }
}
