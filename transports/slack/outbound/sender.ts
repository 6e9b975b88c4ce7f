import { TriviumError } from '../../../src/core/errors.ts'
import {
  type Receipt,
  type Reply,
  SendPostponed,
  type Transport,
  type TransportDeps,
} from '../../../src/core/transport.ts'
import { type Target, targetOf } from '../conversation.ts'
import { sendError, slackFailure } from '../failure.ts'
import type { SlackOptions } from '../options.ts'
import type { Workspace, Workspaces } from '../workspaces.ts'
import { createDirects } from './directs.ts'
import { approvalKey, blocksOf, type Extras, readExtras } from './extras.ts'
import { openModal } from './modal.ts'
import { type Content, postAll } from './post.ts'
import { probeThread } from './probe.ts'
import { replaceAll, takeOver } from './replace.ts'
import { createSentLog, type Progress } from './sent-log.ts'
import { shareFiles } from './share-files.ts'
import { splitText } from './split-text.ts'
import { createStreams } from './stream.ts'
import { toMrkdwn } from './to-mrkdwn.ts'
import { isShutOut, requireAnswered, whisper } from './whisper.ts'

/** The sending half of a Slack gateway. */
export type SlackSender = Required<Pick<Transport, 'send' | 'probe' | 'stream'>> & { close(): void }

type Probe = Awaited<ReturnType<SlackSender['probe']>>

/** One send under way. */
type Sending = {
  key: string
  reply: Reply
  extras: Extras
  content: Content
  workspace: Workspace
  target: Target
  progress: Progress
  save(): Promise<void>
}

export function createSender(
  options: SlackOptions,
  deps: TransportDeps,
  workspaces: Workspaces,
): SlackSender {
  const { gateway } = deps
  const sent = createSentLog(deps.kv, gateway)
  const streams = createStreams(options, deps, workspaces, sent)
  const directs = createDirects()
  const whispers = { gateway, sent, directs, timeout: options['send-timeout'], now: deps.now }

  async function send(reply: Reply): Promise<Receipt> {
    try {
      const sending = await begin(reply)
      const { progress, target, save } = sending
      if (progress.done) return receiptOf(progress, target.channel)
      await deliver(sending)
      if (!progress.done) {
        progress.done = true
        await save()
      }
      return receiptOf(progress, target.channel)
    } catch (error) {
      throw sendError(gateway, reply.key, error)
    }
  }

  async function deliver(sending: Sending): Promise<void> {
    const { reply, extras, target, progress } = sending
    // Where its files cannot go, none of it is shown.
    if (reply.attachments?.length && isPrivate(sending)) requireAnswered(viewerOf(sending), target, gateway)
    if (extras.view) {
      await openModal({ ...sending, gateway, view: extras.view })
      if (isModalOnly(reply, extras)) return
    }
    if (extras.approval?.status === 'pending') await ask(sending)
    else if (await takesOver(sending)) await replaceAll(sending, sent)
    else await show(sending)
    if (extras.approval) await sent.write(approvalKey(extras.approval.id), { ...progress, done: true })
    if (reply.attachments?.length) {
      await shareFiles({ ...sending, target: await placeOfFiles(sending), artifacts: deps.artifacts })
    }
  }

  /** Who may decide has to see the question, whoever typed the command that raised it. */
  async function ask(sending: Sending): Promise<void> {
    try {
      if (sending.progress.seenBy === undefined) return await postAll(sending)
    } catch (error) {
      if (!isPrivate(sending) || !isShutOut(error)) throw error
    }
    await show(sending)
  }

  async function show(sending: Sending): Promise<void> {
    const isLast = !sending.extras.approval && !sending.reply.attachments?.length
    if (!isPrivate(sending)) return postAll({ ...sending, ...(isLast ? { last: true as const } : {}) })
    await whisper({ ...sending, user: viewerOf(sending) }, whispers)
  }

  /** Whether posts are there already that the reply goes into: of an earlier one, or of what showed it being written. */
  async function takesOver(sending: Sending): Promise<boolean> {
    const { reply, extras, content, workspace, target, progress } = sending
    if (progress.replaces) return true
    if (progress.posted.length > 0 || content.parts.length === 0 || extras.ephemeral !== undefined)
      return false
    for (const key of earlierKeys(extras)) {
      const earlier = await sent.read(key)
      const isThere = earlier.posted.length > 0 && earlier.seenBy === undefined
      // Keys can be guessed: a reply replaces what was said in its own conversation, and no question of an approval.
      const isOurs = extras.approval !== undefined || earlier.conversation === reply.conversation
      if (!isThere || !isOurs || earlier.channel !== target.channel) continue
      await takeOver(key, earlier, sending)
      return true
    }
    if (extras.approval || target.responseUrl !== undefined) return false
    const key = await streams.claim(reply, workspace, target)
    if (key === undefined) return false
    await takeOver(key, await sent.read(key), sending)
    return true
  }

  /** The keys that the posts which are to be replaced may have. */
  function earlierKeys({ update, approval }: Extras): string[] {
    if (approval) return [approvalKey(approval.id)]
    // `gateway-send` puts the gateway in front of a key that a skill gives.
    return update === undefined ? [] : [update, `${gateway}:${update}`]
  }

  /** Files cannot be shown to one person in a channel, only in the direct messages with them. */
  async function placeOfFiles(sending: Sending): Promise<Target> {
    const { workspace, target, progress } = sending
    if (!isPrivate(sending)) return { ...target, channel: progress.channel ?? target.channel }
    progress.direct ??= await directs.channelOf(viewerOf(sending), workspace)
    return { team: target.team, channel: progress.direct }
  }

  function viewerOf({ extras, target }: Sending): string {
    const user = typeof extras.ephemeral === 'string' ? extras.ephemeral : target.user
    if (user === undefined) throw rejected('nobody is named to see the ephemeral reply')
    return user
  }

  async function begin(reply: Reply): Promise<Sending> {
    const known = await workspaces.ready()
    const target = targetOf(reply, known.length === 1 ? known[0]?.team : undefined)
    if (!target) {
      throw rejected(
        `${reply.to ?? reply.conversation} is no place in Slack; expected CHANNEL or CHANNEL/THREAD`,
      )
    }
    const workspace = workspaces.find(target.team)
    if (!workspace) throw rejected(`there is no bot token for the workspace ${target.team}`)
    const { key } = reply
    const extras = readExtras(reply)
    const progress = await sent.read(key)
    if (!extras.approval) progress.conversation = reply.conversation
    // A modal needs no channel, and there are three seconds to open it.
    const place = isModalOnly(reply, extras) ? target : await withChannel(target, workspace)
    const save = () => sent.write(key, progress)
    const content = contentOf(reply, extras)
    return { key, reply, extras, content, workspace, target: place, progress, save }
  }

  /** Who is written to directly has a channel for it, and only there can a post be looked for. */
  async function withChannel(target: Target, workspace: Workspace): Promise<Target> {
    if (!/^[UW][A-Z0-9]+$/.test(target.channel)) return target
    return { ...target, channel: await directs.channelOf(target.channel, workspace) }
  }

  async function look(reply: Reply): Promise<Probe> {
    const sending = await begin(reply)
    const { extras, content, target, progress } = sending
    const { view, replaces } = progress
    if (progress.done) return { sent: true, receipt: receiptOf(progress, target.channel) }
    // Slack itself opens a modal once.
    if (extras.view && (view === undefined || isModalOnly(reply, extras))) return { sent: false }
    if (progress.unconfirmed) return { sent: 'unknown' }
    const place = placeOfPosts(sending)
    // What goes into posts that are there may be repeated.
    const isRepeatable = (replaces?.posts ?? 0) >= content.parts.length && !reply.attachments?.length
    if (!place || (replaces && isRepeatable)) return { sent: false }
    const found = await probeThread({ ...sending, target: place, parts: content.parts.length })
    return found === true ? { sent: true, receipt: receiptOf(progress, target.channel) } : { sent: found }
  }

  function rejected(reason: string): TriviumError {
    return new TriviumError('send_rejected', { gateway, reason })
  }

  return {
    send,
    stream: streams.show,
    close: streams.close,
    async probe(reply) {
      try {
        return await look(reply)
      } catch (error) {
        const failure = slackFailure(error)
        if (failure.kind === 'rejected') return { sent: 'unknown' }
        if (failure.kind === 'rate-limited') throw new SendPostponed(failure.seconds * 1000)
        // Any other code, and the next attempt would send without looking.
        const reason = `it could not be looked for: ${failure.reason}`
        throw new TriviumError('send_ambiguous', { gateway, key: reply.key, reason }, { cause: error })
      }
    },
  }
}

