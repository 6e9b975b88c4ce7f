import { randomBytes } from 'node:crypto'
import type { MessageChunk, MimeNode } from '@zone-eu/mailsplit'
import type { Part } from './part.ts'

/** postal-mime keeps each line of a part by itself, and takes many seconds for a million of them. */
export const MAX_LINES = 20_000
/** What is kept of the texts, all together. */
const MAX_TEXT = 256 * 1024
/** What is kept of the headers of the parts, all together: postal-mime gives up at 256 KB. */
const MAX_HEADERS = 128 * 1024

/** What is left of a big mail without its attachments, small enough to be parsed in memory. */
export type Skeleton = {
  /** A container, or a text of which the body follows. */
  addText(node: MimeNode): void
  /** An attachment; `index` finds it again. */
  addNote(node: MimeNode, index: number): void
  /** A piece of a text, or what stands between the parts. */
  add(chunk: MessageChunk): void
  bytes(): Buffer
  /** What was left out, where there was too much text. */
  cut(): string | undefined
  /** The parts of the parsed skeleton, with the attachments in the place of their notes; none of them is lost. */
  rejoin(parts: readonly Part[], attachments: readonly Part[]): Part[]
}

/**
 * Each attachment leaves a note in its place, with a random word that no sender can know, by which its part is found
 * again. Where there is no room for the note, its part is what `rejoin` is given.
 */
export function createSkeleton(): Skeleton {
  const secret = randomBytes(16).toString('hex')
  const pieces: Buffer[] = []
  let text = 0
  let lines = 0
  let headers = 0
  let cut = false
  let isSkipped = false
  const hasRoom = () => text < MAX_TEXT && lines < MAX_LINES

  const addHead = (node: MimeNode, head: Buffer) => {
    // The headers of the mail itself are what it is about.
    const counted = node.root ? 0 : head.length
    isSkipped = !hasRoom() || headers + counted > MAX_HEADERS
    if (isSkipped) return
    lines += 2
    headers += counted
    pieces.push(head)
  }

  return {
    addText: (node) => addHead(node, node.getHeaders()),
    addNote: (node, index) => addHead(node, noteFor(node, `${secret} ${index}`)),
    add({ type, value }) {
      const isText = type === 'body'
      if (!hasRoom() || (isText && isSkipped)) {
        cut ||= isText
        return
      }
      // Boundaries count as well: a mail can consist of nothing else.
      const kept = upToLine(value, MAX_LINES - lines).subarray(0, MAX_TEXT - text)
      const isWhole = kept.length === value.length
      lines += isWhole ? countLines(kept, MAX_LINES) : MAX_LINES
      text += kept.length
      cut ||= !isWhole
      pieces.push(kept)
    },
    bytes: () => Buffer.concat(pieces),
    cut: () =>
      cut ? `Its text is over ${MAX_TEXT} bytes or ${MAX_LINES} lines; the rest was left out.` : undefined,
    rejoin(parts, attachments) {
      const missing = new Set(attachments)
      const joined = parts.map((part) => {
        const attachment = noted(part, secret, attachments)
        if (attachment?.saved) missing.delete(attachment)
        return attachment?.saved ? { ...part, content: new Uint8Array(), saved: attachment.saved } : part
      })
      return [...joined, ...missing]
    },
  }
}

/** The headers of a part with a note for a body. */
function noteFor(node: MimeNode, note: string): Buffer {
  if (node.headers) node.headers.update('Content-Transfer-Encoding', '7bit')
  return Buffer.concat([node.getHeaders(), Buffer.from(`${note}\r\n`)])
}

/** The attachment that this part is a note of. */
function noted({ content }: Part, secret: string, attachments: readonly Part[]): Part | undefined {
  const note = content.length < 200 ? Buffer.from(content).toString('latin1') : ''
  return note.startsWith(secret) ? attachments[Number(note.slice(secret.length))] : undefined
}

/** How many lines end here; at most one more than `enough` are counted. */
export function countLines(bytes: Buffer, enough: number): number {
  let count = 0
  for (let at = bytes.indexOf(10); at !== -1 && count <= enough; at = bytes.indexOf(10, at + 1)) count++
  return count
}

/** The beginning of a text, up to its n-th line end. */
function upToLine(bytes: Buffer, lines: number): Buffer {
  let at = -1
  for (let count = 0; count < lines; count++) {
    at = bytes.indexOf(10, at + 1)
    if (at === -1) return bytes
  }
  return bytes.subarray(0, at + 1)
}
