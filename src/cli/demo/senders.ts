import { createHmac } from 'node:crypto'
import { on } from 'node:events'
import { WebSocket } from 'ws'
import type { Submission } from '../../core/message.ts'
import type { Sending } from './story.ts'
import { slackTime } from './world.ts'

/** Sends one thing; resolves once it was taken or refused, and says whether a message must come of it. */
type Send = (sending: Sending) => Promise<boolean>

/** What the website of the demo says who chats: so a chat has a name. */
export const chatToken = (login: string) => `demo-${login}`

/** Makes the function that sends as the world outside does: over HTTP, WebSocket and mail, signed. `listen`: `host:port` of the daemon. */
export function createSend(deps: {
  deliver(mail: string): void
  listen: string
  submit(submission: Submission): Promise<unknown>
}): Send {
  /** By dialogue: how many mails it has, the root of its thread in Slack, the socket of its chat. */
  const mails = new Map<string, number>()
  const roots = new Map<string, string>()
  const sockets = new Map<string, WebSocket>()
  let sent = 0

  const post = async (path: string, body: string, headers: Record<string, string>) => {
    const json = { 'content-type': 'application/json', ...headers }
    const response = await fetch(`http://${deps.listen}${path}`, { method: 'POST', headers: json, body })
    await response.arrayBuffer()
    return response.ok
  }

  const mail: Send = async ({ dialogue, from, subject, said }) => {
    const before = mails.get(dialogue) ?? 0
    mails.set(dialogue, before + 1)
    const ids = Array.from({ length: before + 1 }, (_, at) => `<${dialogue}.${at}@mail.example>`)
    const thread = [`In-Reply-To: ${ids.at(-2)}`, `References: ${ids.slice(0, -1).join(' ')}`]
    const raw = [
      `Authentication-Results: mx.harbour.example; spf=pass smtp.mailfrom=${from.address}`,
      `From: ${word(from.name)} <${from.address}>`,
      'To: Harbour Coffee <support@harbour.example>',
      `Subject: ${word(subject)}`,
      `Date: ${new Date(Date.now()).toUTCString()}`,
      `Message-ID: ${ids.at(-1)}`,
      ...(before > 0 ? thread : []),
      'MIME-Version: 1.0',
      'Content-Type: text/plain; charset=utf-8',
      'Content-Transfer-Encoding: 8bit',
      '',
      ...String(said).split('\n'),
      '',
    ]
    deps.deliver(raw.join('\r\n'))
    return true
  }

  const slack: Send = ({ dialogue, user, channel, said: text }) => {
    const ts = slackTime(Date.now(), sent)
    const root = roots.get(dialogue)
    if (root === undefined) roots.set(dialogue, ts)
    const place =
      channel === 'direct'
        ? { type: 'message', channel_type: 'im', channel: `D${user.slice(1)}` }
        : { type: 'app_mention', channel }
    const event = { ...place, ts, ...(root && { thread_ts: root }), user, text }
    const ids = { team_id: 'T0HARBOUR', event_id: `Ev${sent}`, api_app_id: 'A0DEMO' }
    const body = JSON.stringify({ type: 'event_callback', ...ids, event })
    const seconds = String(Math.floor(Date.now() / 1000))
    return post('/slack/events', body, {
      'x-slack-request-timestamp': seconds,
      'x-slack-signature': `v0=${sign('demo-slack-secret', `v0:${seconds}:${body}`)}`,
    })
  }

  const chat: Send = async ({ dialogue, from, said: text, last }) => {
    const known = sockets.get(dialogue)
    const socket = known ?? new WebSocket(`ws://${deps.listen}/chat?token=${chatToken(from.login)}`)
    if (!known) await answered(socket, 'welcome')
    sockets.set(dialogue, socket)
    const taken = answered(socket, 'ack')
    socket.send(JSON.stringify({ type: 'message', text }))
    await taken
    if (last && sockets.delete(dialogue)) socket.close()
    return true
  }

  const cli: Send = async ({ dialogue, user, said }) => {
    await deps.submit({ gateway: 'cli', text: String(said), from: user, conversation: dialogue, wait: 0 })
    return true
  }

  const hook: Send = ({ kind, event, said, forged }) => {
    const body = JSON.stringify(said)
    const proof = sign(forged ? 'somebody else' : 'demo-hooks-secret', body)
    const github = {
      'x-github-event': event,
      'x-github-delivery': `${proof.slice(0, 32)}-${sent}`,
      'x-hub-signature-256': `sha256=${proof}`,
    }
    return post(`/hooks/${kind}`, body, kind === 'github' ? github : { 'x-signature': proof })
  }

  const ways: Partial<Record<Sending['kind'], Send>> = { mail, slack, chat, cli }
  return (sending) => {
    sent += 1
    return (ways[sending.kind] ?? hook)(sending)
  }
}

function sign(secret: string, text: string): string {
  return createHmac('sha256', secret).update(text).digest('hex')
}

/** Resolves with the next frame of that type, or where the socket closes. */
async function answered(socket: WebSocket, type: string): Promise<void> {
  for await (const [data] of on(socket, 'message', { close: ['close'] })) {
    if (JSON.parse(String(data)).type === type) return
  }
}

/** A word of a header, encoded where it must be (RFC 2047). */
function word(text: string): string {
  return /^[\x20-\x7e]*$/.test(text) ? text : `=?utf-8?B?${Buffer.from(text).toString('base64')}?=`
}
