import { argumentsText } from './arguments-in-words.ts'
import { isObject } from './is-object.ts'

/** The metadata of a skill for people: a name and its value per row. */
export function metadataRows(metadata: Record<string, unknown>): [name: string, text: string][] {
  return Object.entries(metadata).map(([name, value]) =>
    name === 'annotations' && isObject(value) ? ['effect', effectOf(value)] : [name, textOf(value)],
  )
}

/** What the annotations of MCP say about a skill. */
const EFFECTS: Readonly<Record<string, string>> = {
  'readOnlyHint: true': 'changes nothing',
  'readOnlyHint: false': 'changes something',
  'destructiveHint: true': 'may destroy something',
  'destructiveHint: false': 'destroys nothing',
  'idempotentHint: true': 'has the same effect when it runs twice',
  'idempotentHint: false': 'has another effect each time it runs',
  'openWorldHint: true': 'reaches other systems',
  'openWorldHint: false': 'reaches no other system',
}

function effectOf(annotations: Record<string, unknown>): string {
  const hints = Object.entries(annotations).map(([name, value]) => `${name}: ${textOf(value)}`)
  return hints.map((hint) => EFFECTS[hint] ?? hint).join(', ')
}

function textOf(value: unknown): string {
  if (isObject(value)) return argumentsText(value)
  return Array.isArray(value) ? value.map(textOf).join(', ') : String(value)
}
