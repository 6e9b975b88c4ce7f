import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import { createInterface } from 'node:readline'

/** A mail as it lies in the mailbox of the demo. */
type Stored = { raw: Buffer; at: Date }

/**
 * A mailbox on loopback that anybody may log in to, so that the demo needs no account: as much of IMAP (RFC 3501) as a client that
 * reads one folder uses, and of SMTP (RFC 5321) as one that sends. It is there until the process ends; what is sent goes nowhere.
 */
export async function startMailServer() {
  const mails: Stored[] = []
  const readers = new Set<Socket>()
  return {
    imap: await listen((socket) => serveImap(socket, mails, readers)),
    smtp: await listen(serveSmtp),
    deliver(raw: string): void {
      mails.push({ raw: Buffer.from(raw), at: new Date(Date.now()) })
      for (const reader of readers) reader.write(`* ${mails.length} EXISTS\r\n`)
    },
  }
}

/** Resolves with the port. */
async function listen(serve: (socket: Socket) => void): Promise<number> {
  const server = createServer((socket) => serve(socket.on('error', () => socket.destroy())))
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return Object(server.address()).port
}

const CAPABILITIES = 'IMAP4rev1 IDLE'

function serveImap(socket: Socket, mails: readonly Stored[], readers: Set<Socket>): void {
  let idling = ''
  const say = (...lines: string[]) => socket.write(lines.map((line) => `${line}\r\n`).join(''), 'latin1')
  const open = () => {
    readers.add(socket)
    const next = mails.length + 1
    return [`* ${mails.length} EXISTS`, '* 0 RECENT', '* OK [UIDVALIDITY 1]', `* OK [UIDNEXT ${next}]`]
  }
  /** What a command is answered before its last line. */
  const answers: Record<string, (args: string) => string[]> = {
    CAPABILITY: () => [`* CAPABILITY ${CAPABILITIES}`],
    LIST: () => ['* LIST (\\HasNoChildren) "/" INBOX'],
    LSUB: () => ['* LSUB (\\HasNoChildren) "/" INBOX'],
    LOGIN: () => [],
    NOOP: () => [],
    EXAMINE: open,
    SELECT: open,
    LOGOUT: () => ['* BYE'],
    'UID SEARCH': (args) => [`* SEARCH ${uidsIn(args.replace(/^.*UID /, ''), mails.length).join(' ')}`],
    'UID FETCH': (args) => uidsIn(args, mails.length).map((uid) => fetched(uid, mails[uid - 1], args)),
  }
  socket.on('close', () => readers.delete(socket))
  say(`* OK [CAPABILITY ${CAPABILITIES}] the mailbox of the demo`)
  createInterface({ input: socket }).on('line', (line) => {
    if (idling && /^done$/i.test(line)) {
      say(`${idling} OK IDLE is over`)
      idling = ''
      return
    }
    const [, tag = '*', name = '', args = ''] = /^(\S+) (UID \S+|\S+) ?(.*)$/.exec(line) ?? []
    const command = name.toUpperCase()
    if (command === 'IDLE') {
      idling = tag
      say('+ idling')
      return
    }
    const answer = answers[command]?.(args)
    say(...(answer ?? []), answer ? `${tag} OK ${command} is done` : `${tag} BAD ${command} is not known`)
    if (command === 'LOGOUT') socket.end()
  })
}

/** `1:3,7,9:*`: also its last mail where `*` is below what is asked for. */
function uidsIn(set: string, last: number): number[] {
  const [list = ''] = set.split(' ')
  return list.split(',').flatMap((part) => {
    const [from = 0, to = from] = part.split(':').map((each) => (each === '*' ? last : Number(each)))
    const [first, end] = [Math.max(1, Math.min(from, to)), Math.min(Math.max(from, to), last)]
    return Array.from({ length: Math.max(0, end - first + 1) }, (_, at) => first + at)
  })
}

function fetched(uid: number, mail: Stored | undefined, asked: string): string {
  const { raw = Buffer.alloc(0), at = new Date(0) } = mail ?? {}
  const [, start, most] = /<(\d+)\.(\d+)>/.exec(asked) ?? []
  const part = most === undefined ? raw : raw.subarray(Number(start), Number(start) + Number(most))
  const [, day, month, year, time] = /(\d+) (\w+) (\d+) (\S+)/.exec(at.toUTCString()) ?? []
  const date = `INTERNALDATE "${day}-${month}-${year} ${time} +0000"`
  const section = `BODY[]${most === undefined ? '' : `<${start}>`}`
  const body = /BODY/i.test(asked) ? ` ${section} {${part.length}}\r\n${part.toString('latin1')}` : ''
  return `* ${uid} FETCH (UID ${uid} FLAGS () ${date} RFC822.SIZE ${raw.length}${body})`
}

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
