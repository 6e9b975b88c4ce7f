import { isUtf8 } from 'node:buffer'
import { decodeText } from '../mime/charset.ts'
import { fromFlowed } from '../mime/flowed.ts'
import { contentOf, type Entity } from '../mime/tree.ts'
import { cleanText, htmlToText } from './readable-text.ts'
import { isStub } from './stub.ts'

/** The text of a mail, and the parts that are files. */
export type Body = { text: string; html?: string; files: Entity[] }

/** A part of the text: plain, HTML, or both. */
type Piece = { plain: string[]; html: string[] }

/**
 * Finds the text of a mail in its parts. Forwarded messages stay files, because this sender did not
 * write their text.
 */
export function readBody(root: Entity): Body {
  const pieces: Piece[] = []
  const files: Entity[] = []
  let hasText = false

  /**
   * Parts of one `multipart/alternative` have the same content, so they share a piece (`shared`), also
   * when they are nested. `isAlternative`: the entity is directly in one.
   */
  const collect = (entity: Entity, shared: Piece | undefined, isAlternative: boolean) => {
    if (entity.parts) {
      const hasAlternatives = entity.type === 'multipart/alternative'
      const piece = hasAlternatives ? addPiece() : shared
      for (const part of entity.parts) collect(part, piece, hasAlternatives)
      return
    }
    // A named text is a file, unless it is the first text, or an alternative.
    const isFile = hasName(entity) && hasText && !isAlternative
    if (!isTextual(entity) || isFile) {
      files.push(entity)
      return
    }
    hasText = true
    const piece = shared ?? addPiece()
    const list = entity.type === 'text/html' ? piece.html : piece.plain
    list.push(textOf(entity))
  }
  const addPiece = (): Piece => {
    const piece: Piece = { plain: [], html: [] }
    pieces.push(piece)
    return piece
  }
  collect(root, undefined, false)
  if (pieces.every(({ plain, html }) => [...plain, ...html].join('').trim() === '')) {
    const other = files.findIndex((file) => isOtherText(file, root))
    const [entity] = other === -1 ? [] : files.splice(other, 1)
    if (entity) addPiece().plain.push(otherText(entity))
  }

  const texts = pieces.map((piece) => ({ plain: piece.plain.join('\n\n'), html: piece.html.join('\n') }))
  const html = texts.some((each) => each.html.trim() !== '')
    ? texts.map((each) => each.html || asHtml(each.plain)).join('\n')
    : undefined
  const text = texts
    .map(textOfPiece)
    .filter((each) => each.trim() !== '')
    .join('\n\n')
  return { text, files, ...(html === undefined ? {} : { html }) }
}

function isTextual({ type, disposition }: Entity): boolean {
  return /^text\/(?:plain|html)$/.test(type) && disposition.value !== 'attachment'
}

/** Subtypes of text that are files. Others are read as plain text (RFC 2046, section 4.1.4). */
const FILE_TYPE =
  /^text\/(?:calendar|x?-?vcard|directory|csv|tab-separated|rtf|xml|css|javascript|x-amp|watch|vnd\.)/
/** Types that some programs give to a text. */
const UNSPECIFIC = /^application\/(?:octet-stream|text|x-text)$/

/** Whether a part is the text of a mail that has no other: an unknown subtype, or the whole mail. */
function isOtherText(entity: Entity, root: Entity): boolean {
  const { type, disposition } = entity
  if (hasName(entity) || disposition.value === 'attachment') return false
  if (type.startsWith('text/')) return !FILE_TYPE.test(type)
  if (entity !== root || !UNSPECIFIC.test(type)) return false
  const content = contentOf(entity)
  return isUtf8(content) && !content.includes(0)
}

/** `text/enriched` (RFC 1896) and `text/richtext` have tags. */
function otherText(entity: Entity): string {
  const text = textOf(entity)
  if (!/^text\/(?:enriched|richtext)$/.test(entity.type)) return text
  // A doubled `<` is a letter.
  const pieces = text.split('<<').map((piece) =>
    piece
      .replaceAll(/<param>[^<]*<\/param>/gi, '')
      .replaceAll(/<nl>/gi, '\n')
      .replaceAll(/<\/?[a-z][a-z-]{0,60}>/gi, ''),
  )
  return pieces.join('<')
}

function hasName({ disposition, params }: Entity): boolean {
  return disposition.params.has('filename') || params.has('name')
}

function textOf(entity: Entity): string {
  const { params, type } = entity
  const content = contentOf(entity)
  const isHtml = type === 'text/html'
  const text = cleanText(decodeText(content, params.get('charset') || (isHtml ? metaCharset(content) : '')))
  if (!isHtml && text.includes(SIGNED)) return withoutArmour(text)
  const isFlowed = !isHtml && /^flowed$/i.test(params.get('format') ?? '')
  return isFlowed ? fromFlowed(text, /^yes$/i.test(params.get('delsp') ?? '')) : text
}

const SIGNED = '-----BEGIN PGP SIGNED MESSAGE-----'
const SIGNATURE = '-----BEGIN PGP SIGNATURE-----'

/** The text inside a clear signature (RFC 9580, section 7), and what is around it. */
function withoutArmour(text: string): string {
  const start = text.indexOf(SIGNED)
  const end = text.indexOf(SIGNATURE, start)
  const head = /^[^\n]*\n(?:[A-Za-z]+:[^\n]*\n)*\s*?\n/.exec(text.slice(start))
  if (end === -1 || !head) return text
  const signed = text.slice(start + head[0].length, end).replaceAll(/^- /gm, '')
  const after = /-----END PGP SIGNATURE-----[^\n]*\n?/.exec(text.slice(end))
  const rest = after ? text.slice(end + after.index + after[0].length) : ''
  return `${text.slice(0, start)}${signed.trimEnd()}\n${rest}`
}

const META_CHARSET = /<meta\s[^>]{0,200}?charset\s?=\s?["']?([\w:-]{2,40})/i

/** Maximum bytes of a page that are searched for its charset. */
const MAX_HTML_HEAD = 4_096

/** The charset that the page itself states; `''` if none. */
function metaCharset(content: Buffer): string {
  return META_CHARSET.exec(content.toString('latin1', 0, MAX_HTML_HEAD))?.[1] ?? ''
}

function textOfPiece({ plain, html }: { plain: string; html: string }): string {
  if (html.trim() === '') return plain
  return plain.trim() === '' || isStub(plain, html) ? htmlToText(html) : plain
}

function asHtml(text: string): string {
  const escaped = text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
  return text.trim() === '' ? '' : `<div>${escaped.trim().replaceAll('\n', '<br>\n')}</div>`
}
