import { createHmac, hash } from 'node:crypto'
import { type OutgoingHttpHeaders, request } from 'node:http'
import { WebSocket } from 'ws'
import type { Submission } from '../../core/message.ts'
import { requestOf } from './hooks.ts'
import { chatToken } from './people.ts'
import type { Sending, Turn } from './story.ts'
import { slackTime, type World } from './world.ts'

/** How one turn comes in; resolves once it was taken or refused, and says whether a message must come of it. */
type Send<By> = (turn: Extract<Turn, { by: By }>, sending: Sending) => Promise<boolean>

/** Makes the function that sends as the world outside does: over HTTP, WebSocket and mail, signed. `listen`: `host:port` of the daemon. */
export function createSenders(deps: {
  world: World
  listen: string
  submit(submission: Submission): Promise<unknown>
}) {
  const { world, listen } = deps
  /** By dialogue: the Message-IDs of a thread of mail so far, the root of a thread in Slack, the socket of a chat. */
  const threads = new Map<string, string[]>()
  const roots = new Map<string, string>()
  const sockets = new Map<string, WebSocket>()
  let sent = 0

  const post = (path: string, content: string, headers: OutgoingHttpHeaders) =>
    new Promise<boolean>((resolve, reject) => {
      const outgoing = request(`http://${listen}${path}`, { method: 'POST', headers }, (response) => {
        response
          .resume()
          .on('end', () => resolve(response.statusCode === (path === '/slack/events' ? 200 : 202)))
      })
      outgoing.on('error', reject).end(content)
    })

  const mail: Send<'mail'> = async ({ from, subject, text }, { dialogue }) => {
    const ids = threads.get(dialogue) ?? []
    const parent = ids.at(-1)
    const answer = parent && world.answerTo(parent)
    const references = [...ids, ...(answer ? [answer] : [])]
    const id = `<${hash('sha256', `${dialogue} ${ids.length}`).slice(0, 20)}@${from.address.split('@')[1]}>`
    threads.set(dialogue, [...references, id])
    const thread =
      references.length > 0
        ? [`In-Reply-To: ${references.at(-1)}`, `References: ${references.join(' ')}`]
        : []
    const raw = [
      `Authentication-Results: mx.harbour.example; spf=pass smtp.mailfrom=${from.address}`,
      `From: ${word(from.name)} <${from.address}>`,
      'To: Harbour Coffee <support@harbour.example>',
      `Subject: ${word(subject)}`,
      `Date: ${new Date(Date.now()).toUTCString()}`,
      `Message-ID: ${id}`,
      ...thread,
      'MIME-Version: 1.0',
      'Content-Type: text/plain; charset=utf-8',
      'Content-Transfer-Encoding: 8bit',
      '',
      ...text.split('\n'),
      '',
    ]
    world.mail.deliver([raw.join('\r\n')])
    return true
  }

  const slack: Send<'slack'> = ({ user, channel, text }, { dialogue }) => {
    const isDirect = channel === 'direct'
    const ts = slackTime(Date.now(), sent)
    const root = roots.get(dialogue)
    if (root === undefined) roots.set(dialogue, ts)
    const type = isDirect ? { type: 'message', channel_type: 'im' } : { type: 'app_mention' }
    const place = {
      channel: isDirect ? `D${user.slice(1)}` : channel,
      ts,
      ...(root ? { thread_ts: root } : {}),
    }
    const event = { ...type, ...place, user, text }
    const ids = { team_id: 'T0HARBOUR', event_id: `Ev${sent}`, api_app_id: 'A0DEMO' }
    const body = JSON.stringify({ type: 'event_callback', ...ids, event })
    const seconds = Math.floor(Date.now() / 1000)
    const proof = createHmac('sha256', 'demo-slack-secret').update(`v0:${seconds}:${body}`).digest('hex')
    return post('/slack/events', body, {
      'content-type': 'application/json',
      'x-slack-request-timestamp': seconds,
      'x-slack-signature': `v0=${proof}`,
    })
  }

  const chat: Send<'chat'> = async ({ from, text }, { dialogue, last }) => {
    const socket = sockets.get(dialogue) ?? (await openChat(from.login))
    sockets.set(dialogue, socket)
    const taken = answered(socket, 'ack')
    socket.send(JSON.stringify({ type: 'message', text }))
    await taken
    if (!last) return true
    sockets.delete(dialogue)
    socket.close()
    return true
  }

  const openChat = async (login: string) => {
    const socket = new WebSocket(`ws://${listen}/chat?token=${chatToken(login)}`)
    await answered(socket, 'welcome')
    return socket
  }

  const cli: Send<'cli'> = async ({ from, text }, { dialogue }) => {
    await deps.submit({ gateway: 'cli', text, from, conversation: dialogue, wait: 0 })
    return true
  }

  const hook: Send<'hook'> = ({ hook, ...delivery }) => {
    const { headers, content } = requestOf(hook, delivery, Date.now())
    return post(`/hooks/${hook}`, content, headers)
  }

  return {
    /** Resolves with whether it was taken in, or will be: a mail is fetched a moment later. */
    send(sending: Sending): Promise<boolean> {
      sent += 1
      const { turn } = sending
      if (turn.by === 'mail') return mail(turn, sending)
      if (turn.by === 'slack') return slack(turn, sending)
      if (turn.by === 'chat') return chat(turn, sending)
      return turn.by === 'cli' ? cli(turn, sending) : hook(turn, sending)
    },
    close() {
      for (const socket of sockets.values()) socket.terminate()
    },
  }
}

/** Resolves with the next frame of that type; rejects where the socket ends before. */
function answered(socket: WebSocket, type: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const onMessage = (data: unknown) => {
      if (!String(data).startsWith(`{"type":"${type}"`)) return
      socket.off('message', onMessage).off('error', reject)
      resolve()
    }
    socket.on('message', onMessage).once('error', reject)
  })
}

/** A word of a header, encoded where it must be (RFC 2047). */
function word(text: string): string {
  return /^[\x20-\x7e]*$/.test(text) ? text : `=?utf-8?B?${Buffer.from(text).toString('base64')}?=`
}
