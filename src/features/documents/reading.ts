import { reasonOf, TriviumError } from '../../core/errors.ts'
import type { JsonObject } from '../../core/json.ts'
import type { Log } from '../../core/log.ts'
import { attempt } from '../../lib/attempt.ts'
import { compileSchema } from './document-schema.ts'
import { createEntryReader } from './entries.ts'
import { copyOf, migrateDocument, migrationError, versionOf } from './migration.ts'
import type { DocumentBackend, DocumentSpec, Snapshot, Stored } from './spec.ts'
import { corruptError, LINK_REASON, parseDocument } from './text.ts'

export type Reading<T extends JsonObject = JsonObject> = ReturnType<typeof createReading<T>>

/** Reads one stored document: its content and version, validated and migrated. Writes nothing. */
export function createReading<T extends JsonObject>(
  spec: DocumentSpec<T>,
  backend: Pick<DocumentBackend, 'locate'>,
  log?: Log,
) {
  const { name } = spec
  const check = compileSchema<T>(spec)
  const { checkReadable, ...unreadableEntries } = createEntryReader(spec, check, log)
  return {
    isCurrent,
    currentOf,
    contentOf,
    statedVersion,
    migrate,
    validateStored,
    validateMigrated,
    validateNew,
    ...unreadableEntries,
  }

  function isCurrent(stored: Stored): stored is Snapshot {
    return 'document' in stored && versionOf(stored.document) === spec.version
  }

  /** Validates a document of the current version. Throws `state_corrupt`. */
  function currentOf({ document, revision }: Snapshot): Snapshot<T> {
    return { document: validateStored(document), revision }
  }

  /** The stored JSON object, not validated. Throws `state_corrupt` if it is not an object. */
  function contentOf(stored: Stored): JsonObject {
    if ('document' in stored) return stored.document
    try {
      return parseDocument('edited' in stored ? stored.edited.text : '')
    } catch (error) {
      throw unreadable('edited' in stored && stored.edited.isLink ? LINK_REASON : reasonOf(error), error)
    }
  }

  /** The version in the stored text; undefined if the text is unreadable. */
  function statedVersion(stored: Stored): number | undefined {
    return attempt(() => versionOf(contentOf(stored)))
  }

  /**
   * The document in the current version, not validated; the same object if nothing changes. A
   * document without a version counts as current if it is valid.
   */
  function migrate(found: JsonObject): JsonObject {
    if (versionOf(found) === spec.version) return found
    const withVersion = { ...found, schema_version: spec.version }
    if (found.schema_version === undefined && attempt(() => validateStored(withVersion))) return withVersion
    return migrateDocument(spec, found, backend.locate(name))
  }

  /** Validates the content of the store, without unreadable entries. Throws `state_corrupt`. */
  function validateStored(document: JsonObject): T {
    return checkReadable(document, (details) => unreadable(`it does not match its schema: ${details}`))
  }

  /** Validates the result of migrations. Throws `state_version`. */
  function validateMigrated(found: JsonObject, current: JsonObject): T {
    return checkReadable(current, (details) => {
      const what = `The migrations to version ${spec.version} made a document that does not match its schema: ${details}`
      return migrationError(spec, versionOf(found), backend.locate(name), what)
    })
  }

  /**
   * Validates a new document, and returns a copy that equals what a later read returns. Throws
   * `state_invalid`.
   */
  function validateNew(document: JsonObject): T {
    return check(copyOf(document), (details) => new TriviumError('state_invalid', { name, details }))
  }

  function unreadable(reason: string, cause?: unknown): TriviumError {
    return corruptError(name, backend.locate(name), reason, cause)
  }
}
