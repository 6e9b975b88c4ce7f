import { isDeviceSignature } from './device-signature.ts'
import { isRule } from './lines.ts'

/** The space distinguishes a signature from two dashes (RFC 3676, section 4.3). */
export const SIGNATURE = '-- '
/** Maximum size of a signature whose delimiter lost its space. */
const MAX_SIGNATURE = { lines: 6, length: 80 }
const LIST_RULE = /^_{2,}$/

/** Removes the signatures of the sender, their device or app, and a mailing list. */
export function withoutSignature(lines: readonly string[], kind: 'reply' | 'first'): string[] {
  const own = kind === 'reply' ? withoutListFooter(lines) : lines
  const start = signatureStart(own, kind)
  const postscript = own.findIndex((line, at) => at > start && /^p\.? ?s\b/i.test(line))
  const rest = postscript === -1 ? [] : own.slice(postscript)
  const body = start === -1 ? own : [...own.slice(0, start), ...rest]
  return withoutDevices(body.map((line) => line.trimEnd()))
}

/** Removes device and app signatures at the end, and the separators above and below them. */
function withoutDevices(lines: string[]): string[] {
  let end = lines.length
  let hasDevice = false
  for (let at = lines.length - 1; at >= 0; at--) {
    const line = lines[at] ?? ''
    const isDevice = isDeviceSignature(line)
    if (isDevice || /^_{5,}$/.test(line) || (hasDevice && isRule(line))) end = at
    else if (line !== '') break
    hasDevice ||= isDevice
  }
  return lines.slice(0, end)
}

/** The index of the delimiter of the sender's signature; -1 if there is none. */
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

/** Mailman and others append a separator, and the name and URL of the list. */
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
