import { TriviumError } from '../../../src/core/errors.ts'
import type { Receipt, Reply, Transport, TransportDeps } from '../../../src/core/transport.ts'
import { type Target, targetOf } from '../conversation.ts'
import { sendError, slackFailure } from '../failure.ts'
import type { SlackOptions } from '../options.ts'
import type { Workspace, Workspaces } from '../workspaces.ts'
import { approvalKey, blocksOf, type Extras, readExtras } from './extras.ts'
import { openModal } from './modal.ts'
import { type Content, postAll, postEphemeral, updateAll } from './post.ts'
import { probeThread } from './probe.ts'
import { respond } from './respond.ts'
import { createSentLog, type Progress } from './sent-log.ts'
import { shareFiles } from './share-files.ts'
import { splitText } from './split-text.ts'
import { createStreams } from './stream.ts'
import { toMrkdwn } from './to-mrkdwn.ts'

/** The sending half of a Slack gateway. */
export type SlackSender = Required<Pick<Transport, 'send' | 'probe' | 'stream'>> & { close(): void }

type Probe = Awaited<ReturnType<SlackSender['probe']>>

const MAX_DIRECTS = 5000

/** One send under way. */
type Sending = { reply: Reply; extras: Extras; workspace: Workspace; target: Target; progress: Progress }

