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

/** Reads one stored document: its content and version, validated and migrated. Writes nothing. */
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

  /** The stored JSON object, not validated. Throws `state_corrupt` if it is not an object. */
  function contentOf(stored: Stored): JsonObject {
    if ('document' in stored) return stored.document
    try {
      return parseDocument('edited' in stored ? stored.edited.text : '')
    } catch (error) {
      throw unreadable('edited' in stored && stored.edited.isLink ? LINKED : reasonOf(error), error)
    }
  }

  /** The version in the stored text; undefined if the text is unreadable. */
  function statedVersion(stored: Stored): number | undefined {
    return attempt(() => versionOf(contentOf(stored)))
  }

  /**
   * The document in the current version; the same object if nothing changes. A valid document
   * without a version counts as current.
   */
  function upToDate(found: JsonObject): JsonObject {
    if (versionOf(found) === spec.version) return found
    const stated = { ...found, schema_version: spec.version }
    if (found.schema_version === undefined && attempt(() => checked(stated))) return stated
    return migrationOf(spec, found, backend.locate(name))
  }

  function checked(document: JsonObject): T {
    return check(document, (details) => unreadable(`it does not match its schema: ${details}`))
  }

  /** Validates the result of migrations. */
  function migrated(found: JsonObject, current: JsonObject): T {
    return check(current, (details) => {
      const what = `The migrations to version ${spec.version} made a document that does not match its schema: ${details}`
      return failedMigration(spec, versionOf(found), backend.locate(name), what)
    })
  }

  /** A validated copy, equal to what a later read returns. */
  function valid(document: JsonObject): T {
    return check(copyOf(document), (details) => new TriviumError('state_invalid', { name, details }))
  }

  function unreadable(reason: string, cause?: unknown): TriviumError {
    return corrupt(name, backend.locate(name), reason, cause)
  }
}
