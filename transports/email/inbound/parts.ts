import { defined } from '../../../src/lib/defined.ts'
import { readHead } from '../mime/head.ts'
import { oneLine } from '../mime/one-line.ts'
import { contentOf, type Entity, headerOf } from '../mime/tree.ts'
import { decodeWords } from '../mime/words.ts'

/** An attachment or an inline image. */
export type Part = {
  name: string
  type: string
  contentId?: string
  charset?: string
  /** The purpose of a calendar, from its type (RFC 6047). */
  method?: string
  smimeType?: string
  content: Uint8Array
}

/** The first bytes of a part as text, one character per byte. */
export function startAsText({ content }: Pick<Part, 'content'>, length: number): string {
  return new TextDecoder('latin1').decode(content.subarray(0, length))
}

const MAX_SUBJECT = 100

/** The files of a mail with their names. */
export function partsFrom(files: readonly Entity[]): Part[] {
  return files.map((entity, index) => {
    const content = contentOf(entity)
    const id = headerOf(entity, 'content-id').trim().replace(/^<|>$/g, '')
    return {
      name: nameOf(entity, content) || `part-${index + 1}`,
      type: entity.type,
      ...defined({
        contentId: id || undefined,
        charset: entity.params.get('charset') || undefined,
        method: entity.params.get('method')?.trim() || undefined,
        smimeType: entity.params.get('smime-type')?.trim() || undefined,
      }),
      content,
    }
  })
}

/** Whether a part is an iCalendar file, by its type or its name. */
export function isCalendar({ type, name }: Pick<Part, 'type' | 'name'>): boolean {
  return (
    /^(?:text\/calendar|application\/(?:ics|calendar))$/.test(type) ||
    (/\.ics$/i.test(name) && /^(?:text\/plain|application\/octet-stream)$/.test(type))
  )
}

function nameOf({ disposition, params, type }: Entity, content: Buffer): string {
  const written = disposition.params.get('filename') || params.get('name') || ''
  const name = withoutPath(oneLine(decodeWords(written)))
  if (name !== '') return name
  if (type === 'text/calendar') return 'invite.ics'
  return /^message\/(?:rfc822|global)$/.test(type) ? `${subjectIn(content)}.eml` : ''
}

function withoutPath(name: string): string {
  return name.replace(/^.*[\\/]/, '')
}

/** The subject of a forwarded mail, as the name of its file. */
function subjectIn(content: Buffer): string {
  const { headers } = readHead(content)
  const subject = oneLine(decodeWords(headerOf({ headers }, 'subject')))
  return (
    subject
      .replaceAll(/[\\/:*?"<>|\s]+/g, ' ')
      .trim()
      .slice(0, MAX_SUBJECT)
      .trim() || 'message'
  )
}
