import { TriviumError } from '../../../src/core/errors.ts'
import {
  type Artifacts,
  type Probed,
  type Receipt,
  type Reply,
  SendPostponed,
} from '../../../src/core/transport.ts'
import { defined } from '../../../src/lib/defined.ts'
import { slackFailure } from '../api.ts'
import { type Target, targetOf } from '../conversation.ts'
import type { SlackDeps } from '../host.ts'
import type { SlackOptions } from '../options.ts'
import type { Workspaces } from '../workspaces/workspaces.ts'
import type { createCalls } from './calls.ts'
import { openDirect } from './find-posts.ts'
import { addBlock } from './fit-blocks.ts'
import { handOverBlock } from './handover-post.ts'
import { createModals } from './modals.ts'
import type { Post } from './post-blocks.ts'
import { postAll, type Sending, shareFiles } from './posts.ts'
import { directChannel, hasNoAccess, isPrivate, postPrivately } from './private.ts'
import { createReplacement } from './replace-posts.ts'
import { createSentRecords, receiptOf } from './sent-records.ts'
import { postsOf, readSlackFields, type SlackFields } from './slack-fields.ts'
import { createStreams } from './stream.ts'

/** Errors for the outbox by kind of failure: permanent, to be probed first, or retryable. */
const SEND_ERRORS = { rejected: 'send_rejected', unknown: 'send_ambiguous', unsent: 'send_failed' } as const

type Options = Pick<SlackOptions, 'handover' | 'commands'>
type Calls = ReturnType<typeof createCalls>

/** The parts that deliver a reply. */
type Parts = {
  modals: ReturnType<typeof createModals>
  findReplaced: ReturnType<typeof createReplacement>
  artifacts: Artifacts
}

/** The sending half of a Slack gateway. */
export function createSender(options: Options, deps: SlackDeps, workspaces: Workspaces, calls: Calls) {
  const { artifacts } = deps
  const stopping = new AbortController()
  const { signal } = stopping
  const streams = createStreams(deps, workspaces, signal)
  const modals = createModals(deps)
  const records = createSentRecords(deps)
  const parts: Parts = { modals, findReplaced: createReplacement(records, streams), artifacts }
  /** Keys of replies that may have been sent although the store has no record of it. */
  const unsure = new Set<string>()

  const sendOnce = async (reply: Reply): Promise<Receipt> => {
    const { key } = reply
    const earlier = await records.read(key)
    if (earlier) return receiptOf(earlier)
    const sending = await prepare(reply, options, workspaces)
    const { workspace, target, sent } = sending
    const run = { key, workspace, signal, responseUrls: [target.responseUrl], isUnsure: unsure.has(key) }
    await calls.recordDuring(run, () => deliver(sending, parts))
    // `recordDuring` also resolves when the gateway stops. Then the reply may be incomplete.
    signal.throwIfAborted()
    sent.channel ??= target.channel
    await records.keep(key, sent)
    unsure.delete(key)
    return receiptOf(sent)
  }

  return {
    stream: streams.show,
    streamed: streams.end,
    close: () => stopping.abort(),
    placeOf: modals.placeOf,
    send: (reply: Reply): Promise<Receipt> =>
      sendOnce(reply).catch(async (error: unknown) => {
        throw await sendError(error, reply, calls)
      }),
    /**
     * `sent: false` even if posts may exist: because of `unsure`, the next `send` looks for them.
     */
    async probe({ key }: Reply): Promise<Probed> {
      const earlier = await records.read(key)
      if (earlier) return { sent: true, receipt: receiptOf(earlier) }
      if ((await calls.doubt(key)).isUnclear) return { sent: 'unknown' }
      unsure.add(key)
      return { sent: false }
    },
  }
}

