import { once } from 'node:events'
import { createServer as createHttpServer } from 'node:http'
import { createServer, type Socket } from 'node:net'
import { listenOn } from '../../http/listen-on.ts'
import { createMailbox } from './mailbox.ts'
import { answerAsModel } from './model.ts'

/**
 * The services around the demo daemon, on loopback until the process ends: a mailbox that accepts
 * any login, a mail server, Slack's Web API, two models, and two receivers of pushed events.
 * Resolves with their ports.
 */
export async function startServices() {
  const server = createHttpServer((request, response) => {
    if (request.url === '/v1/chat/completions') {
      void answerAsModel(request, response).catch(() => response.destroy())
      return
    }
    request.resume()
    // A service that is down, so that its subscription falls behind.
    if (request.url === '/crm') return response.writeHead(503).end('the CRM is being upgraded')
    if (request.url === '/analytics') return response.writeHead(204).end()
    const answer = {
      ok: true,
      team: 'Harbour Coffee',
      team_id: 'T0HARBOUR',
      user_id: 'U0BOT',
      bot_id: 'B0BOT',
    }
    return response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer))
  })
  const { port } = await listenOn(server, { host: '127.0.0.1', port: 0 }, 'the demo')
  const { serveImap, serveSmtp } = createMailbox()
  return { imap: await listen(serveImap), smtp: await listen(serveSmtp), port }
}

async function listen(serve: (socket: Socket) => void): Promise<number> {
  const server = createServer((socket) => serve(socket.on('error', () => socket.destroy())))
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return Object(server.address()).port
}
