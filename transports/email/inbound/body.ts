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

function hasName({ disposition, params }: Entity): boolean {
  return disposition.params.has('filename') || params.has('name')
}

function textOf(entity: Entity): string {
  const { params, type } = entity
  const content = contentOf(entity)
  const isHtml = type === 'text/html'
  const text = cleanText(decodeText(content, params.get('charset') || (isHtml ? metaCharset(content) : '')))
  const isFlowed = !isHtml && /^flowed$/i.test(params.get('format') ?? '')
  return isFlowed ? fromFlowed(text, /^yes$/i.test(params.get('delsp') ?? '')) : text
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
