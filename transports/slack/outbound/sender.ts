import type { ModalView } from '@slack/web-api'
import { z } from 'zod'
import { TriviumError } from '../../../src/core/errors.ts'
import { type JsonObject, textAt } from '../../../src/core/json.ts'
import { type Probed, type Receipt, type Reply, SendPostponed } from '../../../src/core/transport.ts'
import { defined } from '../../../src/lib/defined.ts'
import { ifRefused, slackFailure } from '../api.ts'
import { conversationOf, type Target, targetOf } from '../conversation.ts'
import type { SlackDeps } from '../host.ts'
import type { Workspaces } from '../workspaces.ts'
import { type createCalls, KEPT } from './calls.ts'
import { type Extras, postsOf, readExtras } from './extras.ts'
import { openDirect } from './find-posts.ts'
import { hashOf } from './methods.ts'
import { postAll, type Sending, type Sent, sentSchema, shareFiles } from './posts.ts'
import { directChannel, isPrivate, isShutOut, whisper } from './private.ts'
import { createStreams } from './stream.ts'

/** For so long a modal may stay open and still belong to where it was opened (ms). */
const MODAL_KEPT = 7 * 86_400_000

/** Where a modal was opened. */
const placeSchema = z.object({ channel: z.string(), thread: z.string().exactOptional() })

/** Posts that a reply goes into; `after` is called once it has. */
type Earlier = { channel: string; posted: readonly string[]; after?(): Promise<void> }

/** What a write that failed is to the outbox: given up, looked for first, or tried again. */
const SEND_ERRORS = { rejected: 'send_rejected', unknown: 'send_ambiguous', unsent: 'send_failed' } as const

/** The sending half of a Slack gateway. */
export function createSender(
  deps: SlackDeps,
  workspaces: Workspaces,
  { during, doubt }: ReturnType<typeof createCalls>,
) {
  const { gateway, kv } = deps
  const stopping = new AbortController()
  const streams = createStreams(deps, workspaces, stopping.signal)
  /** What may have been sent though the store does not know of it. */
  const unsure = new Set<string>()
  const modalName = (view: string) => `slack/${gateway}/modal/${view}`
  const sentName = (key: string) => `slack/${gateway}/sent/${hashOf(key)}`
  const read = async (key: string) => sentSchema.optional().parse((await kv.get(sentName(key)))?.value)
  const keep = (key: string, sent: Sent) => kv.set(sentName(key), sent, { ttl: KEPT })

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
    // Who is written to directly has a channel for it. A modal needs none, and there are three seconds to open it.
    const isUser = /^[UW][A-Z0-9]+$/.test(target.channel) && !isModalOnly(reply, extras)
    return {
      reply,
      extras,
      posts: postsOf(reply, extras),
      workspace,
      target: isUser ? { ...target, channel: await openDirect(target.channel, workspace) } : target,
      // The question of an approval is in no conversation.
      sent: {
        posted: [],
        ...(extras.approval ? {} : defined({ conversation: reply.conversation, thread: target.thread })),
      },
    }
  }

  async function deliver(sending: Sending): Promise<void> {
    const { reply, extras, sent, target, workspace } = sending
    const { approval, view } = extras
    // Files cannot be shown to one person in a channel. Where they cannot go, none of it is shown.
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
   * Shows a modal (https://docs.slack.dev/surfaces/modals), on top of the one that the click was in, and keeps where, as
   * Slack does not say it later.
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
    // What only one person may see is not answered in the channel.
    if (responseUrl === undefined && !/^[UW]/.test(channel))
      await kv.set(modalName(sent.view), defined({ channel, thread }), { ttl: MODAL_KEPT })
  }

  /** Who may decide about an approval has to see the question, whoever typed the command that raised it. */
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

  /** Posts that are there already and that the reply goes into: of an earlier one, or of what showed it being written. */
  async function takenOver(sending: Sending): Promise<Earlier | undefined> {
    const { reply, extras, posts, target, sent, workspace } = sending
    if (posts.length === 0 || extras.ephemeral !== undefined) return undefined
    const { update, approval } = extras
    // `gateway-send` puts something in front of a key that it is given.
    const given =
      update === undefined ? [] : [update, `${gateway}:${update}`, `answer:${reply.inReplyTo}:${update}`]
    // As the daemon keys the question.
    for (const key of approval ? [`approval:${approval.id}`] : given) {
      const earlier = await read(key)
      if (!earlier?.posted.length) continue
      // What one person saw cannot be changed.
      if (earlier.seenBy !== undefined) return undefined
      const { posted, channel = target.channel } = earlier
      if (approval ? channel !== target.channel : !standsHere(earlier, reply, target)) continue
      // The next that replaces it finds the posts as they are then.
      const after = async () => {
        // Of a longer one, what this one did not take over. Somebody may have deleted it, or nobody may.
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
    /** Where the modal was opened that an interaction came from; undefined where only one person sees that place. */
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
        // The call that failed may be one that shows nothing, such as an upload.
        const isDoubtful = await doubt(key).then(
          ({ mayBeMade }) => mayBeMade,
          () => true,
        )
        const kind = failed === 'unknown' && !isDoubtful ? 'unsent' : failed
        throw new TriviumError(SEND_ERRORS[kind], { gateway, key, reason }, { cause: error })
      }
    },
    /** The next `send` looks for what may be there. */
    async probe({ key }: Reply): Promise<Probed> {
      const known = await read(key)
      if (known) return { sent: true, receipt: receiptOf(known) }
      if ((await doubt(key)).isUnclear) return { sent: 'unknown' }
      unsure.add(key)
      return { sent: false }
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

/** Without a text, blocks or files a modal is all of it, and nothing stands in the channel. */
function isModalOnly({ text, attachments = [] }: Reply, { view, blocks }: Extras): boolean {
  return view !== undefined && text === '' && blocks === undefined && attachments.length === 0
}

function receiptOf({ channel = '', posted, files, view }: Sent): Receipt {
  const id = `${channel}/${posted[0] ?? files?.[0] ?? view ?? ''}`
  return { id, data: defined({ channel, ts: posted, files, view }) }
}
