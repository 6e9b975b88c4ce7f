import { once } from 'node:events'
import { createServer as createHttpServer } from 'node:http'
import { createServer, type Socket } from 'node:net'
import { createInterface } from 'node:readline'
import { listenOn } from '../../http/public-http.ts'

/**
 * What lies around the daemon of the demo, on loopback and until the process ends: an empty mailbox that anybody may log in to, a mail
 * server, Slack's Web API, and two receivers of pushed events. Resolves with their ports.
 */
export async function startWorld() {
  const server = createHttpServer((request, response) => {
    request.resume()
    // A service that is out of order: its subscription falls behind.
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
  return { imap: await listen(serveImap), smtp: await listen(serveSmtp), port }
}

async function listen(serve: (socket: Socket) => void): Promise<number> {
  const server = createServer((socket) => serve(socket.on('error', () => socket.destroy())))
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return Object(server.address()).port
}

const CAPABILITIES = 'IMAP4rev1 IDLE'
const EMPTY = ['* 0 EXISTS', '* 0 RECENT', '* OK [UIDVALIDITY 1]', '* OK [UIDNEXT 1]']
/** As much of IMAP (RFC 3501) as a client that reads one folder uses: what a command is answered before its last line. */
const ANSWERS: Readonly<Record<string, readonly string[]>> = {
  CAPABILITY: [`* CAPABILITY ${CAPABILITIES}`],
  LIST: ['* LIST (\\HasNoChildren) "/" INBOX'],
  LSUB: ['* LSUB (\\HasNoChildren) "/" INBOX'],
  LOGIN: [],
  NOOP: [],
  EXAMINE: EMPTY,
  SELECT: EMPTY,
  LOGOUT: ['* BYE'],
  'UID SEARCH': ['* SEARCH'],
  'UID FETCH': [],
}

function serveImap(socket: Socket): void {
  let idling = ''
  const say = (...lines: string[]) => socket.write(lines.map((line) => `${line}\r\n`).join(''))
  say(`* OK [CAPABILITY ${CAPABILITIES}] the mailbox of the demo`)
  createInterface({ input: socket }).on('line', (line) => {
    const [, tag = '*', name = ''] = /^(\S+) (UID \S+|\S+)/.exec(line) ?? []
    const command = name.toUpperCase()
    if (idling && /^done$/i.test(line)) {
      say(`${idling} OK IDLE is over`)
      idling = ''
    } else if (command === 'IDLE') {
      idling = tag
      say('+ idling')
    } else {
      const answer = ANSWERS[command]
      say(...(answer ?? []), answer ? `${tag} OK ${command} is done` : `${tag} BAD ${command} is not known`)
    }
    if (command === 'LOGOUT') socket.end()
  })
}

/** As much of SMTP (RFC 5321) as a client that sends uses; what is sent goes nowhere. */
function serveSmtp(socket: Socket): void {
  const say = (line: string) => socket.write(`${line}\r\n`)
  let isData = false
  say('220 mail.harbour.example ESMTP')
  createInterface({ input: socket }).on('line', (line) => {
    if (isData && line !== '.') return
    isData = /^data/i.test(line)
    say(isData ? '354 go on' : '250 2.0.0 mail.harbour.example')
    if (/^quit/i.test(line)) socket.end()
  })
}
