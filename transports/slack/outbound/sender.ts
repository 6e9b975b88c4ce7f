import type { ModalView } from '@slack/web-api'
import { z } from 'zod'
import { TriviumError } from '../../../src/core/errors.ts'
import { type JsonObject, textAt } from '../../../src/core/json.ts'
import {
  type Probed,
  type Receipt,
  type Reply,
  SendPostponed,
  type TransportDeps,
} from '../../../src/core/transport.ts'
import { defined } from '../../../src/lib/defined.ts'
import { slackFailure } from '../api.ts'
import { conversationOf, type Target, targetOf } from '../conversation.ts'
import type { Workspaces } from '../workspaces.ts'
import { type Extras, postsOf, readExtras } from './extras.ts'
import { createSentLog, findPosts, handOver, postAll, type Sending, type Sent, shareFiles } from './posts.ts'
import { directChannel, isPrivate, isShutOut, openDirect, whisper } from './private.ts'
import { createStreams } from './stream.ts'

/** For so long a modal may stay open and still belong to where it was opened (ms). */
const MODAL_KEPT = 7 * 86_400_000

/** Where a modal was opened. */
const placeSchema = z.object({ channel: z.string(), thread: z.string().exactOptional() })

/** What a write that failed is to the outbox: given up, looked for first, or tried again. */
const SEND_ERRORS = { rejected: 'send_rejected', unknown: 'send_ambiguous', unsent: 'send_failed' } as const

