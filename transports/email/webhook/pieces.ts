import { type Mail, mailFrom } from '../inbound/parse.ts'
import type { Header } from '../mime/head.ts'
import type { Entity } from '../mime/tree.ts'

/** A mail parsed by a provider: its headers, texts and files. */
export type Pieces = { headers: Header[]; text: string; html: string; files: PieceFile[] }

export type PieceFile = { name: string; type: string; bytes: Uint8Array; contentId?: string }

/** Builds the mail from its pieces, as if it had been received as a whole. */
export function mailOfPieces({ headers, text, html, files }: Pieces): Mail {
  const texts = [
    ...(text.trim() === '' && html.trim() !== '' ? [] : [part('text/plain', Buffer.from(text))]),
    ...(html.trim() === '' ? [] : [part('text/html', Buffer.from(html))]),
  ]
  return mailFrom({
    ...container('multipart/mixed', [container('multipart/alternative', texts), ...files.map(fileOf)]),
    headers,
  })
}

/** The headers of the mail in raw form, as far as the provider passed them on. */
export function headOfPieces({ headers }: Pick<Pieces, 'headers'>): Buffer {
  const lines = headers.map(({ key, value }) => `${key}: ${value.replaceAll(/[\r\n]+/g, ' ')}`)
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n`)
}

/** Formats a mailbox as in a header: `"Name" <address>`. */
export function formatMailbox(name: string, address: string): string {
  const label = name.replaceAll(/[\r\n]+/g, ' ').trim()
  return label === '' ? `<${address}>` : `"${label.replaceAll(/["\\]/g, '\\$&')}" <${address}>`
}

function container(type: string, parts: Entity[]): Entity {
  return { ...part(type, Buffer.alloc(0)), params: new Map(), parts }
}

function part(type: string, body: Buffer): Entity {
  return {
    headers: [],
    type,
    params: new Map([['charset', 'utf-8']]),
    disposition: { value: '', params: new Map() },
    body,
  }
}

function fileOf({ name, type, bytes, contentId }: PieceFile): Entity {
  const [mediaType = ''] = type.toLowerCase().split(';', 1)
  return {
    ...part(mediaType.trim() || 'application/octet-stream', Buffer.from(bytes)),
    headers: contentId ? [{ key: 'content-id', value: contentId }] : [],
    disposition: { value: 'attachment', params: new Map(name === '' ? [] : [['filename', name]]) },
  }
}
