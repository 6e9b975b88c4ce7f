import { isDeepStrictEqual } from 'node:util'
import { readParts, type StoredNote } from '../../core/erasing.ts'
import { isJsonObject, type JsonObject, parseJson, pathGet, toJson } from '../../core/json.ts'
import type { Store } from '../../core/store.ts'
import { withoutError, withoutName } from './kept-records.ts'
import type { LaterFilter } from './later-messages.ts'
import { isNamedIn } from './naming.ts'
import { definePlace, type Place, type Subject } from './place.ts'

/** `rest`: the detail that the erasure leaves; without it, the note is removed. */
type FoundNote = { note: StoredNote; rest?: JsonObject }

/**
 * Notes in the histories of other messages that name the person. If the person is the author, or
 * named in the reason, the error or the result, only that is replaced, and the text that they wrote to others is
 * removed: without the note that it failed, or that somebody answered, settled, denied or handled it,
 * a message would have another outcome. Other notes, such as of replies to the person, are removed.
 */
export function createHistoriesPlace(
  { erasing, journal }: Pick<Store, 'erasing'> & { journal: Pick<Store['journal'], 'get'> },
  withoutLater: LaterFilter,
): Place {
  /** The same of an address on one gateway, if the message is not of another gateway. */
  const onGateway = async (found: readonly FoundNote[], subject: Subject) => {
    if (!subject.about.isNarrow) return found
    const checked = found.map(async ({ note }) => {
      const message = await journal.get(String(pathGet(note.content, 'messageId')))
      return foundIn(note, subject, message?.gateway)
    })
    return (await Promise.all(checked)).flat()
  }
  return definePlace<FoundNote>({
    name: 'histories',
    where: 'store',
    async *find(subject) {
      for await (const notes of readParts(erasing.notes)) {
        const found = await onGateway(
          notes.flatMap((note) => foundIn(note, subject)),
          subject,
        )
        yield await withoutLater(found, ({ note }) => toJson(note), subject)
      }
    },
    record: ({ note }) => note.content,
    async erase(found) {
      await erasing.dropNotes(found.flatMap(({ note, rest }) => (rest ? [] : note)))
      await erasing.changeNotes(found.flatMap(({ note, rest }) => (rest ? { note, detail: rest } : [])))
    },
  })
}

function foundIn(note: StoredNote, { about, person }: Subject, on?: string): FoundNote[] {
  const { messageId, detail = null } = Object(note.content)
  if (person.messages.has(messageId)) return []
  const rest = isJsonObject(detail) ? withoutPerson(detail, about, on) : detail
  if (about.refersTo(rest, on)) return [{ note }]
  return isDeepStrictEqual(rest, detail) ? [] : [{ note, rest }]
}

function withoutPerson(detail: JsonObject, about: Subject['about'], on?: string): JsonObject {
  const anonymous = withoutResult(withoutError(withoutName(detail, about, on), about, on), about, on)
  if (anonymous.by === detail.by) return anonymous
  const { text: _, subject: __, ...rest } = anonymous
  return rest
}

/** Without what a skill returned, if that names the person: the message stays done. */
function withoutResult(detail: JsonObject, about: Subject['about'], on?: string): JsonObject {
  const { returned, ...rest } = detail
  if (typeof returned !== 'string') return detail
  // JSON that was cut cannot be parsed.
  const said = parseJson(returned) ?? returned.replaceAll(/\\[nrt]/g, ' ')
  return isNamedIn(said, about, on) ? rest : detail
}
