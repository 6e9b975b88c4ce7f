import { type Command, Option } from 'commander'
import type { ZodType } from 'zod'
import { TriviumError } from '../core/errors.ts'
import { futureTime } from '../core/future-time.ts'
import { problemText } from '../core/invalid-args.ts'
import { isJsonObject, type Json, type JsonObject } from '../core/json.ts'
import { skillJsonSchema } from '../core/skill.ts'
import { type Spoken, spokenArguments } from '../core/spoken.ts'
import { parseDuration } from '../core/units.ts'
import { usage } from './command.ts'
import { GLOBAL_NAMES } from './global-options.ts'
import { inCommandWords } from './grammar.ts'
import { isSecret } from './secret-input.ts'
import { mayBeList, readValue, typeName } from './skill-value.ts'

/** Flags of the command itself. An argument with such a name gets a prefix: `--skill-args`. */
const RESERVED = new Set([...GLOBAL_NAMES, 'args', 'follow', 'help', 'version'])

/** The shortest duration (ms) that a flag with its end gives. */
const MIN_DURATION = 1_000

/** The properties of an object in JSON Schema, and which are required. */
export type ArgumentSchema = { properties: Record<string, JsonObject>; required: readonly string[] }

/** A flag of an operation. */
export type Flag = {
  option: Option
  /** The arguments that get its value, each as a path such as `['set', 'next_action']`. */
  places: string[][]
  isRequired: boolean
  /** The value that stands for null. */
  none?: string | undefined
  /** The arguments get true if the flag is not given. */
  isUnless?: true
  /** The argument is a text that takes all words that are left. */
  takesWords?: true
}

/** How a flag is given. `isHidden`: it works, but is not in the help. */
type FlagDeclaration = Spoken & { isHidden?: true }

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

/**
 * The flags of the arguments. `args`: the schema with their declarations for the command line, if
 * it is known. `positional`: the arguments that may be given without their flags.
 */
export function flagsOf(
  { properties, required }: ArgumentSchema,
  args?: ZodType,
  positional: readonly string[] = [],
): Flag[] {
  const words = args === undefined ? {} : spokenArguments(args)
  const flags = new Map<string, Flag>()
  const add = (path: string[], schema: JsonObject, declared: FlagDeclaration, isRequired: boolean) => {
    const name = flagName(declared.flag ?? path.at(-1) ?? '')
    if (name === '') return
    const known = flags.get(name)
    if (known === undefined) {
      const option = optionFor(name, schema, declared, isRequired)
      const takesWords = declared.words && { takesWords: true as const }
      flags.set(name, { option, places: [path], isRequired, none: declared.none, ...takesWords })
      return
    }
    // Several fields may share a flag: each gets its value. Otherwise the flag is a second name of
    // the same argument (`maxCount`, `max-count`).
    const isField = path.length > 1
    if (isField) known.places.push(path)
  }
  for (const [property, schema] of Object.entries(properties)) {
    const spoken = words[property] ?? {}
    for (const [field, how] of Object.entries(spoken.fields ?? {}))
      add([property, field], Object(Object(schema.properties)[field]), how, false)
    if (spoken.fields) continue
    if (spoken.unless !== undefined) {
      const option = new Option(`--${spoken.unless}`, spoken.help)
      flags.set(spoken.unless, { option, places: [[property]], isRequired: false, isUnless: true })
    }
    add([property], schema, spoken, required.includes(property))
    const known = flags.get(flagName(spoken.flag ?? property))
    if (known?.isRequired && positional.includes(property))
      known.option.description = alsoAlone(known.option, property)
    if (spoken.until !== undefined) {
      const option = untilFlag(spoken.until).conflicts(flagName(property))
      flags.set(spoken.until, { option, places: [[property]], isRequired: false })
    }
    // The name of the argument works too.
    if (spoken.flag !== undefined)
      add([property], schema, { ...spoken, flag: property, isHidden: true }, false)
  }
  return [...flags.values()]
}

/** The help of a required option whose value may be given without its flag. */
function alsoAlone({ description }: Option, argument: string): string {
  return description.replace(/ \(required\)$/, ` (the same as <${argument}>)`)
}

/** The flag that gives a duration by its end. */
function untilFlag(name: string): Option {
  const help = 'Ends automatically at this time, or the next such time of day: 14:00, "monday 9:30" (UTC)'
  return new Option(`--${name} <time>`, help).argParser((text) => {
    const left = parseDuration(text) ?? (futureTime(text) ?? Number.NaN) - Date.now()
    if (left > 0) return Math.max(MIN_DURATION, left)
    if (left <= 0) throw usage(`--${name} ${text} is in the past`)
    throw usage(`--${name} is a time such as 2026-12-24T18:00:00Z, 14:00 or "monday 9:30", not ${text}`)
  })
}

/**
 * Adds flags to a command. Booleans also get `--no-…`, unless only `true` is allowed. If false is
 * the default, the help does not list `--no-…`.
 */
