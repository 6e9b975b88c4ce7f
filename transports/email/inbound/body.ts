import { isUtf8 } from 'node:buffer'
import { decodeText } from '../mime/charset.ts'
import { fromFlowed } from '../mime/flowed.ts'
import { contentOf, type Entity } from '../mime/tree.ts'
import { cleanText, htmlToText } from './readable-text.ts'
import { isStub } from './stub.ts'

/** The text of a mail, and the parts that are files. */
export type Body = { text: string; html?: string; files: Entity[] }

type Format = 'plain' | 'html'

/** A part of the text: plain, HTML, or both. */
type Piece = Record<Format, string[]>

/** Where an entity is in the mail. */
type Place = {
  /** Whether it is an immediate part of a `multipart/alternative`. */
  isAlternative: boolean
  /** The piece for the outermost `multipart/alternative`: all its parts have the same content. */
  shared?: Piece
  /** The formats that `shared` already had before this part of the `multipart/alternative`. */
  known: readonly Format[]
  /**
   * The formats that `shared` already had before the innermost `multipart/alternative`. A text in
   * one of these formats only repeats content.
   */
  repeated: readonly Format[]
}

/**
 * Finds the text of a mail in its parts. Forwarded messages stay files, because this sender did not
 * write their text.
 */
export function readBody(root: Entity): Body {
  const pieces: Piece[] = []
  const files: Entity[] = []
  let hasText = false

  const collect = (entity: Entity, place: Place): void => {
    if (entity.type === 'multipart/alternative' && entity.parts) {
      const piece = place.shared ?? addPiece()
      for (const part of entity.parts) {
        const known = formatsOf(piece)
        collect(part, { isAlternative: true, shared: piece, known, repeated: place.known })
      }
    } else if (entity.parts) {
      for (const part of entity.parts) collect(part, { ...place, isAlternative: false })
    } else collectSingle(entity, place)
  }
  const collectSingle = (entity: Entity, { isAlternative, shared, repeated }: Place): void => {
    // A named text is a file, unless it is the first text, or an alternative.
    const isFile = hasName(entity) && hasText && !isAlternative
    if (!isTextual(entity) || isFile) {
      files.push(entity)
      return
    }
    hasText = true
    const format = entity.type === 'text/html' ? 'html' : 'plain'
    if (isAlternative && repeated.includes(format)) return
    const piece = shared ?? addPiece()
    piece[format].push(textOf(entity))
  }
  const addPiece = (): Piece => {
    const piece: Piece = { plain: [], html: [] }
    pieces.push(piece)
    return piece
  }
  collect(root, { isAlternative: false, known: [], repeated: [] })
  if (pieces.every((piece) => formatsOf(piece).length === 0)) {
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

/** The formats in which a piece has a text. */
function formatsOf({ plain, html }: Piece): Format[] {
  const hasWords = (texts: readonly string[]) => texts.some((text) => text.trim() !== '')
  return [...(hasWords(plain) ? (['plain'] as const) : []), ...(hasWords(html) ? (['html'] as const) : [])]
}

function isTextual({ type, disposition }: Entity): boolean {
  return /^text\/(?:plain|html)$/.test(type) && disposition.value !== 'attachment'
}

/** Subtypes of text that are files. Others are read as plain text (RFC 2046, section 4.1.4). */
const FILE_TYPE =
  /^text\/(?:calendar|x?-?vcard|directory|csv|tab-separated|rtf|xml|css|javascript|x-amp|watch|vnd\.)/
/** Types that some programs give to a text. */
const UNSPECIFIC = /^application\/(?:octet-stream|text|x-text)$/

/**
 * Whether a part is the text of a mail that has no other: an unknown subtype of text, or UTF-8 of
 * an unspecific type that is the whole mail.
 */
function isOtherText(entity: Entity, root: Entity): boolean {
  const { type, disposition } = entity
  if (hasName(entity) || disposition.value === 'attachment') return false
  if (type.startsWith('text/')) return !FILE_TYPE.test(type)
  if (entity !== root || !UNSPECIFIC.test(type)) return false
  const content = contentOf(entity)
  return isUtf8(content) && !content.includes(0)
}

/** Tags of `text/enriched` and `text/richtext`, except `<lt>`. */
const TAG = /<(?!lt>)\/?[a-z][a-z-]{0,60}>/gi

/** The text of a part with any subtype, without the tags of `text/enriched` and `text/richtext`. */
function otherText(entity: Entity): string {
  const text = textOf(entity)
  if (!/^text\/(?:enriched|richtext)$/.test(entity.type)) return text
  // A literal `<` is `<<` in text/enriched (RFC 1896), and `<lt>` in text/richtext (RFC 1341).
  const withoutTags = text.split('<<').map((piece) =>
    piece
      .replaceAll(/<(param|comment)>[^<]*<\/\1>/gi, '')
      .replaceAll(/<nl>/gi, '\n')
      .replaceAll(TAG, '')
      .replaceAll(/<lt>/gi, '<'),
  )
  return withoutTags.join('<')
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
