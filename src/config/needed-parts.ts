import { missingPackages, PART_NAMES, type Part, partMissing } from '../core/parts.ts'
import type { TransportKind } from '../core/transport.ts'
import type { Config } from './load-config.ts'

/** The users of each optional part, such as `gateway team`. */
export type Needs = Partial<Record<Part, string[]>>

type Kinds = Readonly<Record<string, Pick<TransportKind, 'part'>>>

/**
 * The optional parts that a configuration needs. `skillsWithModel`: skills that name a model of
 * their own.
 */
export function neededParts(config: Config, kinds: Kinds, skillsWithModel: readonly string[]): Needs {
  const needs: Needs = {}
  const add = (part: Part | undefined, by: string) => {
    if (part) needs[part] = [...(needs[part] ?? []), by]
  }
  for (const { name, transport, enabled } of config.gateways) {
    if (enabled) add(kinds[transport]?.part, `gateway ${name}`)
  }
  for (const { name, queue, model } of config.routes) {
    if (queue !== undefined) add('queues', `route ${name}`)
    if (model !== undefined) add('model', `route ${name}`)
  }
  for (const name of skillsWithModel) add('model', `skill ${name}`)
  if (config.model) add('model', '`model`')
  if (config.transcribe) add('model', '`transcribe`')
  for (const { name } of config.mcp.servers) add('mcp', `MCP server ${name}`)
  return needs
}

/** The needed parts that are not installed, in the order of `PART_NAMES`. */
export function missingParts(needs: Needs): Part[] {
  return PART_NAMES.filter((part) => needs[part] && missingPackages(part).length > 0)
}

/** Throws `part_missing` if a needed part is not installed. */
export function requireParts(needs: Needs): void {
  const missing = missingParts(needs)
  if (missing.length > 0) throw partMissing(missing, missing.flatMap((part) => needs[part] ?? []).join(', '))
}
