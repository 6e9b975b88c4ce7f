import type { Entity } from '../mime/tree.ts'
import type { Part } from './parts.ts'

/** The value of `unreadable` for encrypted mail. */
const ENCRYPTED = 'encrypted'

/** Microsoft Purview: the mail only says that there is a protected message. */
const RPMSG = 'application/x-microsoft-rpmsg-message'
const SMIME = /^application\/(?:x-)?pkcs7-mime$/
/** The object identifiers of CMS enveloped-data (RFC 5652) and authEnveloped-data (RFC 5083). */
const ENVELOPED = ['2a864886f70d010703', '2a864886f70d0109100117']
/** The object identifier of signed-data. */
const SIGNED = '2a864886f70d010702'
/** At the start of a line: in a quote, there is a mark before it. */
const INLINE_PGP = /^-----BEGIN PGP MESSAGE-----[ \t]*$/m
/** Maximum characters of the text that are searched. */
const MAX_SCAN = 64 * 1024
/** A PGP control part has one line; a larger one of its type is something else. */
const MAX_CONTROL_BYTES = 1_000

/**
 * Why the text of a mail cannot be read: it is encrypted (PGP/MIME, S/MIME, Microsoft Purview, or
 * inline PGP), or signed in an opaque format that could not be read. Undefined for other mails.
 */
export function encryptionIn(root: Entity, text: string, parts: readonly Part[]): string | undefined {
  if (root.type === 'multipart/encrypted') return ENCRYPTED
  const has = (test: (part: Part) => boolean) => parts.some(test)
  if (has(({ type }) => type === RPMSG)) return ENCRYPTED
  if (has(isPgpMime) || INLINE_PGP.test(text.slice(0, MAX_SCAN))) return ENCRYPTED
  if (has((part) => isSmime(part) && isEnveloped(part))) return ENCRYPTED
  const signed =
    text.trim() === '' ? parts.find((part) => isSmime(part) && headInHex(part).includes(SIGNED)) : undefined
  return signed && `Its text is inside the signature ${signed.name}, which is not read.`
}

/**
 * Recognises PGP/MIME by its control part: some servers wrap it in another container, or drop the
 * container's type.
 */
function isPgpMime({ type, content }: Part): boolean {
  return type === 'application/pgp-encrypted' && content.length < MAX_CONTROL_BYTES
}

function isSmime({ type, name }: Part): boolean {
  return SMIME.test(type) || (type === 'application/octet-stream' && /\.p7m$/i.test(name))
}

function isEnveloped(part: Part): boolean {
  return (
    /^(?:auth-)?enveloped-data$/i.test(part.smimeType ?? '') ||
    ENVELOPED.some((oid) => headInHex(part).includes(oid))
  )
}

/** The start of the content, which contains the object identifier of its type. */
function headInHex({ content }: Part): string {
  return Buffer.from(content.subarray(0, 64)).toString('hex')
}
