import type { Entity } from '../mime/tree.ts'
import type { Part } from './parts.ts'

/** The value of `unreadable` for encrypted mail. */
const ENCRYPTED = 'encrypted'

const SMIME = /^application\/(?:x-)?pkcs7-mime$/
/** Object identifiers in DER: CMS enveloped-data and authEnveloped-data, and signed-data (RFC 5652, RFC 5083). */
const ENVELOPED = ['2a864886f70d010703', '2a864886f70d0109100117']
const SIGNED = '2a864886f70d010702'
/** Only at the start of a line, unlike in a quote. */
const INLINE_PGP = /^-----BEGIN PGP MESSAGE-----[ \t]*$/m
const MAX_LOOK = 64 * 1024

/**
 * Why the text of a mail cannot be read: it is encrypted (PGP/MIME, S/MIME, or inline PGP), or
 * signed in an opaque format. Undefined for other mails.
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

/** Some servers wrap it in another container, or drop the type of the container. */
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

/** The start of the content, which contains its type. */
function oidIn({ content }: Part): string {
  return Buffer.from(content.subarray(0, 64)).toString('hex')
}
