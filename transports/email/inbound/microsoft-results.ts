import {
  type AuthenticationResults,
  parseAuthenticationResults,
  withoutComments,
} from './authentication-results.ts'
import type { Mail } from './parse.ts'

/** What stands for the name that Microsoft leaves out. */
export const MICROSOFT = 'microsoft'

const OWN = /\.(?:outlook\.com|office365\.com|exchangelabs\.com|office365\.us|outlook\.cn)$/
/** The servers that take mail from outside, and judge it. */
const EDGE = /\.protection\.(?:[\w-]+\.)?(?:outlook\.com|office365\.us|outlook\.cn)$/

/** What Exchange Online has for itself, and no tenant of Azure can have (`2603:1030:…`). */
const INSIDE = /^(?:2603:10[\da-f]6|2a01:111):/i

/**
 * The Authentication-Results of Microsoft 365 and Outlook.com, which name no server (against RFC 8601, section 2.2).
 * They are the topmost ones of a mail, and stand where only Microsoft writes: above the Received header of the edge that
 * took the mail in, and below the one of the hop from that very edge into the inside. Mail from the own organization
 * passes no edge, and has none. Undefined where they cannot be read.
 */
export function microsoftResults(mail: Mail): AuthenticationResults[] | undefined {
  const at = mail.headers.findIndex(({ key }) => key === 'authentication-results')
  const found = mail.headers[at]
  const above = mail.headers.slice(0, Math.max(at, 0)).filter(isReceived)
  const edge = mail.headers.slice(at + 1).find(isReceived)
  const entry = above.at(-1)
  if (!found || !edge || !entry) return []
  const taken = writerOf(edge)
  // Without one of their own, the topmost ones would be the sender's, and the edge above them.
  const isTheirs = above.map(writerOf).every((host) => OWN.test(host) && !EDGE.test(host))
  if (!isTheirs || !EDGE.test(taken) || !comesFrom(entry, taken)) return []
  const parsed = parseAuthenticationResults(`${MICROSOFT}; ${found.value}`)
  return parsed && [parsed]
}

type Header = Mail['headers'][number]

function isReceived({ key }: Header): boolean {
  return key === 'received'
}

/** The server that wrote a Received header. */
function writerOf({ value }: Header): string {
  return /(?:^|\s)by\s+([\w.-]+)/i.exec(withoutComments(value) ?? '')?.[1]?.toLowerCase() ?? ''
}

/** A machine has another domain inside (`AM3PEPF.eurprd05.prod.outlook.com`) than outside. */
function comesFrom({ value }: Header, edge: string): boolean {
  const [, machine = '', address = ''] = /^\s*from\s+([\w-]+)\.[\w.-]+\s+\(([\da-f:]+)\)/i.exec(value) ?? []
  return INSIDE.test(address) && edge.startsWith(`${machine.toLowerCase()}.`)
}
