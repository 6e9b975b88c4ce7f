import { isDeepStrictEqual } from 'node:util'
import { parse } from 'yaml'
import type { Config } from '../config/load-config.ts'
import { type RecordAudit, SYSTEM } from '../core/audit.ts'
import { toTriviumError } from '../core/errors.ts'
import { objectsIn } from '../core/json.ts'
import { type Changes, changesOf } from './changed-settings.ts'

type Read = Pick<Config, 'asRead' | 'environment' | 'envFile' | 'file'>

/** Maximum number of names in an entry. */
const MAX_NAMES = 20
/** Maximum characters of an error in an entry. */
const LONGEST_ERROR = 200

/**
 * Records in the audit log that a reload changed the configuration: the names of what changed, and
 * the settings before and after, masked as in the shown files. Values of variables stay out. The
 * files do not say who changed them.
 */
export async function recordChange(before: Read, after: Read, record: RecordAudit): Promise<void> {
  const parts = { before: partsIn(before), after: partsIn(after) }
  const changed = changedNames(parts.before, parts.after)
  const changes: Changes = changesOf(changed, parts)
  const variables = changedVariables(before, after)
  const isSame = before.asRead.yaml === after.asRead.yaml
  if (isSame && variables.length === 0) return
  await record({
    by: SYSTEM,
    via: 'system',
    action: 'configuration-change',
    target: {
      // The environment of a process does not change, so a variable was changed in `.env`.
      file: isSame ? after.envFile : after.file,
      ...(changed.length > 0 && { changed: shortened(changed) }),
      ...(variables.length > 0 && { variables: shortened(variables) }),
    },
    outcome: 'ok',
    ...(Object.keys(changes).length > 0 && { changes }),
  })
}

/**
 * Records that a changed configuration could not be applied, with the first line of the error.
 * `clean` redacts secrets.
 */
export function recordFailure(
  before: Pick<Read, 'file'>,
  error: unknown,
  { record, clean }: { record: RecordAudit; clean(text: string): string },
): Promise<void> {
  const { code, message } = toTriviumError(error)
  const [line = ''] = clean(message).split('\n')
  return record({
    by: SYSTEM,
    via: 'system',
    action: 'configuration-change',
    target: { file: before.file },
    outcome: code,
    error: line.slice(0, LONGEST_ERROR),
  })
}

/** Variables of the environment or `.env` that the files refer to, and that have another value. */
function changedVariables(before: Read, after: Read): string[] {
  const used = after.asRead.variables.map(({ name }) => name)
  return used.filter((name) => before.environment[name] !== after.environment[name])
}

/**
 * The sections of the files, and the entries of those that have names: `gateways.shop`,
 * `routes.orders`.
 */
function partsIn({ asRead }: Read): Map<string, unknown> {
  const parts = new Map<string, unknown>()
  for (const { yaml } of asRead.files)
    for (const [section, value] of Object.entries(contentOf(yaml)))
      for (const [name, part] of entriesOf(value))
        parts.set(name === '' ? section : `${section}.${name}`, part)
  return parts
}

function contentOf(yaml: string): object {
  try {
    return Object(parse(yaml))
  } catch {
    return {}
  }
}

function entriesOf(section: unknown): [string, unknown][] {
  if (!Array.isArray(section))
    return typeof section === 'object' && section !== null ? Object.entries(section) : [['', section]]
  const named = objectsIn(section)
  const haveNames = named.length === section.length && named.every(({ name }) => typeof name === 'string')
  return haveNames ? named.map((entry) => [String(entry.name), entry]) : [['', section]]
}

function changedNames(before: ReadonlyMap<string, unknown>, after: ReadonlyMap<string, unknown>): string[] {
  const names = new Set([...before.keys(), ...after.keys()])
  return [...names].filter((name) => !isDeepStrictEqual(before.get(name), after.get(name)))
}

/** Names, bounded for an entry. */
export function shortened(names: readonly string[]): string[] {
  return names.length > MAX_NAMES
    ? [...names.slice(0, MAX_NAMES), `and ${names.length - MAX_NAMES} more`]
    : [...names]
}
