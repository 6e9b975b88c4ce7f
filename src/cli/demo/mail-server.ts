import { once } from 'node:events'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { createInterface } from 'node:readline'

/** A mail as it lies in the mailbox of the demo. */
type Stored = { raw: string; at: number }

export type MailServer = Awaited<ReturnType<typeof startMailServer>>

/**
 * A mailbox on loopback that anybody may log in to, so that the demo needs no account: as much of IMAP (RFC 3501) as a client that
 * reads one folder uses, and of SMTP (RFC 5321) as one that sends. `sent` gets the mails that were sent; addresses that begin with
 * `gone.` have no mailbox.
 */
export async function startMailServer(sent: (raw: string) => void) {
  const mails: Stored[] = []
  const readers = new Set<Socket>()
  const tell = () => {
    for (const reader of readers) reader.write(`* ${mails.length} EXISTS\r\n`)
  }
  const imap = await listen((socket) => serveImap(socket, mails, readers))
  const smtp = await listen((socket) => serveSmtp(socket, sent))
  return {
    imap: imap.port,
    smtp: smtp.port,
    deliver(raw: readonly string[]): void {
      mails.push(...raw.map((each) => ({ raw: each, at: Date.now() })))
      tell()
    },
    close() {
      imap.close()
      smtp.close()
    },
  }
}

async function listen(serve: (socket: Socket) => void) {
  const sockets = new Set<Socket>()
  const server: Server = createServer((socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket)).on('error', () => socket.destroy())
    serve(socket)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address: AddressInfo | string | null = server.address()
  if (address === null || typeof address === 'string') throw new Error('the server has no port')
  return {
    port: address.port,
    close() {
      server.close()
      for (const socket of sockets) socket.destroy()
    },
  }
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
    } else if (command === 'LOGOUT') {
      say('* BYE', `${tag} OK LOGOUT`)
      socket.end()
    } else {
      const answer = answers[command]?.(args)
      say(...(answer ?? []), answer ? `${tag} OK ${command} is done` : `${tag} BAD ${command} is not known`)
    }
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
  const { raw = '', at = 0 } = mail ?? {}
  const size = Buffer.byteLength(raw)
  const [, start = '0', most] = /<(\d+)\.(\d+)>/.exec(asked) ?? []
  const end = most === undefined ? size : Number(start) + Number(most)
  const part = Buffer.from(raw).subarray(Number(start), end)
  const [, day, month, year, time] = /(\d+) (\w+) (\d+) (\S+)/.exec(new Date(at).toUTCString()) ?? []
  const date = `INTERNALDATE "${day}-${month}-${year} ${time} +0000"`
  const body = /BODY/i.test(asked)
    ? ` BODY[]${most ? `<${start}>` : ''} {${part.length}}\r\n${part.toString('latin1')}`
    : ''
  return `* ${uid} FETCH (UID ${uid} FLAGS () ${date} RFC822.SIZE ${size}${body})`
}

function serveSmtp(socket: Socket, sent: (raw: string) => void): void {
  const say = (line: string) => socket.write(`${line}\r\n`)
  let data: string[] | undefined
  say('220 mail.harbour.example ESMTP')
  createInterface({ input: socket }).on('line', (line) => {
    if (data && line !== '.') return void data.push(line.replace(/^\./, ''))
    if (data) {
      sent(data.join('\n'))
      data = undefined
      return say('250 2.0.0 taken')
    }
    if (/^rcpt to:<gone\./i.test(line)) return say('550 5.1.1 there is no such mailbox')
    if (/^data/i.test(line)) {
      data = []
      return say('354 go on')
    }
    if (!/^quit/i.test(line)) return say('250 mail.harbour.example')
    say('221 bye')
    return socket.end()
  })
}
