import type { Socket } from 'node:net'
import { createInterface } from 'node:readline'

const CAPABILITIES = 'IMAP4rev1 IDLE'
const EMPTY = ['* 0 EXISTS', '* 0 RECENT', '* OK [UIDVALIDITY 1]', '* OK [UIDNEXT 1]']
/**
 * The part of IMAP (RFC 3501) that a client needs to read one folder. For each command: the lines
 * of the response before its last line.
 */
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
  'UID STORE': [],
}
/** The Message-ID of mail that `trivium doctor` sends to itself. All other mail is discarded. */
const CHECK_ID = /<trivium-check\.[^>]+>/i
const MAX_CHECKS = 100

/** A mailbox with only the mail of `trivium doctor`, and a mail server, both without a password. */
export function createMailbox() {
  /** The headers of the mails of `doctor` by their Message-ID. */
  const checks = new Map<string, string>()
  return {
    serveImap: (socket: Socket) => serveImap(socket, checks),
    serveSmtp: (socket: Socket) => serveSmtp(socket, checks),
  }
}

function serveImap(socket: Socket, checks: ReadonlyMap<string, string>): void {
  /** The tag of the IDLE command that is in progress. */
  let idleTag = ''
  /** The headers of the mail that this client searched for. */
  let headers = ''
  const say = (...lines: string[]) => socket.write(lines.map((line) => `${line}\r\n`).join(''))
  const answerTo = (command: string, line: string): readonly string[] | undefined => {
    const [messageId = ''] = command === 'UID SEARCH' ? (CHECK_ID.exec(line) ?? []) : []
    headers = checks.get(messageId) ?? headers
    if (checks.has(messageId)) return ['* 1 EXISTS', '* SEARCH 1']
    if (command !== 'UID FETCH' || headers === '') return ANSWERS[command]
    return [`* 1 FETCH (UID 1 BODY[HEADER] {${Buffer.byteLength(headers)}}\r\n${headers})`]
  }
  say(`* OK [CAPABILITY ${CAPABILITIES}] the mailbox of the demo`)
  onLine(socket, (line) => {
    const [, tag = '*', name = ''] = /^(\S+) (UID \S+|\S+)/.exec(line) ?? []
    const command = name.toUpperCase()
    if (idleTag && /^done$/i.test(line)) {
      say(`${idleTag} OK IDLE is over`)
      idleTag = ''
    } else if (command === 'IDLE') {
      idleTag = tag
      say('+ idling')
    } else {
      const answer = answerTo(command, line)
      say(...(answer ?? []), answer ? `${tag} OK ${command} is done` : `${tag} BAD ${command} is not known`)
    }
    if (command === 'LOGOUT') socket.end()
  })
}

/** The part of SMTP (RFC 5321) that a sending client needs. */
function serveSmtp(socket: Socket, checks: Map<string, string>): void {
  const say = (line: string) => socket.write(`${line}\r\n`)
  let isData = false
  let isHeader = false
  let header: string[] = []
  const end = () => {
    const text = `${header.join('\r\n')}\r\n\r\n`
    const [id] = CHECK_ID.exec(text) ?? []
    if (id !== undefined && checks.size < MAX_CHECKS) checks.set(id, text)
  }
  say('220 mail.harbour.example ESMTP')
  onLine(socket, (line) => {
    if (isData && line !== '.') {
      isHeader &&= line !== ''
      if (isHeader) header.push(line)
      return
    }
    if (isData) end()
    isData = /^data/i.test(line)
    if (isData) {
      isHeader = true
      header = []
    }
    say(isData ? '354 go on' : '250 2.0.0 mail.harbour.example')
    if (/^quit/i.test(line)) socket.end()
  })
}

/** Calls `handle` with each line of a socket. A lost connection is an error of the reader too. */
function onLine(socket: Socket, handle: (line: string) => void): void {
  createInterface({ input: socket })
    .on('line', handle)
    .on('error', () => socket.destroy())
}
