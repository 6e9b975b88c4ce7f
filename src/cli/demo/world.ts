import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import { listenOn } from '../../gateway/public-http.ts'
import { startMailServer } from './mail-server.ts'
import { CHANNELS, TEAM } from './people.ts'

export type World = Awaited<ReturnType<typeof startWorld>>

/** What lies around the daemon of the demo, on loopback: a mailbox, Slack's Web API, and two receivers of pushed events. */
export async function startWorld() {
  /** By the Message-ID of a mail that came in: that of the answer to it, which the next mail of its thread names. */
  const answers = new Map<string, string>()
  const mail = await startMailServer((raw) => {
    const [head = ''] = raw.split(/\n\n/, 1)
    const id = /^message-id: *(<[^>]+>)/im.exec(head)?.[1]
    const answered = /^in-reply-to:\s*(<[^>]+>)/im.exec(head)?.[1]
    if (id && answered) answers.set(answered, id)
  })
  const server = createServer((request, response) => void serve(request, response))
  const { port } = await listenOn(server, { host: '127.0.0.1', port: 0 }, 'the demo')
  return {
    mail,
    port,
    answerTo: (id: string) => answers.get(id),
    close() {
      mail.close()
      server.close()
      server.closeAllConnections()
    },
  }
}

async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const body = await text(request).catch(() => '')
  const path = request.url ?? ''
  // A service that is out of order: its subscription falls behind.
  if (path === '/crm') return void response.writeHead(503).end('the CRM is being upgraded')
  if (path === '/analytics') return void response.writeHead(204).end()
  const answer = slackAnswer(path.replace('/api/', ''), argumentsIn(body))
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ ok: true, ...answer }))
}

let posts = 0

/** As much of https://docs.slack.dev/reference/methods as a bot that answers uses. */
function slackAnswer(method: string, args: URLSearchParams): object {
  const person = TEAM.find(({ id }) => id === args.get('user'))
  const channel = args.get('channel') ?? ''
  const known: Record<string, () => object> = {
    'auth.test': () => ({ team: 'Harbour Coffee', team_id: 'T0HARBOUR', user_id: 'U0BOT', bot_id: 'B0BOT' }),
    'users.info': () => ({
      user: { id: person?.id, name: person?.name, profile: { display_name: person?.name } },
    }),
    'conversations.info': () => ({ channel: { id: channel, name: CHANNELS[channel] } }),
    'conversations.replies': () => ({ messages: [] }),
    'chat.postMessage': () => {
      posts += 1
      return { channel, ts: slackTime(Date.now(), posts) }
    },
  }
  return known[method]?.() ?? {}
}

/** A time as Slack's ids have it; `nth` keeps apart what happens in one millisecond. */
export function slackTime(at: number, nth: number): string {
  return `${Math.floor(at / 1000)}.${String(nth % 1_000_000).padStart(6, '0')}`
}

function argumentsIn(body: string): URLSearchParams {
  if (!body.startsWith('{')) return new URLSearchParams(body)
  const fields: Record<string, unknown> = JSON.parse(body)
  return new URLSearchParams(Object.entries(fields).map(([name, value]) => [name, String(value)]))
}