/** The sending half of a Slack gateway. */
export function createSender(deps: TransportDeps, workspaces: Workspaces) {
  const { gateway, kv } = deps
  const log = createSentLog(kv, gateway)
  const streams = createStreams(deps, workspaces)
  const nameOf = (view: string) => `slack/${gateway}/modal/${view}`

  async function begin(reply: Reply): Promise<Sending> {
    await workspaces.ready()
    const target = targetOf(reply, workspaces.only()?.team)
    const workspace = target && (await workspaces.find(target.team))
    if (!workspace) {
      const reason = target
        ? `there is no bot token for the workspace ${target.team}`
        : `${reply.to ?? reply.conversation} is no place in Slack; expected CHANNEL or CHANNEL/THREAD`
      throw new TriviumError('send_rejected', { gateway, reason })
    }
    const extras = readExtras(reply)
    const sent = await log.read(reply.key)
    if (!extras.approval)
      Object.assign(sent, defined({ conversation: reply.conversation, thread: target.thread }))
    // Who is written to directly has a channel for it, and only there can a post be looked for. A modal needs no
    // channel, and there are three seconds to open it.
    const isUser = /^[UW][A-Z0-9]+$/.test(target.channel) && !isModalOnly(reply, extras)
    return {
      reply,
      extras,
      posts: postsOf(reply, extras),
      workspace,
      target: isUser ? { ...target, channel: await openDirect(target.channel, workspace) } : target,
      sent,
      save: () => log.write(reply.key, sent),
    }
  }

  async function deliver(sending: Sending): Promise<void> {
    const { reply, extras, sent, target, workspace } = sending
    const { approval, view } = extras
    // Files cannot be shown to one person in a channel. Where they cannot go, none of it is shown.
    const direct = reply.attachments?.length && isPrivate(sending) ? await directChannel(sending) : undefined
    if (view) await openModal(view, sending)
    if (isModalOnly(reply, extras)) return
    if (approval?.status !== 'pending' && (await takesOver(sending))) {
      const channel = sent.channel ?? target.channel
      await postAll(sending, { ...target, channel })
      if (sent.takesOver?.key !== undefined) await handOver(sent.takesOver.key, sending, channel, log)
    } else await show(sending)
    if (direct !== undefined) sent.direct ??= direct
    await shareFiles(sending, placeOfPosts(sending) ?? target, deps.artifacts)
    if (!isPrivate(sending)) await workspace.threads.join(sent.channel ?? target.channel, target.thread)
  }

  /**
   * Shows a modal (https://docs.slack.dev/surfaces/modals), on top of the one that the click was in, and keeps where, as
   * Slack does not say it later. Slack takes a click once and for three seconds: a second try opens nothing twice.
   */
  async function openModal(view: ModalView, { workspace, target, sent, save }: Sending): Promise<void> {
    if (sent.view !== undefined) return
    const { triggerId, inModal, channel, thread, responseUrl } = target
    if (triggerId === undefined) {
      const reason =
        'a modal can only answer a slash command, a button, a select, a shortcut or another modal'
      throw new TriviumError('send_rejected', { gateway, reason })
    }
    const answer = await workspace.api.views[inModal ? 'push' : 'open']({ trigger_id: triggerId, view })
    sent.view = answer.view?.id ?? ''
    // What only one person may see is not answered in the channel.
    if (responseUrl === undefined && !/^[UW]/.test(channel))
      await kv.set(nameOf(sent.view), defined({ channel, thread }), { ttl: MODAL_KEPT })
    await save()
  }

  /** Who may decide about an approval has to see the question, whoever typed the command that raised it. */
  async function show(sending: Sending): Promise<void> {
    const isQuestion = sending.extras.approval?.status === 'pending' && sending.sent.seenBy === undefined
    if (!isQuestion && isPrivate(sending)) return whisper(sending)
    try {
      await postAll(sending, sending.target)
    } catch (error) {
      if (!isPrivate(sending) || !isShutOut(error)) throw error
      await whisper(sending)
    }
  }

  /** Whether posts are there already that the reply goes into: of an earlier one, or of what showed it being written. */
  async function takesOver(sending: Sending): Promise<boolean> {
    const { reply, extras, posts, target, sent } = sending
    if (sent.takesOver) return true
    if (sent.posted.length > 0 || posts.length === 0 || extras.ephemeral !== undefined) return false
    for (const key of earlierKeys(reply, extras)) {
      const earlier = await log.read(key)
      if (earlier.posted.length === 0) continue
      // What one person saw cannot be changed.
      if (earlier.seenBy !== undefined) return false
      if (extras.approval ? earlier.channel !== target.channel : !standsHere(earlier, reply, target)) continue
      Object.assign(sent, defined({ takesOver: { key, posts: earlier.posted }, channel: earlier.channel }))
      return true
    }
    if (extras.update !== undefined) {
      const reason = `no post was sent with the key ${extras.update} through this gateway in this conversation, so there is none to replace`
      throw new TriviumError('send_rejected', { gateway, reason })
    }
    if (extras.approval || target.responseUrl !== undefined || reply.to !== undefined) return false
    const begun = await streams.claim(sending)
    if (begun) Object.assign(sent, { takesOver: { posts: [begun.ts] }, channel: begun.channel })
    return begun !== undefined
  }

  /** The keys that the posts which are to be replaced may have: `gateway-send` puts something in front of a given one. */
  function earlierKeys({ inReplyTo }: Reply, { update, approval }: Extras): string[] {
    // As the daemon keys the question.
    if (approval) return [`approval:${approval.id}`]
    return update === undefined ? [] : [update, `${gateway}:${update}`, `answer:${inReplyTo}:${update}`]
  }

  async function look(reply: Reply): Promise<Probed> {
    const sending = await begin(reply)
    const { extras, posts, workspace, target, sent, save } = sending
    const { view, takesOver, files = [] } = sent
    if (sent.done) return { sent: true, receipt: receiptOf(sent, target.channel) }
    // Slack itself opens a modal once.
    if (extras.view && (view === undefined || isModalOnly(reply, extras))) return { sent: false }
    if (sent.unconfirmed) return { sent: 'unknown' }
    const place = placeOfPosts(sending)
    // What goes into posts that are there may be repeated.
    const isRepeatable = (takesOver?.posts.length ?? -1) >= posts.length && !reply.attachments?.length
    if (!place || isRepeatable) return { sent: false }
    const found = await findPosts(reply.key, workspace, place, files)
    for (let part = sent.posted.length; found.posts.has(part); part++) {
      sent.posted.push(found.posts.get(part) ?? '')
      sent.channel = place.channel
    }
    const isText = sent.files !== undefined || sent.posted.length >= posts.length
    sent.done = isText && (!reply.attachments?.length || found.shared)
    await save()
    if (sent.done) return { sent: true, receipt: receiptOf(sent, target.channel) }
    return { sent: found.complete ? false : 'unknown' }
  }

  return {
    stream: streams.show,
    close: streams.close,
    /** Where the modal was opened that an interaction came from; undefined where only one person sees that place. */
    async placeOf(payload: JsonObject) {
      const view = textAt(payload, 'view.id')
      return placeSchema.safeParse(view && (await kv.get(nameOf(view)))?.value).data
    },
    async send(reply: Reply): Promise<Receipt> {
      try {
        const sending = await begin(reply)
        const { sent, target, save } = sending
        if (!sent.done) {
          await deliver(sending)
          sent.done = true
          await save()
        }
        return receiptOf(sent, target.channel)
      } catch (error) {
        if (error instanceof TriviumError) throw error
        const { kind, seconds, reason } = slackFailure(error)
        if (kind === 'rate-limited') throw new SendPostponed(seconds * 1000)
        throw new TriviumError(SEND_ERRORS[kind], { gateway, key: reply.key, reason }, { cause: error })
      }
    },
    async probe(reply: Reply): Promise<Probed> {
      try {
        return await look(reply)
      } catch (error) {
        const { kind, seconds, reason: why } = slackFailure(error)
        if (kind === 'rejected') return { sent: 'unknown' }
        if (kind === 'rate-limited') throw new SendPostponed(seconds * 1000)
        // Any other code, and the next attempt would send without looking.
        const reason = `it could not be looked for: ${why}`
        throw new TriviumError('send_ambiguous', { gateway, key: reply.key, reason }, { cause: error })
      }
    },
  }
}

/**
 * Whether a reply belongs where an earlier one stands, so that it may replace it, as keys can be guessed: it is of the same
 * conversation, or of the one in which a click on the earlier one is. The question of an approval is in none.
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

/** Where what was sent so far can be looked for. Undefined: nothing was sent that could be. */
function placeOfPosts(sending: Sending): Pick<Target, 'channel' | 'thread'> | undefined {
  const { extras, target, sent } = sending
  if (sent.direct !== undefined) return { channel: sent.direct }
  const isPublic =
    !isPrivate(sending) || sent.takesOver !== undefined || extras.approval?.status === 'pending'
  return sent.seenBy === undefined && isPublic
    ? { ...target, channel: sent.channel ?? target.channel }
    : undefined
}

/** Without a text, blocks or files a modal is all of it, and nothing stands in the channel. */
function isModalOnly({ text, attachments = [] }: Reply, { view, blocks }: Extras): boolean {
  return view !== undefined && text === '' && blocks === undefined && attachments.length === 0
}

function receiptOf({ channel, posted, files, view }: Sent, fallback: string): Receipt {
  const place = channel ?? fallback
  const id = `${place}/${posted[0] ?? files?.[0] ?? view ?? ''}`
  return { id, data: defined({ channel: place, ts: posted, files, view }) }
}
