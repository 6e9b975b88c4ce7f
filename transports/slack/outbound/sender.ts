import { TriviumError } from '../../../src/core/errors.ts'
import type { Receipt, Reply, Transport, TransportDeps } from '../../../src/core/transport.ts'
import { type Target, targetOf } from '../conversation.ts'
import { sendError } from '../failure.ts'
import type { Workspace, Workspaces } from '../workspaces.ts'
import { probeThread } from './probe.ts'
import { createSentLog, METADATA_TYPE, type Progress } from './sent-log.ts'
import { shareFiles } from './share-files.ts'
import { splitText } from './split-text.ts'
import { toMrkdwn } from './to-mrkdwn.ts'

/** The sending half of a Slack gateway. */
export type SlackSender = Required<Pick<Transport, 'send' | 'probe'>>

export function createSender(deps: TransportDeps, workspaces: Workspaces): SlackSender {
  const { gateway } = deps
  const sent = createSentLog(deps.kv, gateway)

  async function send(reply: Reply): Promise<Receipt> {
    try {
      const { workspace, target } = await placeOf(reply)
      const progress = await sent.read(reply.key)
      if (progress.done) return receiptOf(progress, target.channel)
      await postText(reply, workspace, target, progress)
      if (reply.attachments?.length) {
        await shareFiles({ reply, workspace, target, progress, sent, artifacts: deps.artifacts })
      }
      progress.done = true
      await sent.write(reply.key, progress)
      return receiptOf(progress, target.channel)
    } catch (error) {
      throw sendError(gateway, reply.key, error)
    }
  }

  /** Posts the parts of a text that were not posted yet, noting each before the next. */
  async function postText(reply: Reply, workspace: Workspace, target: Target, progress: Progress) {
    const parts = reply.text === '' ? [] : splitText(toMrkdwn(withSubject(reply)))
    for (let index = progress.posted.length; index < parts.length; index++) {
      await workspace.api.pace(target.channel)
      const { channel, ts } = await post(workspace, target, parts[index] ?? '', {
        key: reply.key,
        part: index,
        parts: parts.length,
      })
      progress.channel = channel
      progress.posted.push(ts)
      await sent.write(reply.key, progress)
    }
  }

  async function placeOf(reply: Reply): Promise<{ workspace: Workspace; target: Target }> {
    const known = await workspaces.ready()
    const target = targetOf(reply, known.length === 1 ? known[0]?.team : undefined)
    const reason = (text: string) => new TriviumError('send_rejected', { gateway, reason: text })
    if (!target)
      throw reason(
        `${reply.to ?? reply.conversation} is no place in Slack; expected CHANNEL or CHANNEL/THREAD`,
      )
    const workspace = workspaces.find(target.team)
    if (!workspace) throw reason(`there is no bot token for the workspace ${target.team}`)
    return { workspace, target }
  }

  return {
    send,
    async probe(reply) {
      const { workspace, target } = await placeOf(reply)
      const progress = await sent.read(reply.key)
      if (progress.done) return { sent: true, receipt: receiptOf(progress, target.channel) }
      return probeThread({ reply, workspace, target, progress, sent })
    },
  }
}

/** One post. Never retried here: whether an unanswered one arrived is looked up first. */
async function post(
  { api }: Workspace,
  target: Target,
  text: string,
  mark: { key: string; part: number; parts: number },
): Promise<{ channel: string; ts: string }> {
  const { channel, thread } = target
  const answer = await api.call(`chat.postMessage/${channel}`, (web) =>
    web.chat.postMessage({
      channel,
      text,
      ...(thread === undefined ? {} : { thread_ts: thread }),
      metadata: { event_type: METADATA_TYPE, event_payload: mark },
    }),
  )
  return { channel: answer.channel ?? channel, ts: answer.ts ?? '' }
}

function withSubject({ subject, text }: Reply): string {
  return subject === undefined ? text : `**${subject}**\n\n${text}`
}

function receiptOf({ channel, posted, files }: Progress, fallback: string): Receipt {
  const place = channel ?? fallback
  const id = `${place}/${posted[0] ?? files?.[0] ?? ''}`
  return { id, data: { channel: place, ts: posted, ...(files ? { files } : {}) } }
}
