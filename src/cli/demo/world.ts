import { createServer } from 'node:http'
import { text } from 'node:stream/consumers'
import { listenOn } from '../../gateway/public-http.ts'
import { startMailServer } from './mail-server.ts'
import type { Words } from './story.ts'

/**
 * What lies around the daemon of the demo, on loopback and until the process ends: a mailbox, Slack's Web API, and two receivers of
 * pushed events.
 */
export async function startWorld(words: Words) {
  const server = createServer(async (request, response) => {
    const body = await text(request).catch(() => '')
    const path = request.url ?? ''
    // A service that is out of order: its subscription falls behind.
    if (path === '/crm') return response.writeHead(503).end('the CRM is being upgraded')
    if (path === '/analytics') return response.writeHead(204).end()
    const args = body.startsWith('{') ? JSON.parse(body) : Object.fromEntries(new URLSearchParams(body))
    const answer = { ok: true, ...slackAnswer(path.replace('/api/', ''), args, words) }
    return response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer))
  })
  const { port } = await listenOn(server, { host: '127.0.0.1', port: 0 }, 'the demo')
  return { mail: await startMailServer(), port }
}

let posts = 0

/** As much of https://docs.slack.dev/reference/methods as a bot that answers uses. */
function slackAnswer(method: string, args: Record<string, unknown>, { team, channels }: Words): object {
  const { user: id = '', channel = '' } = args
  if (method === 'auth.test')
    return { team: 'Harbour Coffee', team_id: 'T0HARBOUR', user_id: 'U0BOT', bot_id: 'B0BOT' }
  if (method === 'users.info') {
    const name = team[String(id)]
    return { user: { id, name, profile: { display_name: name } } }
  }
  if (method === 'conversations.info') return { channel: { id: channel, name: channels[String(channel)] } }
  if (method === 'conversations.replies') return { messages: [] }
  posts += 1
  return method === 'chat.postMessage' ? { channel, ts: slackTime(Date.now(), posts) } : {}
}

/** A time as Slack's ids have it; `nth` keeps apart what happens in one millisecond. */
export function slackTime(at: number, nth: number): string {
  return `${Math.floor(at / 1000)}.${String(nth % 1_000_000).padStart(6, '0')}`
}
