import { type Command, Option } from 'commander'
import type { ZodType } from 'zod'
import { TriviumError } from '../core/errors.ts'
import { problemText } from '../core/invalid-args.ts'
import { isJsonObject, type Json, type JsonObject } from '../core/json.ts'
import { skillJsonSchema } from '../core/skill.ts'
import { type Spoken, spokenArguments } from '../core/spoken.ts'
import { timeRangeIn } from '../lib/time-range.ts'
import { GLOBAL_NAMES } from './global-options.ts'
import { isSecret } from './secret-input.ts'
import { readValue, typeName } from './skill-value.ts'

/** Flags of the command itself. An argument with such a name gets a prefix: `--skill-args`. */
const RESERVED = new Set([...GLOBAL_NAMES, 'args', 'follow', 'help', 'version'])

/** The properties of an object in JSON Schema, and which are required. */
export type ArgumentSchema = { properties: Record<string, JsonObject>; required: readonly string[] }

/** A flag and the arguments that get its value, each as a path: `['set', 'next_action']`. */
export type Flag = { option: Option; places: string[][]; isRequired: boolean; none?: string | undefined }

type HiddenOrSpoken = Spoken & { isHidden?: true }

/** The arguments of an operation in JSON Schema. */
export function argumentsOf(args: ZodType): ArgumentSchema {
  const { properties, required } = skillJsonSchema({ args })
  return {
    properties: Object.fromEntries(
      Object.entries(Object(properties)).flatMap(([name, schema]) =>
        isJsonObject(schema) ? [[name, schema]] : [],
      ),
    ),
    required: Array.isArray(required) ? required.map(String) : [],
  }
}

/** The flags of the arguments. `args`: the schema with their declarations for the command line, if it is known. */
export function flagsOf({ properties, required }: ArgumentSchema, args?: ZodType): Flag[] {
  const words = args === undefined ? {} : spokenArguments(args)
  const flags = new Map<string, Flag>()
  const add = (path: string[], schema: JsonObject, spoken: HiddenOrSpoken, isRequired: boolean) => {
    const name = flagName(spoken.flag ?? path.at(-1) ?? '')
    const known = flags.get(name)
    // `maxCount` and `max-count` are two names of one argument. Fields share a flag to get the same value.
    if (known === undefined)
      flags.set(name, {
        option: optionFor(name, schema, spoken, isRequired),
        places: [path],
        isRequired,
        none: spoken.none,
      })
    else if (path.length > 1) known.places.push(path)
  }
  for (const [property, schema] of Object.entries(properties)) {
    const spoken = words[property] ?? {}
    for (const [field, how] of Object.entries(spoken.fields ?? {}))
      add([property, field], Object(Object(schema.properties)[field]), how, false)
    if (spoken.fields) continue
    add([property], schema, spoken, required.includes(property))
    // The name of the argument works too.
    if (spoken.flag !== undefined)
      add([property], schema, { ...spoken, flag: property, isHidden: true }, false)
  }
  return [...flags.values()]
}

/** Adds flags to a command. Booleans that may be false also get `--no-…`. */
export function addFlags(command: Command, flags: readonly Flag[], schema: ArgumentSchema): void {
  for (const { option, places } of flags) {
    command.addOption(option)
    const [[property = '', field] = []] = places
    const { type, const: only, default: usual } = schema.properties[property] ?? {}
    const isHidden = option.hidden || usual === false
    if (field === undefined && type === 'boolean' && only !== true)
      command.addOption(new Option(`--no-${option.name()}`, `${property}: false`).hideHelp(isHidden))
  }
}

/** The arguments that the options of a command line give. */
export function readFlags(flags: readonly Flag[], options: JsonObject): JsonObject {
  const args: JsonObject = {}
  for (const { option, places, none } of flags) {
    const given = options[option.attributeName()]
    if (given === undefined) continue
    const value = none !== undefined && given === none ? null : given
    for (const [property = '', field] of places)
      args[property] = field === undefined ? value : { ...Object(args[property]), [field]: value }
  }
  return withBothEnds(args, flags)
}

/** A range such as `--since "yesterday 10-11"` also gives the end. */
function withBothEnds(args: JsonObject, flags: readonly Flag[]): JsonObject {
  const hasEnd = flags.some(({ places }) => places.some(([property]) => property === 'until'))
  if (typeof args.since !== 'string' || args.until !== undefined || !hasEnd) return args
  const { since, until, endsAt } = timeRangeIn(args.since, { zone: 'utc' }) ?? {}
  if (since === undefined || until === undefined || endsAt !== 'time') return args
  return { ...args, since: new Date(since).toISOString(), until: new Date(until).toISOString() }
}

function flagName(property: string): string {
  const kebab = property.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
  return RESERVED.has(kebab) ? `skill-${kebab}` : kebab
}

function optionFor(name: string, schema: JsonObject, spoken: HiddenOrSpoken, isRequired: boolean): Option {
  const option = makeOption(name, schema, spoken, isRequired)
  return spoken.isHidden ? option.hideHelp() : option
}

function makeOption(name: string, schema: JsonObject, spoken: Spoken, isRequired: boolean): Option {
  const { type = placeholderOf(schema), usual, several } = spoken
  const hasNote = usual === undefined && !isEmpty(schema.default)
  const defaultNote = hasNote ? ` (default ${JSON.stringify(schema.default)})` : ''
  const requiredNote = isSecret(schema)
    ? ' (asked for, or the first line of stdin, if not given)'
    : ' (required)'
  const help = `${schema.description ?? spoken.help ?? ''}${defaultNote}${isRequired ? requiredNote : ''}`
  if (isSwitch(schema)) return new Option(`--${name}`, help)
  if (several) return new Option(`--${name} <${type}...>`, help)
  const option = new Option(`--${name} <${type}>`, help).argParser((text) =>
    readValue(text, schema, `--${name}`),
  )
  return usual === undefined ? option : option.default(usual)
}

function isSwitch({ type }: JsonObject): boolean {
  return type === 'boolean'
}

/** Whether a default says nothing. */
function isEmpty(value: Json | undefined): boolean {
  if (typeof value === 'object' && value !== null) return Object.keys(value).length === 0
  return value === undefined || value === false
}

const PLACEHOLDERS: Readonly<Record<string, string>> = { string: 'text', integer: 'n' }

function placeholderOf(schema: JsonObject): string {
  const name = typeName(schema)
  return PLACEHOLDERS[name] ?? name
}

/** Replaces the message of `skill_args_invalid` by one that names flags: `--reply-all: expected boolean`. */
export function withFlagNames(error: unknown, command: string, flags: readonly Flag[]): unknown {
  if (!(error instanceof TriviumError) || error.code !== 'skill_args_invalid' || !error.details) return error
  const problems = error.details.map(({ path, message }) => {
    const words = path.split('.')
    const flag = flags.find(({ places: [place = []] }) => place.every((word, at) => word === words[at]))
    const shown = flag ? [`${flag.option.long}`, ...words.slice(flag.places[0]?.length)] : words
    return problemText(shown.join('.'), message)
  })
  return Object.assign(error, {
    message: `${problems.join('; ')}. See \`${command} --help\`.`,
  })
}
