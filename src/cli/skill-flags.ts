import { Command, Option } from 'commander'
import { z } from 'zod'
import { type JsonObject, jsonObjectSchema } from '../core/json.ts'
import { usage } from './command.ts'
import { GLOBAL_NAMES, listGlobals } from './global-options.ts'
import { spokenName } from './grammar.ts'
import { NARROW_HELP } from './narrow-help.ts'
import { isSecret } from './secret-input.ts'
import { readValue, typeName } from './skill-value.ts'

/** Flags of the command itself. An argument with such a name gets a prefix: `--skill-args`. */
const RESERVED = new Set([...GLOBAL_NAMES, 'args', 'follow', 'help', 'version'])

/** A skill as described by the daemon: the JSON Schemas of its arguments, and which are required. */
export const describedSkill = z.object({
  description: z.string().default(''),
  args: z
    .object({
      properties: z.record(z.string(), jsonObjectSchema).default({}),
      required: z.array(z.string()).default([]),
    })
    .prefault({}),
})

export type Described = z.output<typeof describedSkill>

/**
 * Makes the command of a skill, and maps its options to arguments. `first`: the argument that its first word sets, as in `group
 * replay QUEUE`.
 */
export function commandFor(
  name: string,
  { description, args: { properties, required } }: Described,
  first?: string,
) {
  const others = positionalNames({ properties, required }).filter((each) => each !== first)
  const names = first === undefined ? others : [first, ...others]
  const help = names.length > 0 ? `options without their name, in this order: ${names.join(', ')}` : 'none'
  const command = new Command(`trivium ${spokenName(name)}`)
    .configureHelp(NARROW_HELP)
    .description(description)
    .exitOverride()
    .showSuggestionAfterError()
    .option('--args <json>', 'all arguments as one JSON object')
    .argument('[values...]', help)
  listGlobals(command)
  if (name === 'event-wait') command.option('--follow', 'continue until interrupted; one JSON line per event')
  // `maxCount` and `max-count` are two names of one argument, which has one flag.
  const flags = new Map<string, [property: string, schema: JsonObject]>()
  for (const [property, schema] of Object.entries(properties))
    if (!flags.has(kebabOf(property))) flags.set(kebabOf(property), [property, schema])
  const options = [...flags.values()].map(([property, schema]) => {
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
  const defaultNote = schema.default === undefined ? '' : ` (default ${JSON.stringify(schema.default)})`
  const requiredNote = isSecret(schema)
    ? ' (asked for, or the first line of stdin, if not given)'
    : ' (required)'
  const help = `${schema.description ?? ''}${defaultNote}${isRequired ? requiredNote : ''}`
  if (schema.type === 'boolean') return new Option(flag, help)
  return new Option(`${flag} <${typeName(schema)}>`, help).argParser((text) => readValue(text, schema, flag))
}

/** Arguments of which the first present one may be positional if none is required. */
const POSITIONAL = ['id', 'name', 'text']

/** The arguments that may be positional: the required ones, else `id`, `name` or `text`. */
function positionalNames({ properties, required }: Described['args']): string[] {
  if (required.length > 0) return required
  return POSITIONAL.filter((name) => Object.hasOwn(properties, name)).slice(0, 1)
}

/**
 * Assigns positional values to the positional arguments that are not in `named`, in schema order. A list and a text take all
 * remaining values. Throws `usage` for values that are left.
 */
export function readPositional(
  values: readonly string[],
  named: JsonObject,
  schema: Described['args'],
): JsonObject {
  const { properties } = schema
  const args: JsonObject = {}
  let rest = values
  for (const property of positionalNames(schema).filter((name) => named[name] === undefined)) {
    const [first, ...others] = rest
    if (first === undefined) return args
    const propertySchema = properties[property] ?? {}
    const isText = property === 'text' && propertySchema.type === 'string'
    const takesAll = (propertySchema.type === 'array' || isText) && others.length > 0
    const all = isText ? rest.join(' ') : [...rest]
    args[property] = takesAll ? all : readValue(first, propertySchema, property)
    rest = takesAll ? [] : others
  }
  if (rest.length === 0) return args
  throw usage(`${JSON.stringify(rest[0])} belongs to no argument; give it with its flag (see --help).`)
}
