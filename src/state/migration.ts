import { TriviumError } from '../core/errors.ts'
import type { JsonObject } from '../core/json.ts'
import { type DocumentSpec, formatDocument, parseDocument } from './document.ts'

/** The version a document says it has; 0 where it says none. */
export function versionOf(document: JsonObject): number {
  const found = document.schema_version
  return typeof found === 'number' && Number.isInteger(found) ? found : 0
}

/**
 * Takes a document through every migration up to the current version, on a copy; a current one comes back as
 * it is, so it may run any number of times. Throws `state_version` where a step is missing.
 */
export function migrationOf(spec: DocumentSpec, document: JsonObject, path: string): JsonObject {
  let current = parseDocument(formatDocument(document))
  const found = versionOf(current)
  for (let version = found; version < spec.version; version += 1) {
    const step = spec.migrations?.[version]
    if (!step) {
      const what = `There is no migration from version ${version}: add one beside its schema, then run \`trivium state migrate ${spec.name}\`.`
      throw new TriviumError('state_version', { path, found, known: spec.version, what })
    }
    current = { ...step(current), schema_version: version + 1 }
  }
  return current
}