export function createSender(
  options: SlackOptions,
  deps: TransportDeps,
  workspaces: Workspaces,
): SlackSender {
  const { gateway } = deps
  const sent = createSentLog(deps.kv, gateway)
  const streams = createStreams(deps, workspaces, sent)
  /** The channel of direct messages with each user. */
  const directs = new Map<string, string>()

  async function send(reply: Reply): Promise<Receipt> {
    try {
      const sending = await begin(reply)
      const { progress, target } = sending
      if (progress.done) return receiptOf(progress, target.channel)
      await deliver(sending)
      progress.done = true
      await sent.write(reply.key, progress)
      return receiptOf(progress, target.channel)
    } catch (error) {
      throw sendError(gateway, reply.key, error)
    }
  }

  async function deliver(sending: Sending): Promise<void> {
    const { reply, extras, workspace, target, progress } = sending
    const content = contentOf(reply, extras)
    if (extras.view) {
      await openModal({
        gateway,
        view: extras.view,
        workspace,
        target,
        progress,
        save: save(reply.key, progress),
      })
      if (isModalOnly(reply, extras)) return
    }
    const replaced = replacedKey(extras) ?? (await streamed(sending))
    if (replaced !== undefined && (await replace(replaced, content, sending))) return
    if (extras.ephemeral !== undefined) await whisper(sending, content)
    else if (mayRespond(target)) await answerCommand(sending, content)
    else
      await postAll({ key: reply.key, content, workspace, target, progress, save: save(reply.key, progress) })
    if (extras.approval) await sent.write(approvalKey(extras.approval.id), { ...progress, done: true })
    if (reply.attachments?.length) {
      await shareFiles({ reply, workspace, target, progress, sent, artifacts: deps.artifacts })
    }
  }

  /** The post that showed this reply while it was written; files come after the text, so they need one of their own. */
  async function streamed({ reply, extras, progress }: Sending): Promise<string | undefined> {
    const isPlain =
      extras.ephemeral === undefined && extras.approval === undefined && !reply.attachments?.length
    return isPlain && progress.posted.length === 0 ? streams.claim(reply) : undefined
  }

  /**
   * Puts new content into the posts of an earlier reply. False: there are none under that key in this channel, so it
   * has to be posted.
   */
  async function replace(name: string, content: Content, { workspace, target }: Sending): Promise<boolean> {
    // `gateway-send` puts the gateway in front of a key that a skill gives.
    for (const key of [name, `${gateway}:${name}`]) {
      const earlier = await sent.read(key)
      if (earlier.posted.length === 0 || earlier.channel !== target.channel) continue
      await updateAll({ key, content, workspace, target, progress: earlier, save: save(key, earlier) })
      return true
    }
    return false
  }

  async function whisper({ extras, workspace, target, progress }: Sending, content: Content) {
    const user = extras.ephemeral === true ? target.user : extras.ephemeral
    if (user === undefined) {
      throw new TriviumError('send_rejected', {
        gateway,
        reason: 'nobody is named to see the ephemeral reply',
      })
    }
    progress.posted = await postEphemeral({ content, user, workspace, target })
  }

  async function answerCommand({ reply, target, progress }: Sending, content: Content) {
    for (let index = progress.posted.length; index < content.parts.length; index++) {
      const text = content.parts[index] ?? ''
      const url = target.responseUrl ?? ''
      const blocks = index === 0 && content.blocks ? { blocks: content.blocks } : {}
      await respond({ gateway, key: reply.key, url, text, ...blocks, timeout: options['send-timeout'] })
      progress.posted.push(`response-${index}`)
      await sent.write(reply.key, progress)
    }
  }

  function mayRespond({ responseUrl, responseUntil }: Target): boolean {
    return responseUrl !== undefined && deps.now() < (responseUntil ?? 0)
  }

  function save(key: string, progress: Progress) {
    return () => sent.write(key, progress)
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
    const extras = readExtras(reply)
    const progress = await sent.read(reply.key)
    // A modal needs no channel, and there are three seconds to open it.
    const place = isModalOnly(reply, extras) ? target : await withChannel(target, workspace)
    return { reply, extras, workspace, target: place, progress }
  }

  /** Who is written to directly has a channel for it, and only there can a post be looked for. */
  async function withChannel(target: Target, { api }: Workspace): Promise<Target> {
    const { channel: user } = target
    if (!/^[UW][A-Z0-9]+$/.test(user)) return target
    const place = `${target.team}/${user}`
    const known = directs.get(place)
    if (known !== undefined) return { ...target, channel: known }
    const answer = await api.call('conversations.open', (web) => web.conversations.open({ users: user }))
    const channel = answer.channel?.id ?? user
    if (directs.size >= MAX_DIRECTS) directs.clear()
    directs.set(place, channel)
    return { ...target, channel }
  }

  async function look(reply: Reply): Promise<Probe> {
    const { extras, workspace, target, progress } = await begin(reply)
    if (progress.done) return { sent: true, receipt: receiptOf(progress, target.channel) }
    // Slack itself opens a modal once.
    if (extras.view && (progress.view === undefined || isModalOnly(reply, extras))) return { sent: false }
    // What replaces may be repeated; what only one person sees cannot be read back.
    if (replacedKey(extras) !== undefined) return { sent: false }
    if (extras.ephemeral !== undefined || target.responseUrl !== undefined) return { sent: 'unknown' }
    const found = await probeThread({ reply, workspace, target, progress, save: save(reply.key, progress) })
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
        // Any other code, and the next attempt would send without looking.
        const reason = `it could not be looked for: ${failure.reason}`
        throw new TriviumError('send_ambiguous', { gateway, key: reply.key, reason }, { cause: error })
      }
    },
  }
}

/** The key of what a reply replaces, where it replaces something. */
function replacedKey({ update, approval }: Extras): string | undefined {
  return approval && approval.status !== 'pending' ? approvalKey(approval.id) : update
}

function isModalOnly({ text, attachments = [] }: Reply, { view, blocks }: Extras): boolean {
  return view !== undefined && text === '' && blocks === undefined && attachments.length === 0
}

function contentOf(reply: Reply, extras: Extras): Content {
  const { subject, text } = reply
  const markdown = subject === undefined ? text : `**${subject}**\n\n${text}`
  const parts = markdown === '' ? [] : splitText(toMrkdwn(markdown))
  const rich = blocksOf(extras, parts[0] ?? '')
  return rich ? { parts: [rich.text, ...parts.slice(1)], blocks: rich.blocks } : { parts }
}

function receiptOf({ channel, posted, files, view }: Progress, fallback: string): Receipt {
  const place = channel ?? fallback
  const id = `${place}/${posted[0] ?? files?.[0] ?? view ?? ''}`
  const more = { ...(files ? { files } : {}), ...(view === undefined ? {} : { view }) }
  return { id, data: { channel: place, ts: posted, ...more } }
}
