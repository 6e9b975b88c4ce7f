import { isJsonObject, type JsonObject } from '../../core/json.ts'
import { table } from '../../lib/text-table.ts'

/** Number of gateways, and of names in a line, that fit on a screen of 24 lines. */
export const MAX_SHOWN = 4

/**
 * The entries of the project's `skills.json`: prefixes, and the skill that answers. Those of the
 * assistant are only counted.
 */
export function registryLines(
  registry: readonly JsonObject[],
  skills: readonly JsonObject[],
  isScreen: boolean,
): string[] {
  const isShipped = new Map(skills.map(({ name, shipped }) => [name, shipped === true]))
  const own = registry.filter(({ name }) => !isShipped.get(name))
  const count = registry.length - own.length
  const ofAssistant =
    count === 0 ? [] : [`Words of the assistant  ${count}; all: \`trivium skill list --all\``]
  const beginsWith = ({ prefixes }: JsonObject) => [prefixes].flat().join(', ')
  if (own.length === 0) return ofAssistant
  if (isScreen) {
    const shown = own.slice(0, MAX_SHOWN).map((one) => `${one.name} (${beginsWith(one)})`)
    const more = own.length > MAX_SHOWN ? [`${own.length - MAX_SHOWN} more: \`trivium status | cat\``] : []
    return [`First words  ${[...shown, ...more].join(', ')}`, ...ofAssistant]
  }
  const rows = own.map((one) => {
    const only = [one.approval && 'asks for approval', one.verified && 'for verified senders'].filter(Boolean)
    return [one.name, beginsWith(one), one.ref, only.join(', ')]
  })
  return [
    ...ofAssistant,
    '',
    'Skills that answer to a first word (skills.json):',
    table(['name', 'begins with', 'skill', ''], rows),
  ]
}

/**
 * The number of entries and the first few `notes`, or `otherwise` if there are none; undefined
 * without entries.
 */
export function summary(title: string, all: readonly unknown[], notes: string[], otherwise: string) {
  if (all.length === 0) return undefined
  const more = notes.length > MAX_SHOWN ? [`${notes.length - MAX_SHOWN} more`] : []
  return `${title}  ${all.length}; ${[...notes.slice(0, MAX_SHOWN), ...more].join(', ') || otherwise}`
}

export function assistantLine(assistant: unknown): string | undefined {
  if (!isJsonObject(assistant)) return undefined
  const { error, assistant_name, ...counts } = assistant
  if (error !== undefined) return `Assistant  ${error}`
  const shown = Object.entries(counts).map(([name, count]) => {
    const byStatus = Object.entries(Object(count)).map(([status, some]) => `${some} ${status}`)
    return `${name} ${isJsonObject(count) ? byStatus.join(' + ') || 0 : count}`
  })
  return `Assistant (${assistant_name})  ${shown.join(', ')}`
}