export function addFlags(command: Command, flags: readonly Flag[], schema: ArgumentSchema): void {
  for (const { option, places } of flags) {
    command.addOption(option)
    const [[property = '', field] = []] = places
    const { type, const: only, default: byDefault } = schema.properties[property] ?? {}
    const mayBeFalse = field === undefined && type === 'boolean' && only !== true
    if (!mayBeFalse) continue
    const isHidden = option.hidden || byDefault === false
    command.addOption(new Option(`--no-${option.name()}`, `${property}: false`).hideHelp(isHidden))
  }
}

/** Arguments of an operation under the names of their flags, for texts that repeat them. */
export function underFlags(args: JsonObject, schema: ZodType | undefined): JsonObject {
  const words = schema === undefined ? {} : spokenArguments(schema)
  return Object.fromEntries(Object.entries(args).map(([name, value]) => [words[name]?.flag ?? name, value]))
}

/** The arguments that the options of a command line give. */
export function readFlags(flags: readonly Flag[], options: JsonObject): JsonObject {
  const args: JsonObject = {}
  for (const flag of flags) {
    const { option, places } = flag
    const value = argumentOf(flag, options[option.attributeName()])
    if (value === undefined) continue
    for (const [property = '', field] of places)
      args[property] = field === undefined ? value : { ...Object(args[property]), [field]: value }
  }
  return args
}

/** The value of the arguments of a flag; undefined if they are not set. */
function argumentOf({ none, isUnless }: Flag, given: Json | undefined): Json | undefined {
  if (isUnless) return given === undefined ? true : undefined
  return none !== undefined && given === none ? null : given
}

/** Between words: `max|Count`, `user|ID`, `HTTP|Server`. */
const WORD_BORDER = /(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])/g
/** Characters with a meaning in flags. MCP tools may have arguments such as `filter[from]`. */
const NOT_IN_FLAGS = /[\s,|=<>[\]-]+/g

/**
 * The flag of an argument, without dashes: `max-count` for `maxCount`. Empty if the name has no
 * usable character.
 */
function flagName(argument: string): string {
  const words = argument.replaceAll(WORD_BORDER, '-').toLowerCase()
  const name = words.replaceAll(NOT_IN_FLAGS, '-').replaceAll(/^-|-$/g, '')
  // `--no-cache` would be the opposite of a flag `--cache`.
  return RESERVED.has(name) || name.startsWith('no-') ? `skill-${name}` : name
}

function optionFor(name: string, schema: JsonObject, declared: FlagDeclaration, isRequired: boolean): Option {
  const option = makeOption(name, schema, declared, isRequired)
  return declared.isHidden ? option.hideHelp() : option
}

function makeOption(name: string, schema: JsonObject, spoken: Spoken, isRequired: boolean): Option {
  const { type = placeholderOf(schema), screenDefault, several } = spoken
  const hasNote = screenDefault === undefined && !isEmpty(schema.default)
  const defaultNote = hasNote ? ` (default ${JSON.stringify(schema.default)})` : ''
  const requiredNote = isSecret(schema) ? ' (asked for, or a line of stdin, if not given)' : ' (required)'
  const about = inCommandWords(String(schema.description ?? spoken.help ?? ''))
  const help = `${about}${defaultNote}${isRequired ? requiredNote : ''}`
  if (isSwitch(schema)) return new Option(`--${name}`, help)
  if (several) return new Option(`--${name} <${type}...>`, help)
  const option = new Option(`--${name} <${type}>`, help).argParser((text, before: Json | undefined) => {
    const value = readValue(text, schema, `--${name}`)
    const isRepeated = before !== undefined && before !== screenDefault
    // Each adds to a list; of other values, the last counts.
    return isRepeated && mayBeList(schema) ? [before, value].flat() : value
  })
  return screenDefault === undefined ? option : option.default(screenDefault)
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

/** Makes `skill_args_invalid` name flags: `--reply-all: expected boolean`. */
export function withFlagNames(error: unknown, command: string, flags: readonly Flag[]): unknown {
  if (!(error instanceof TriviumError) || error.code !== 'skill_args_invalid' || !error.details) return error
  const texts = error.details.map(({ path, message }) => problemText(withFlag(path, flags), message))
  // A value of a flag that several fields share has a problem in each of them.
  const problems = [...new Set(texts)].join('; ')
  const end = problems.endsWith('?') ? '' : '.'
  return Object.assign(error, { message: `${problems}${end} See \`${command} --help\`.` })
}

/**
 * A path such as `set.next_action`, with the flag for its argument if there is one. The position in
 * a list is left out: values of a flag are not counted.
 */
function withFlag(path: string, flags: readonly Flag[]): string {
  const words = path.split('.')
  for (const { option, places } of flags) {
    const place = places.find((one) => one.every((word, at) => word === words[at]))
    if (!place) continue
    const [next, ...rest] = words.slice(place.length)
    const isPosition = rest.length === 0 && next !== undefined && /^\d+$/.test(next)
    return [option.long, ...(next === undefined || isPosition ? [] : [next, ...rest])].join('.')
  }
  return path
}