/** Finds the place of a reply, and creates its posts. Throws `send_rejected`. */
async function prepare(reply: Reply, options: Options, workspaces: Workspaces): Promise<Sending> {
  await workspaces.ready()
  const target = targetOf(reply, workspaces.only()?.team)
  const workspace = target && (await workspaces.find(target.team))
  if (!workspace) throw noPlace(reply, target)
  const fields = readSlackFields(reply)
  // The conversation of a slash command names the only person who sees it.
  const isNamed = reply.to !== undefined || reply.target === undefined
  if (isNamed && target.user !== undefined && options.commands === 'ephemeral')
    fields.ephemeral ??= target.user
  // Direct messages need a channel. A modal needs none, and must be opened within three seconds.
  const isUser = /^[UW][A-Z0-9]+$/.test(target.channel) && !isModalOnly(reply, fields)
  return {
    reply,
    fields,
    posts: options.handover ? withTakeOver(reply, fields, target) : postsOf(reply, fields),
    workspace,
    target: isUser ? { ...target, channel: await openDirect(target.channel, workspace) } : target,
    // Approval requests belong to no conversation.
    sent: {
      posted: [],
      ...(fields.approval ? {} : defined({ conversation: reply.conversation, thread: target.thread })),
    },
  }
}

function noPlace({ gateway, to, conversation }: Reply, target: Target | undefined): TriviumError {
  const reason = target
    ? `there is no bot token for the workspace ${target.team}`
    : `${to ?? conversation} is not a place in Slack; expected CHANNEL or CHANNEL/THREAD`
  return new TriviumError('send_rejected', { gateway, reason })
}

/** The posts of a reply. A reply that is visible to all ends with the take-over button. */
function withTakeOver(reply: Reply, fields: SlackFields, { responseUrl }: Target): Post[] {
  const posts = postsOf(reply, fields)
  const isByTrivium = fields.approval !== undefined || fields.handover !== undefined
  const isPublic = posts.length > 0 && fields.ephemeral === undefined && responseUrl === undefined
  if (reply.inReplyTo !== undefined && isPublic && !isByTrivium)
    addBlock(posts, handOverBlock(reply.conversation, 'take'))
  return posts
}

/** Makes all calls that send a reply, and records their results in `sent`. */
async function deliver(sending: Sending, { modals, findReplaced, artifacts }: Parts): Promise<void> {
  const { reply, fields, sent, target, workspace } = sending
  const { approval, view } = fields
  // Files cannot be ephemeral, so they go to direct messages. If those are not possible, nothing is
  // sent.
  const direct = reply.attachments?.length && isPrivate(sending) ? await directChannel(sending) : undefined
  if (view) await modals.open(view, sending)
  if (isModalOnly(reply, fields)) return
  const replaced = approval?.status === 'pending' ? undefined : await findReplaced(sending)
  if (replaced) {
    await postAll(sending, { ...target, channel: replaced.channel }, replaced.posted)
    await replaced.afterwards?.()
  } else await post(sending)
  const place = { ...target, channel: sent.channel ?? target.channel }
  await shareFiles(sending, direct === undefined ? place : { channel: direct }, artifacts)
  if (!isPrivate(sending)) await workspace.threads.join(place.channel, target.thread)
}

/** Whether a reply consists of a modal only, and posts nothing in the channel. */
function isModalOnly({ text, attachments = [] }: Reply, { view, blocks }: SlackFields): boolean {
  return view !== undefined && text === '' && blocks === undefined && attachments.length === 0
}

/**
 * Posts a reply. An approval request is visible to the channel, where the approvers are, unless the
 * bot is not in it.
 */
async function post(sending: Sending): Promise<void> {
  const isApprovalRequest = sending.fields.approval?.status === 'pending'
  if (!isApprovalRequest && isPrivate(sending)) return postPrivately(sending)
  try {
    await postAll(sending, sending.target)
  } catch (error) {
    if (!isPrivate(sending) || !hasNoAccess(error)) throw error
    await postPrivately(sending)
  }
}

/** The error that a failed `send` throws. */
async function sendError(error: unknown, { gateway, key }: Reply, { doubt }: Calls): Promise<Error> {
  if (error instanceof TriviumError) return error
  const { kind: callKind, seconds, reason } = slackFailure(error)
  if (callKind === 'rate-limited') return new SendPostponed(seconds * 1000)
  // A call without a visible effect, such as an upload, is not doubtful: the reply can be sent
  // again.
  const isDoubtful = await doubt(key).then(
    ({ mayBeMade }) => mayBeMade,
    () => true,
  )
  const kind = callKind === 'unknown' && !isDoubtful ? 'unsent' : callKind
  return new TriviumError(SEND_ERRORS[kind], { gateway, key, reason }, { cause: error })
}
