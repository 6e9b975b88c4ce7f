/** RFC 5321, section 4.5.3.1; a few characters more for the quotes. */
const MAX_LOCAL = 66
const MAX_DOMAIN = 255
const DOT_ATOM = /^[^\s@<>,;:"()[\]\\]+$/
const QUOTED_STRING = /^"(?:[^"\\]|\\.)+"$/
const DOMAIN_LITERAL = /^\[(?:\d{1,3}(?:\.\d{1,3}){3}|ipv6:[\da-f:.]+)\]$/i

/** True for exactly one address (RFC 5321, section 4.1.2), also with a quoted local part or an address literal. */
export function isAddress(text: string): boolean {
  const { local, domain } = split(text)
  if (local.length > MAX_LOCAL || domain.length > MAX_DOMAIN || /\p{Cc}/u.test(text)) return false
  const hasLocal = DOT_ATOM.test(local) || QUOTED_STRING.test(local)
  return hasLocal && (DOT_ATOM.test(domain) || DOMAIN_LITERAL.test(domain))
}

/** The address of a parsed mail as it may be sent to: parsers take the quotes from around a local part that needs them. */
export function quotedAsNeeded(address: string): string {
  const { local, domain } = split(address)
  if (!local || DOT_ATOM.test(local) || QUOTED_STRING.test(local)) return address
  return `"${local.replaceAll(/["\\]/g, '\\$&')}"@${domain}`
}

function split(address: string): { local: string; domain: string } {
  const at = address.lastIndexOf('@')
  return { local: address.slice(0, Math.max(at, 0)), domain: address.slice(at + 1) }
}
