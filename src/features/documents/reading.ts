import { reasonOf, TriviumError } from '../../core/errors.ts'
import type { JsonObject } from '../../core/json.ts'
import { attempt } from '../../lib/attempt.ts'
import {
  compileSchema,
  copyOf,
  corrupt,
  type DocumentBackend,
  type DocumentSpec,
  failedMigration,
  LINKED,
  migrationOf,
  parseDocument,
  type Snapshot,
  type Stored,
  versionOf,
} from './spec.ts'

export type Reading<T extends JsonObject = JsonObject> = ReturnType<typeof createReading<T>>

/** Reads what is stored of one document: its content and version, checked and migrated. Writes nothing. */
export function createReading<T extends JsonObject>(
  spec: DocumentSpec<T>,
  backend: Pick<DocumentBackend, 'locate'>,
) {
  const { name } = spec
  const check = compileSchema<T>(spec)
  return { isCurrent, currentOf, contentOf, statedVersion, upToDate, checked, migrated, valid }

  function isCurrent(stored: Stored): stored is Snapshot {
    return 'document' in stored && versionOf(stored.document) === spec.version
  }

  function currentOf({ document, revision }: Snapshot): Snapshot<T> {
    return { document: checked(document), revision }
  }

  /** The JSON object that is stored, unchecked. Throws `state_corrupt` if it is not one. */
  function contentOf(stored: Stored): JsonObject {
    if ('document' in stored) return stored.document
    try {
      return parseDocument('edited' in stored ? stored.edited.text : '')
    } catch (error) {
      throw unreadable('edited' in stored && stored.edited.isLink ? LINKED : reasonOf(error), error)
    }
  }

  /** The version that the stored text states; undefined if there is no readable text. */
  function statedVersion(stored: Stored): number | undefined {
    return attempt(() => versionOf(contentOf(stored)))
  }

  /** The document in the current version; the same object if it has that already. A valid one without a version has it too. */
  function upToDate(found: JsonObject): JsonObject {
    if (versionOf(found) === spec.version) return found
    const stated = { ...found, schema_version: spec.version }
    if (found.schema_version === undefined && attempt(() => checked(stated))) return stated
    return migrationOf(spec, found, backend.locate(name))
  }

  function checked(document: JsonObject): T {
    return check(document, (details) => unreadable(`it breaks its schema: ${details}`))
  }

  /** Checks the result of migrations. */
  function migrated(found: JsonObject, current: JsonObject): T {
    return check(current, (details) => {
      const what = `The migrations to version ${spec.version} made a document that breaks its schema: ${details}`
      return failedMigration(spec, versionOf(found), backend.locate(name), what)
    })
  }

  /** A checked copy, as it would be read again after writing. */
  function valid(document: JsonObject): T {
    return check(copyOf(document), (details) => new TriviumError('state_invalid', { name, details }))
  }

  function unreadable(reason: string, cause?: unknown): TriviumError {
    return corrupt(name, backend.locate(name), reason, cause)
  }
}
