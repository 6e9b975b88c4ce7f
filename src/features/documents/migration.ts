import { reasonOf, TriviumError } from '../../core/errors.ts'
import { isJsonObject, type JsonObject } from '../../core/json.ts'
import type { DocumentSpec } from './spec.ts'

/** The version stated in a document; 0 without one. */
export function versionOf(document: JsonObject): number {
  const found = document.schema_version
  return typeof found === 'number' && Number.isInteger(found) ? found : 0
}

/**
 * A copy of the document in the current version, not validated. Throws `state_version` for a newer
 * version, and for a migration that is missing or fails.
 */
export function migrateDocument(spec: DocumentSpec, document: JsonObject, path: string): JsonObject {
  const found = versionOf(document)
  const versionError = (todo: string) =>
    new TriviumError('state_version', { path, found, known: spec.version, todo })
  if (found > spec.version)
    throw versionError('Install a newer Trivium, or restore a backup of the older version.')
  let current = copyOf(document)
  for (let version = found; version < spec.version; version += 1) {
    const step = spec.migrations?.[version]
    if (!step) {
      throw versionError(
        `There is no migration from version ${version}: add one beside its schema, then run \`trivium state migrate ${spec.name}\`.`,
      )
    }
    try {
      current = { ...objectOf(step(current)), schema_version: version + 1 }
    } catch (error) {
      const why = error instanceof TriviumError ? error.message : reasonOf(error)
      throw migrationError(spec, found, path, `The migration from version ${version} failed: ${why}`, error)
    }
  }
  return current
}

/** The result of a migration, which may be code without types. */
function objectOf(result: unknown): JsonObject {
  if (isJsonObject(result)) return result
  throw new TypeError('it did not return the document')
}

/** The error of a failed migration. The document is intact, so the error suggests no repair. */
export function migrationError(
  { version: known }: Pick<DocumentSpec, 'version'>,
  found: number,
  path: string,
  failure: string,
  cause?: unknown,
): TriviumError {
  const todo = `${failure.replace(/\.$/, '')}. Fix the migration, then try again; the document is unchanged.`
  return new TriviumError('state_version', { path, found, known, todo }, { cause })
}

/** A copy through JSON: dates become text, undefined properties are dropped. */
export function copyOf<T extends JsonObject>(document: T): T {
  return JSON.parse(JSON.stringify(document))
}
