import type { Entity } from '../mime/tree.ts'
import type { Part } from './parts.ts'

/** What `unreadable` says of a mail that only its recipient's key opens. */
const ENCRYPTED = 'encrypted'

const SMIME = /^application\/(?:x-)?pkcs7-mime$/
/** Object identifiers in DER: CMS enveloped-data and authEnveloped-data, and signed-data (RFC 5652, RFC 5083). */
const ENVELOPED = ['2a864886f70d010703', '2a864886f70d0109100117']
const SIGNED = '2a864886f70d010702'
/** At the beginning of a line, unlike where somebody quotes it. */
const INLINE_PGP = /^-----BEGIN PGP MESSAGE-----[ \t]*$/m
const MAX_LOOK = 64 * 1024

/**
 * Why a mail's text cannot be read, where it is encrypted (PGP/MIME, S/MIME, or PGP within the text), or signed in a way that
 * wraps it. Undefined for all other mail.
 */
export function sealed(root: Entity, text: string, parts: readonly Part[]): string | undefined {
  if (root.type === 'multipart/encrypted') return ENCRYPTED
  const has = (test: (part: Part) => boolean) => parts.some(test)
  if (has(isPgpMime) || INLINE_PGP.test(text.slice(0, MAX_LOOK))) return ENCRYPTED
  if (has((part) => isSmime(part) && isEnveloped(part))) return ENCRYPTED
  const signed =
    text.trim() === '' ? parts.find((part) => isSmime(part) && oidIn(part).includes(SIGNED)) : undefined
  return signed && `Its text is inside the signature ${signed.name}, which is not read.`
}

/** Some servers wrap it in another container, or lose the type of that. */
function isPgpMime({ type, content }: Part): boolean {
  return type === 'application/pgp-encrypted' && content.length < 1000
}

function isSmime({ type, name }: Part): boolean {
  return SMIME.test(type) || (type === 'application/octet-stream' && /\.p7m$/i.test(name))
}

function isEnveloped(part: Part): boolean {
  return (
    /^(?:auth-)?enveloped-data$/i.test(part.smimeType ?? '') ||
    ENVELOPED.some((each) => oidIn(part).includes(each))
  )
}

/** The beginning of the content, in which its type stands. */
function oidIn({ content }: Part): string {
  return Buffer.from(content.subarray(0, 64)).toString('hex')
}
