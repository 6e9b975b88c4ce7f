import { isDeviceSignature } from './device-signature.ts'
import { isRule } from './lines.ts'

/** The space is what makes two dashes a signature's (RFC 3676, section 4.3). */
export const SIGNATURE = '-- '
/** A signature whose mark lost its space on the way is no longer than signatures are. */
const MAX_SIGNATURE = { lines: 6, length: 80 }
const LIST_RULE = /^_{2,}$/

/** Without the signature of the sender, of their device or app, and of a mailing list. */
export function withoutSignature(lines: readonly string[], kind: 'reply' | 'first'): string[] {
  const own = kind === 'reply' ? withoutListFooter(lines) : lines
  const start = signatureStart(own, kind)
  const postscript = own.findIndex((line, at) => at > start && /^p\.? ?s\b/i.test(line))
  const rest = postscript === -1 ? [] : own.slice(postscript)
  const body = start === -1 ? own : [...own.slice(0, start), ...rest]
  return withoutDevices(body.map((line) => line.trimEnd()))
}

/** Lines at the end by which devices and apps sign, with a rule above them. Outlook draws one below, above what it quotes. */
function withoutDevices(lines: string[]): string[] {
  let end = lines.length
  let isDevice = false
  for (let at = lines.length - 1; at >= 0; at--) {
    const line = lines[at] ?? ''
    const isSigned = isDeviceSignature(line)
    if (isSigned || /^_{5,}$/.test(line) || (isDevice && isRule(line))) end = at
    else if (line !== '') break
    isDevice ||= isSigned
  }
  return lines.slice(0, end)
}

function signatureStart(lines: readonly string[], kind: 'reply' | 'first'): number {
  const first = lines.findIndex((line) => line !== '')
  const marked = lines.findIndex((line, at) => line === SIGNATURE && at > first)
  if (marked !== -1 || kind === 'first') return marked
  const dashes = lines.lastIndexOf('--')
  if (dashes <= first || lines.indexOf('--') !== dashes) return -1
  const rest = lines.slice(dashes + 1).filter((line) => line !== '')
  const isShort =
    rest.length <= MAX_SIGNATURE.lines && rest.every((line) => line.length <= MAX_SIGNATURE.length)
  return isShort ? dashes : -1
}

/** Mailman and others append a rule, the name of the list and where to find it. */
function withoutListFooter(lines: readonly string[]): readonly string[] {
  const rule = lines.findLastIndex((line) => LIST_RULE.test(line))
  if (rule === -1) return lines
  const footer = lines.slice(rule + 1).filter((line) => line !== '')
  const isFooter =
    footer.length <= MAX_SIGNATURE.lines &&
    footer.some((line) => /mailing list|\blistinfo\b/i.test(line)) &&
    footer.some((line) => /^\s*(?:unsubscribe\S*\s*)?https?:\/\/\S+$/i.test(line))
  return isFooter ? lines.slice(0, rule) : lines
}