/** Whether only one person may see it: it was asked for, or it answers what nobody else saw. */
function isPrivate({ extras, target }: Sending): boolean {
  return extras.ephemeral !== undefined || target.responseUrl !== undefined
}

/** Where what was sent so far can be looked for. Undefined: nothing was sent that could be. */
function placeOfPosts(sending: Sending): Target | undefined {
  const { extras, target, progress } = sending
  const { channel = target.channel, direct, seenBy, replaces } = progress
  if (direct !== undefined) return { team: target.team, channel: direct }
  const isPublic = !isPrivate(sending) || replaces !== undefined || extras.approval?.status === 'pending'
  return seenBy === undefined && isPublic ? { ...target, channel } : undefined
}

function isModalOnly({ text, attachments = [] }: Reply, { view, blocks }: Extras): boolean {
  return view !== undefined && text === '' && blocks === undefined && attachments.length === 0
}

function contentOf(reply: Reply, extras: Extras): Content {
  const { subject, text } = reply
  const markdown = subject === undefined ? text : `**${subject}**\n\n${text}`
  const parts = markdown === '' ? [] : splitText(toMrkdwn(markdown))
  const rich = blocksOf(extras, parts[0] ?? '')
  // Blocks are shown in place of all of the text.
  return rich ? { parts: [rich.text], blocks: rich.blocks } : { parts }
}

function receiptOf({ channel, posted, files, view }: Progress, fallback: string): Receipt {
  const place = channel ?? fallback
  const id = `${place}/${posted[0] ?? files?.[0] ?? view ?? ''}`
  const more = { ...(files ? { files } : {}), ...(view === undefined ? {} : { view }) }
  return { id, data: { channel: place, ts: posted, ...more } }
}
