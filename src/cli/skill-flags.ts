import { Command, Option } from 'commander'
import { z } from 'zod'
import { type JsonObject, jsonObjectSchema } from '../core/json.ts'
import { usage } from './command.ts'
import { GLOBAL_NAMES, listGlobals } from './global-options.ts'
import { spokenName } from './grammar.ts'
import { isSecret } from './secret-input.ts'
import { readValue, typeName } from './skill-value.ts'

/** Flags of the command itself. An argument with such a name gets a prefix: `--skill-args`. */
const RESERVED = new Set([...GLOBAL_NAMES, 'args', 'follow', 'help', 'version'])

/** A skill as described by the daemon: the JSON Schemas of its arguments, and which are required. */
export const described = z.object({
  description: z.string().default(''),
  args: z
    .object({
      properties: z.record(z.string(), jsonObjectSchema).default({}),
      required: z.array(z.string()).default([]),
    })
    .prefault({}),
})

export type Described = z.output<typeof described>

/** Makes the command of a skill, and maps its options to arguments. */
export function commandFor(name: string, { description, args: { properties, required } }: Described) {
  const free = unflagged({ properties, required })
  const positional =
    free.length > 0 ? `options without their name, in this order: ${free.join(', ')}` : 'none'
  const command = new Command(`trivium ${spokenName(name)}`)
    .description(description)
    .exitOverride()
    .showSuggestionAfterError()
    .option('--args <json>', 'all arguments as one JSON object')
    .argument('[values...]', positional)
  listGlobals(command)
  if (name === 'event-wait') command.option('--follow', 'continue until interrupted; one JSON line per event')
  // An argument with two names has one flag.
  const single = Object.entries(properties).filter(
    ([property], at, all) => all.findIndex(([other]) => kebabOf(other) === kebabOf(property)) === at,
  )
  const options = single.map(([property, schema]) => {
    const option = optionFor(property, schema, required.includes(property))
    command.addOption(option)
    if (schema.type === 'boolean') command.option(`--no-${option.name()}`, `${property}: false`)
    return { property, key: option.attributeName(), flag: String(option.long) }
  })
  return { command, options }
}

function kebabOf(property: string): string {
  return property.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
}

function optionFor(property: string, schema: JsonObject, isRequired: boolean): Option {
  const kebab = kebabOf(property)
  const flag = RESERVED.has(kebab) ? `--skill-${kebab}` : `--${kebab}`
  const fallback = schema.default === undefined ? '' : ` (default ${JSON.stringify(schema.default)})`
  const needed = isSecret(schema) ? ' (asked for, or the first line of stdin, if not given)' : ' (required)'
  const help = `${schema.description ?? ''}${fallback}${isRequired ? needed : ''}`
  if (schema.type === 'boolean') return new Option(flag, help)
  return new Option(`${flag} <${typeName(schema)}>`, help).argParser((text) => readValue(text, schema, flag))
}

/** Arguments that may be positional if none is required. */
const MEANT = ['id', 'name', 'text']

/** The arguments that may be positional: the required ones, else `id`, `name` or `text`. */
function unflagged({ properties, required }: Described['args']): string[] {
  return required.length > 0 ? required : MEANT.filter((name) => name in properties).slice(0, 1)
}

/**
 * Assigns positional values to required arguments without a flag, in schema order. A list takes all
 * remaining values.
 */
export function readPositional(
  values: readonly string[],
  given: JsonObject,
  described: Described['args'],
): JsonObject {
  const { properties } = described
  const args: JsonObject = {}
  let rest = values
  for (const property of unflagged(described).filter((name) => given[name] === undefined)) {
    const [first, ...others] = rest
    if (first === undefined) return args
    const schema = properties[property] ?? {}
    const isText = property === 'text' && schema.type === 'string'
    const takesAll = (schema.type === 'array' || isText) && others.length > 0
    const all = isText ? rest.join(' ') : [...rest]
    args[property] = takesAll ? all : readValue(first, schema, property)
    rest = takesAll ? [] : others
  }
  if (rest.length === 0) return args
  throw usage(`${JSON.stringify(rest[0])} belongs to no argument; give it with its flag (see --help).`)
}
